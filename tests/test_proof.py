"""The proof of losslessness, and that it can fail."""

from __future__ import annotations

import pytest
import torch

from specviz.errors import UserError
from specviz.proof import DRAFTER, FAULTS, SETTINGS, TARGET, chi_square, critical_value, prove


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
