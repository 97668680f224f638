"""Closed forms, by hand."""

from __future__ import annotations

import pytest

from specviz.theory import (
    alpha_of,
    best_gamma,
    expected_tokens,
    predicted_speedup,
    textbook_tokens,
)


def test_expected_tokens_by_hand() -> None:
    """1 + .5 + .5·.8 + .5·.8·.25 = 2."""
    assert expected_tokens([0.5, 0.8, 0.25]) == pytest.approx(2.0)
    assert expected_tokens([]) == 1.0


def test_alpha_is_not_the_draft_acceptance_rate() -> None:
    """Case 19: α = .8, γ = 6 emits 3.95 a cycle; accepted ÷ proposed reads .49, and gives 1.95."""
    tokens = textbook_tokens(0.8, 6)
    assert tokens == pytest.approx(3.951424)
    assert tokens == pytest.approx((1 - 0.8**7) / (1 - 0.8))
    rate = (tokens - 1) / 6
    assert rate == pytest.approx(0.4919, abs=1e-4)
    assert textbook_tokens(rate, 6) == pytest.approx(1.954, abs=1e-3)


def test_predicted_speedup_by_hand() -> None:
    """γ = 2, all kept: 3 tokens for 2·0.1 + 1.2 + 0.1 = 1.5 passes."""
    assert predicted_speedup(
        3.0, {2: 7}, draft_cost=0.1, pass_cost={1: 1.0, 3: 1.2}, overhead=0.1
    ) == pytest.approx(2.0)


def test_cycles_without_a_draft_weigh_in() -> None:
    """One cycle of 2 tokens for 1 + 1 passes, three plain ones: 5 tokens for 5 passes."""
    assert predicted_speedup(
        1.25, {0: 3, 1: 1}, draft_cost=0.5, pass_cost={1: 1.0, 2: 1.5}, overhead=0.0
    ) == pytest.approx(1.0)


def test_a_bad_drafter_is_predicted_slower_than_plain() -> None:
    """Case 20: nothing is clamped at 1."""
    assert predicted_speedup(
        1.0, {4: 1}, draft_cost=0.5, pass_cost={1: 1.0, 5: 1.5}, overhead=0.0
    ) == pytest.approx(1 / 3.5)


@pytest.mark.parametrize("gamma", [1, 3, 8])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.77, 1.0])
def test_alpha_is_found_again_from_the_tokens_that_it_gives(alpha: float, gamma: int) -> None:
    assert alpha_of(textbook_tokens(alpha, gamma), gamma) == pytest.approx(alpha, abs=1e-6)


def test_tokens_that_no_alpha_gives_are_held_to_the_ends() -> None:
    assert alpha_of(0.5, 4) == pytest.approx(0)
    assert alpha_of(7.0, 4) == pytest.approx(1)


def test_the_best_gamma_of_the_literature() -> None:
    """α = 0.8, c = 0.05, v = 1: for γ = 7, 8, 9 the speedups are 3.082, 3.092, 3.078.

    With v(k) = 1 + 0.2 · (k − 1) they are 1.627, 1.687, 1.681 for γ = 2, 3, 4.
    """
    free = dict.fromkeys(range(1, 12), 1.0)
    assert best_gamma(0.8, range(1, 11), 0.05, free) == 8
    dear = {k: 1 + 0.2 * (k - 1) for k in range(1, 12)}
    assert best_gamma(0.8, range(1, 11), 0.05, dear) == 3
