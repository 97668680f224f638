"""Figures: that they say what the numbers say."""

from __future__ import annotations

import pytest

from specviz import charts
from specviz.proof import prove

WORDS = {
    "walk": "chi-square",
    "limit": "limit",
    "pairs": "pairs",
    "statistic": "chi-square",
    "expected": "expected",
    "observed": "observed",
    "pair": "pair",
    "share": "share",
    **{str(number): letter for number, letter in enumerate("ABCDE")},
}


def test_the_walk_and_its_limit() -> None:
    proof = prove()
    line, limit = charts.walk(proof, WORDS).data
    assert list(zip(line.x, line.y, strict=True)) == list(proof.walk)
    assert line.x[-1] == proof.pairs
    assert line.y[-1] == pytest.approx(proof.statistic)
    assert set(limit.y) == {proof.critical_value}
    assert charts.walk(proof, WORDS).layout.yaxis.type == "linear"


def test_a_walk_that_leaves_is_drawn_on_a_logarithmic_axis() -> None:
    assert charts.walk(prove(fault="test-skipped"), WORDS).layout.yaxis.type == "log"


def test_every_pair_of_tokens() -> None:
    proof = prove()
    expected, observed = charts.cells(proof, WORDS).data
    assert expected.x[:6] == ("A A", "A B", "A C", "A D", "A E", "B A")
    assert sum(expected.y) == pytest.approx(1, abs=1e-6)
    assert sum(observed.y) == pytest.approx(1)
    assert observed.y[7] == proof.counts[1][2] / proof.pairs
    assert expected.y[7] == proof.expected[1][2] / proof.pairs
