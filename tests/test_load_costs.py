"""What is measured for a simulated server. No timing is asserted."""

from __future__ import annotations

import pytest

from specviz import load_costs
from specviz.load_costs import measure_load
from tests.test_metrics import cycle
from tests.tiny import run, target, without_end


def test_everything_that_a_simulation_needs() -> None:
    told: list[tuple[int, int]] = []
    measured = measure_load(
        without_end(target()),
        "early-exit:2",
        ["abcab", "hello hello"],
        batches=(1, 3),
        max_new_tokens=12,
        progress=lambda *step: told.append(step),
    )
    assert told[-1][0] == told[-1][1] == len(told)
    costs = measured.costs
    assert costs.lengths == tuple(range(1, 10)), "every number of tokens that is ever checked"
    assert [len(row) for row in costs.seconds] == [9, 9]
    assert all(second > 0 for row in costs.seconds for second in row)
    assert costs.draft_cost > 0
    assert measured.speedup > 0
    assert sum(draft.accepted + 1 for draft in costs.drafts) == 11 * 2
    for draft in costs.drafts:
        assert draft.accepted <= draft.drafted <= 8
        assert list(draft.confidence) == sorted(draft.confidence, reverse=True)


def test_confidences_are_of_a_guess_with_all_before_it() -> None:
    (first, *_) = run(target(), drafter="early-exit:2", temperature=3.0, gamma=3).cycles
    draft = load_costs._draft(first)
    one, two = (proposal.confidence or 0 for proposal in first.proposals[:2])
    assert draft.confidence[:2] == pytest.approx((one, one * two))


def test_copied_guesses_count_as_certain() -> None:
    cycles = run(target(), "abcabcabc", drafter="lookup", gamma=3).cycles
    sure = [sure for cycle in cycles for sure in load_costs._draft(cycle).confidence]
    assert sure
    assert set(sure) == {1.0}
    assert load_costs._draft(cycle(0, 0)).confidence == ()
