"""What is recommended of a measured grid, and why."""

from __future__ import annotations

import pytest

from specviz.tuning import prediction_error, recommend
from tests.grid_by_hand import PLAIN, grid, row


def test_the_fastest_cell_and_what_one_more_guess_would_do() -> None:
    """A third guess survives 0.8 · 0.5 · 0.4 = 0.16 of the time and costs 0.05 + 0.15."""
    found = recommend(
        grid(
            PLAIN,
            row("mtp", 1, 1.2, (0.8,)),
            row("mtp", 2, 1.4, (0.8, 0.5)),
            row("mtp", 3, 1.3, (0.8, 0.5, 0.4)),
            row("lookup", 4, 1.1, (0.9, 0.9, 0.9, 0.9)),
        )
    )
    assert (found.drafter, found.gamma, found.speedup) == ("mtp", 2, 1.4)
    assert found.certain
    assert found.next_survival == pytest.approx(0.16)
    assert found.next_cost == pytest.approx(0.20)


def test_without_longer_drafts_the_last_position_speaks_for_the_next() -> None:
    found = recommend(grid(row("mtp", 2, 1.4, (0.8, 0.5))))
    assert found.next_survival == pytest.approx(0.8 * 0.5 * 0.5)


def test_a_longer_draft_that_never_came_so_far_would_not_be_kept() -> None:
    found = recommend(grid(row("mtp", 2, 1.4, (0.8, 0.5)), row("mtp", 4, 1.2, (0.8, 0.4))))
    assert found.next_survival == 0.0


def test_a_single_prompt_makes_nothing_certain() -> None:
    assert not recommend(grid(row("mtp", 2, 1.4, (0.8, 0.5)), prompts=1)).certain
    assert not recommend(grid(row("mtp", 2, 0.5, (0.1,)), prompts=1)).certain


def test_where_nothing_pays_plain_decoding_is_recommended() -> None:
    found = recommend(grid(PLAIN, row("early-exit:8", 4, 0.7, (0.1,))))
    assert (found.drafter, found.gamma, found.certain) == ("none", 0, True)


def test_an_interval_around_one_is_not_certain() -> None:
    assert not recommend(grid(row("lookup", 2, 1.05, (0.5, 0.5)))).certain


def test_a_cost_that_was_not_measured_is_not_told() -> None:
    assert recommend(grid(row("lookup", 8, 2.0, (0.9,) * 8))).next_cost is None


def test_how_far_predictions_are_off() -> None:
    found = prediction_error(
        grid(
            PLAIN,
            row("mtp", 1, 1.0, predicted_speedup=1.1),
            row("mtp", 2, 2.0, predicted_speedup=1.4),
        )
    )
    assert found is not None
    error, worst = found
    assert error == pytest.approx((0.1 + 0.3) / 2)
    assert worst.gamma == 2
    assert prediction_error(grid(PLAIN)) is None


def test_only_plain_decoding_leaves_nothing_to_recommend() -> None:
    with pytest.raises(ValueError, match="only plain"):
        recommend(grid(PLAIN))
