"""Recorded runs judged again."""

from __future__ import annotations

import pytest

from specviz.events import Cycle, Proposal
from specviz.whatif import rejudge
from tests.test_metrics import CYCLES, cycle
from tests.tiny import run, target, without_end


def with_odds(*odds: float, accepted: int) -> Cycle:
    """A cycle whose proposals are kept with these probabilities."""
    proposals = tuple(
        Proposal(
            token=1, text="x", p=one, q=1.0, accept_probability=one, u=None, verdict="discarded"
        )
        for one in odds
    )
    return cycle(len(odds), accepted).model_copy(update={"proposals": proposals})


def test_shorter_drafts_by_hand() -> None:
    """a: 4 2 0 0 1 0; with γ = 2 that is 2 2 0 0 1 0."""
    shorter = rejudge(CYCLES, 2)
    assert shorter.accepted == (2, 2, 0, 0, 1, 0)
    assert shorter.mean_acceptance_length == pytest.approx(11 / 6)
    assert shorter.histogram(2) == pytest.approx([3 / 6, 1 / 6, 2 / 6])
    assert rejudge(CYCLES, 4).accepted == tuple(c.accepted for c in CYCLES)


def test_new_dice_keep_what_is_certain_and_refuse_what_cannot_be() -> None:
    certain = with_odds(1.0, 1.0, 0.0, 1.0, accepted=2)
    assert {rejudge([certain], 4, seed).accepted for seed in range(20)} == {(2,)}
    assert rejudge([certain], 1, 3).accepted == (1,)


def test_new_dice_come_to_the_expected_length() -> None:
    """1 + 0.5 + 0.5 · 0.8 = 1.9 tokens a cycle; also where the first was refused in the record."""
    cycles = [with_odds(0.5, 0.8, accepted=0)] * 20_000
    assert rejudge(cycles, 2, seed=1).mean_acceptance_length == pytest.approx(1.9, abs=0.02)
    assert rejudge(cycles, 2, seed=1) == rejudge(cycles, 2, seed=1)
    assert rejudge(cycles, 2, seed=1) != rejudge(cycles, 2, seed=2)


def test_a_real_sampled_run_keeps_its_tau_under_new_dice() -> None:
    cycles = [
        cycle
        for seed in range(8)
        for cycle in run(
            without_end(target()),
            drafter="early-exit:2",
            temperature=5.0,
            gamma=3,
            max_new_tokens=60,
            seed=seed,
        ).cycles
    ]
    recorded = rejudge(cycles, 3).mean_acceptance_length
    again = [rejudge(cycles, 3, seed).mean_acceptance_length for seed in range(50)]
    assert sum(again) / len(again) == pytest.approx(recorded, abs=0.4)


def test_greedy_runs_have_no_other_dice() -> None:
    cycles = run(without_end(target()), drafter="early-exit:2", gamma=3).cycles
    assert rejudge(cycles, 3, seed=5) == rejudge(cycles, 3)
