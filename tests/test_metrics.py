"""Numbers of a trace, worked by hand."""

from __future__ import annotations

import math

import pytest

from specviz.events import CacheLengths, Cycle, Emitted, Prefilled, RunStarted, Seconds
from specviz.metrics import (
    acceptance_histogram,
    alpha,
    conditional_acceptance,
    draft_cost,
    judged,
    speedup,
    summarize,
    survival,
)
from specviz.settings import Settings
from specviz.trace import Trace
from tests.tiny import run, target


def cycle(
    drafted: int, accepted: int, *, tested: int | None = None, emitted: int | None = None
) -> Cycle:
    """One cycle of a run: 10 ms of draft, 20 of verification, 3 of sampling, 1 of the rest."""
    return Cycle(
        index=0,
        gamma=4,
        drafted=drafted,
        tested=min(accepted + 1, drafted) if tested is None else tested,
        accepted=accepted,
        emitted=(Emitted(token=1, text="x", source="target"),)
        * (accepted + 1 if emitted is None else emitted),
        seconds=Seconds(draft=0.010, verify=0.020, sample=0.003, bookkeeping=0.001),
        cache=CacheLengths(target_before=0, target_after=0),
    )


CYCLES = [cycle(4, 4), cycle(4, 2), cycle(4, 0), cycle(4, 0), cycle(2, 1), cycle(0, 0)]
"""a: 4 2 0 0 1 0, d: 4 4 4 4 2 0."""


def trace(cycles: list[Cycle]) -> Trace:
    started = RunStarted(
        run_id="r",
        started_at="2026-01-01T00:00:00+00:00",
        prompt="p",
        prompt_tokens=7,
        target="t",
        drafter="lookup",
        settings=Settings(),
        device="cpu",
        dtype="float32",
        versions={},
        tokenizer_fingerprint="",
        vocabulary_size=10,
    )
    first = Prefilled(emitted=Emitted(token=1, text="x", source="target"), seconds=5.0)
    return Trace(started, first, tuple(cycles), None)


def test_a_run_worked_by_hand() -> None:
    """13 tokens in 6 cycles of 34 ms; 7 of 18 proposals kept. The first token is in nothing."""
    summary = summarize(trace(CYCLES))
    assert summary.tokens == 13
    assert summary.cycles == 6
    assert summary.target_passes == 7
    assert summary.draft_acceptance_rate == pytest.approx(7 / 18)
    assert summary.mean_acceptance_length == pytest.approx(13 / 6)
    assert summary.seconds.prefill == 5.0
    assert summary.seconds.verify == pytest.approx(0.120)
    assert summary.tokens_per_s == pytest.approx(13 / 0.204)
    assert summary.seconds_per_token == pytest.approx(0.204 / 13)
    assert summary.drafted_histogram == {0: 1, 2: 1, 4: 4}


def test_conditional_acceptance_has_a_denominator_of_its_own() -> None:
    """Case 19: at i only what was tested at i counts: 5, 3, 2 and 1 proposals."""
    counts = [(c.position, c.accepted, c.tested) for c in conditional_acceptance(CYCLES)]
    assert counts == [(1, 3, 5), (2, 2, 3), (3, 1, 2), (4, 1, 1)]
    assert [c.rate for c in conditional_acceptance(CYCLES)] == pytest.approx([0.6, 2 / 3, 0.5, 1])


def test_the_interval_is_wilson_s() -> None:
    """Wilson's formula for 3 of 5, z = 1.96."""
    first = conditional_acceptance(CYCLES)[0]
    n, p, z = 5, 0.6, 1.959964
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert (first.low, first.high) == pytest.approx((centre - half, centre + half), rel=1e-5)


def test_survival_counts_all_that_were_drafted_so_far() -> None:
    assert survival(CYCLES) == pytest.approx((3 / 5, 2 / 5, 1 / 4, 1 / 4))


def test_the_histogram_of_accepted_lengths() -> None:
    assert acceptance_histogram(CYCLES) == (3, 1, 1, 0, 1)
    assert acceptance_histogram([]) == ()


def test_proposals_behind_the_text_s_end_count_as_neither_kept_nor_refused() -> None:
    """Case 9: the end came at draft position 2 of 4, so d is 2."""
    ended = cycle(4, 2, tested=2, emitted=2)
    assert judged(ended) == 2
    assert summarize(trace([ended])).draft_acceptance_rate == 1.0
    assert [c.tested for c in conditional_acceptance([ended])] == [1, 1]
    assert survival([ended]) == (1.0, 1.0)


def test_a_run_without_cycles_has_no_averages() -> None:
    summary = summarize(trace([]))
    assert summary.mean_acceptance_length is None
    assert summary.draft_acceptance_rate is None
    assert summary.tokens_per_s is None
    assert summary.conditional_acceptance == ()


def test_ours_against_plain_by_hand() -> None:
    """34 ms for 13/6 tokens a cycle against 34 ms for one; 10 ms of draft for 3 steps a cycle."""
    ours, plain = summarize(trace(CYCLES)), summarize(trace([cycle(0, 0)] * 3))
    assert speedup(ours, plain) == pytest.approx(13 / 6)
    assert draft_cost(ours, plain) == pytest.approx(0.060 / 18 / 0.020)
    assert ours.acceptance == pytest.approx(7 / 11)
    assert draft_cost(plain, plain) == 0.0
    assert plain.acceptance is None
    assert speedup(ours, summarize(trace([]))) is None


def test_several_runs_are_taken_together() -> None:
    both = summarize(trace(CYCLES[:2]), trace(CYCLES[2:]))
    alone = summarize(trace(CYCLES))
    assert both.seconds.prefill == 10.0
    assert both.target_passes == 8
    assert both.conditional_acceptance == alone.conditional_acceptance
    assert both.tokens_per_s == pytest.approx(alone.tokens_per_s)


def test_alpha_is_close_to_the_observed_rate_of_a_real_run() -> None:
    """Expected Σ min(p, q) and observed acceptance of tested proposals agree within 4 σ."""
    cycles = [
        cycle
        for seed in range(6)
        for cycle in run(
            target(),
            drafter="early-exit:2",
            temperature=5.0,
            gamma=4,
            max_new_tokens=60,
            seed=seed,
        ).cycles
    ]
    tested = sum(cycle.tested for cycle in cycles)
    observed = sum(cycle.accepted for cycle in cycles) / tested
    expected = alpha(cycles)
    assert expected is not None
    assert tested > 150
    assert observed == pytest.approx(expected, abs=4 * math.sqrt(0.25 / tested))
