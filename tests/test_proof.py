"""The proof of losslessness, and that it can fail."""

from __future__ import annotations

import pytest
import torch

from specviz.errors import UserError
from specviz.proof import (
    DRAFTER,
    FAULTS,
    SETTINGS,
    TARGET,
    chi_square,
    critical_value,
    first_shares,
    prove,
    world_with,
)


def test_the_critical_value_is_the_tabulated_one() -> None:
    """24 degrees of freedom, 0.1 %: 51.18 in every table."""
    assert critical_value(24) == pytest.approx(51.179, abs=1e-3)


def test_chi_square_by_hand() -> None:
    """(12 − 10)²/10 + (8 − 10)²/10 = 0.8."""
    assert chi_square(torch.tensor([12, 8]), torch.tensor([0.5, 0.5])) == pytest.approx(0.8)


@pytest.mark.statistics
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_rule_is_lossless(seed: int) -> None:
    """Cases 3 and 21: 200,000 pairs, and every branch of the rule was taken."""
    proof = prove(200_000, seed=seed)
    assert proof.degrees_of_freedom == 24
    assert proof.statistic < 51.2
    assert proof.passed
    assert proof.control_statistic > 1_000
    assert proof.exercised.accepted > 50_000
    assert proof.exercised.rejected > 50_000
    assert proof.exercised.resampled == proof.exercised.rejected
    assert sum(map(sum, proof.counts)) == 200_000


@pytest.mark.statistics
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_fails_it(fault: str) -> None:
    """Case 3."""
    proof = prove(200_000, seed=0, fault=fault)
    assert proof.statistic > 10 * proof.critical_value
    assert not proof.passed


def test_the_faults_are_those_of_case_3() -> None:
    assert FAULTS == (
        "q-without-processors",
        "argmax-draft-with-softmax-q",
        "residual-is-p",
        "residual-is-argmax",
        "one-u-for-all-positions",
        "test-skipped",
        "rejected-token-kept",
    )


def test_the_expected_joint_is_the_product_of_the_two_softmaxes() -> None:
    first = (TARGET.first / SETTINGS.temperature).softmax(-1)
    second = (TARGET.second / SETTINGS.temperature).softmax(-1)
    expected = torch.tensor(prove(100_000).expected)
    assert torch.allclose(expected, 100_000 * first[:, None] * second, rtol=1e-4)
    assert not torch.allclose(TARGET.first, DRAFTER.first)


@pytest.mark.parametrize("pairs", [0, -5, 100, 10**9])
def test_a_number_of_pairs_that_cannot_be_tested_is_refused(pairs: int) -> None:
    with pytest.raises(UserError, match="pairs"):
        prove(pairs)


def test_an_unknown_fault_is_refused() -> None:
    with pytest.raises(UserError, match="no fault “typo”"):
        prove(fault="typo")


def test_the_walk_ends_at_the_statistic() -> None:
    proof = prove(100_000)
    pairs, statistics = zip(*proof.walk, strict=True)
    assert pairs[-1] == 100_000
    assert statistics[-1] == pytest.approx(proof.statistic)
    assert list(pairs) == sorted(set(pairs))
    rarest = min(min(row) for row in proof.expected) / 100_000
    assert pairs[0] * rarest == pytest.approx(5, rel=0.01)


def test_chance_alone_stays_under_the_critical_value_and_is_no_copy() -> None:
    proofs = [prove(50_000, seed=seed) for seed in range(8)]
    floors = [proof.noise_floor for proof in proofs]
    assert 24 * 0.6 < sum(floors) / len(floors) < 24 * 1.4
    assert all(proof.noise_floor != proof.statistic for proof in proofs)


@pytest.mark.statistics
@pytest.mark.parametrize("drafter", [[0.01, 0.01, 0.01, 0.01, 0.96], [0.2] * 5])
def test_the_rule_is_lossless_whatever_the_drafter_thinks(drafter: list[float]) -> None:
    target = world_with([0.5, 0.2, 0.1, 0.15, 0.05], TARGET)
    proof = prove(target=target, drafter=world_with(drafter, DRAFTER))
    assert proof.passed
    assert sum(proof.expected[0]) / proof.pairs == pytest.approx(0.5, abs=1e-4)


def test_a_world_is_distributed_as_it_was_drawn() -> None:
    shares = [0.5, 0.2, 0.1, 0.15, 0.05]
    assert first_shares(world_with(shares, TARGET)) == pytest.approx(shares, abs=1e-6)
    again = world_with(first_shares(TARGET), TARGET)
    assert first_shares(again) == pytest.approx(first_shares(TARGET), abs=1e-6)


@pytest.mark.parametrize(
    "shares",
    [
        [0.25] * 4,
        [0.3] * 5,
        [0.0, 0.25, 0.25, 0.25, 0.25],
        [-0.2, 0.3, 0.3, 0.3, 0.3],
        [float("nan")] * 5,
        [],
    ],
)
def test_bars_that_are_no_distribution_are_refused(shares: list[float]) -> None:
    with pytest.raises(UserError, match="draw the bars again"):
        world_with(shares, TARGET)
