"""Figures: that they say what the numbers say."""

from __future__ import annotations

import pytest

from specviz import charts
from specviz.proof import prove
from tests.costs_by_hand import costs
from tests.grid_by_hand import grid, row

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
    first, second = expected.x
    assert list(zip(first, second, strict=True))[4:7] == [("A", "E"), ("B", "A"), ("B", "B")]
    assert sum(expected.y) == pytest.approx(1, abs=1e-6)
    assert sum(observed.y) == pytest.approx(1)
    assert observed.y[7] == proof.counts[1][2] / proof.pairs
    assert expected.y[7] == proof.expected[1][2] / proof.pairs


COST_WORDS = dict.fromkeys(
    (
        "v",
        "free",
        "tokens",
        "cost",
        "roof",
        "passes",
        "intensity",
        "rate",
        "hover",
        "acceptance",
        "gamma",
        "equal",
        "plain",
        "textbook",
        "here",
        "measured",
        "measured_hover",
    ),
    "word",
)


def test_passes_with_their_quartiles() -> None:
    measured, free = charts.passes(costs(1.0, 1.2, 2.0), COST_WORDS).data
    assert list(measured.x) == [1, 2, 3]
    assert list(measured.y) == [1.0, 1.2, 2.0]
    assert list(measured.error_y.array) == pytest.approx([0.2, 0.24, 0.4])
    assert list(measured.error_y.arrayminus) == pytest.approx([0.1, 0.12, 0.2])
    assert set(free.y) == {1}


def test_drafts() -> None:
    (points,) = charts.drafts(costs(1.0), COST_WORDS).data
    assert dict(zip(points.y, points.x, strict=True)) == {"lookup": 0.001, "early-exit:8": 0.3}


def test_the_roof_by_hand() -> None:
    """20 GB/s and 100 GFLOP/s meet at 5 operations a byte.

    Passes over 1 and 4 tokens lie at 2 and 8, and reach 2 G in 0.1 s and 8 G in 0.16 s.
    """
    roof, passes = charts.roofline(costs(1.0, 1.0, 1.0, 1.6), COST_WORDS).data
    assert list(roof.x) == [1.0, 5.0, 16.0]
    assert list(roof.y) == [20.0, 100.0, 100.0]
    assert (passes.x[0], passes.x[3]) == (2.0, 8.0)
    assert (passes.y[0], passes.y[3]) == pytest.approx((20.0, 50.0))


def test_round_numbers_about_a_range() -> None:
    assert charts._log_ticks([0.3, 7.0]) == pytest.approx([0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50])


def test_the_predicted_speedup_by_hand() -> None:
    """α = 0.5, γ = 2: 1.75 tokens for 2 · 0.3 + v(3) = 1.5 passes.

    The best of γ = 1 and 2 for α = 0.9: 1.9 / 1.1 against 2.71 / 1.5 here; were checking free,
    1.9 / 1.3 against 2.71 / 1.6. For α = 0.5: 1.5 / 1.1 against 1.75 / 1.5.
    """
    measured = costs(1.0, 0.8, 0.9)
    points = [charts.Measured(0.4, 2, 1.1)]
    textbook, here, mark, surface, even = charts.predicted(
        measured, measured.c[1], COST_WORDS, points
    ).data
    assert list(surface.y) == [1, 2]
    assert surface.x[25] == 0.5
    assert surface.z[1][25] == pytest.approx(1.75 / 1.5)
    assert surface.z[0][0] == pytest.approx(1 / 1.1), "nothing is kept: one token a cycle"
    assert surface.z[1][50] == pytest.approx(3 / 1.5), "all are kept"
    assert even.z == surface.z
    assert (even.contours.start, even.contours.end) == (1, 1), "as fast as plain decoding"
    assert (textbook.y[45], here.y[45]) == (2, 2)
    assert here.y[25] == 1
    assert (list(mark.x), list(mark.y), list(mark.text)) == ([0.4], [2], ["1.10×"])


def test_drafters_between_cheap_and_right() -> None:
    """α = 0.5, γ = 2, c = 0.05: 1.75 tokens for 0.1 + 1.3 passes."""
    words = dict.fromkeys(("cost", "acceptance", "hover", "equal", "plain"), "word")
    measured = [
        charts.Drafted("mtp", draft_cost=0.1, acceptance=0.6, speedup=1.5),
        charts.Drafted("lookup", draft_cost=0.0, acceptance=0.9, speedup=2.0),
    ]
    mtp, lookup, surface, _even = charts.trade_off(measured, 2, 1.3, words).data
    assert surface.x[16] == pytest.approx(0.05)
    assert surface.y[20] == 0.5
    assert surface.z[20][16] == pytest.approx(1.75 / 1.4)
    assert (mtp.name, mtp.x, mtp.y) == ("mtp 1.50×", (0.1,), (0.6,))
    assert (lookup.name, lookup.x, lookup.y) == ("lookup 2.00×", (0.0,), (0.9,))
    assert mtp.marker.symbol != lookup.marker.symbol


GRID_WORDS = {
    "gamma": "γ",
    "hover": "hover",
    "given_up": "(given up)",
    "equal": "equal",
    "predicted": "predicted",
    "measured": "measured",
}
GRID = grid(
    row("none", 0, 1.0),
    row("mtp", 2, 1.5, predicted_speedup=1.4),
    row("mtp", 4, 1.2, repeats=1),
    row("lookup", 2, 2.0, predicted_speedup=2.2),
)


def test_the_grid_of_speedups() -> None:
    """Two drafters by two γ, of which one cell was not measured and one was given up."""
    (cells,) = charts.speedups(GRID, GRID_WORDS).data
    assert list(cells.x) == ["2", "4"]
    assert list(cells.y) == ["mtp", "lookup"]
    assert [list(line) for line in cells.z] == [[1.5, 1.2], [2.0, None]]
    assert cells.text[0] == ["1.50×<br>1.35–1.65", "1.20×<br>1.08–1.32<br>(given up)"]
    assert cells.customdata[0][0] == "1.35–1.65"
    assert cells.text[1][1] == cells.customdata[1][1] == ""
    many = grid(*(row("mtp", gamma, 1.5) for gamma in (1, 2, 3, 4, 6)))
    (crowded,) = charts.speedups(many, GRID_WORDS).data
    assert set(crowded.text[0]) == {"1.50×"}, "no room for intervals"


def test_predictions_against_measurements() -> None:
    mtp, lookup, line = charts.predictions(GRID, GRID_WORDS).data
    assert (list(mtp.x), list(mtp.y)) == ([1.4, 1.2], [1.5, 1.2])
    assert (list(lookup.x), list(lookup.y)) == ([2.2], [2.0])
    assert list(lookup.error_y.array) == pytest.approx([0.2])
    assert list(line.x) == list(line.y) == pytest.approx([0, 1.1 * 2.2])


def test_curves() -> None:
    one, two = charts.curves({"a": [(1, 2), (3, 4)], "b": [(1, 5)]}, {"x": "x", "y": "y"}).data
    assert (one.name, list(one.x), list(one.y)) == ("a", [1, 3], [2, 4])
    assert (two.name, list(two.x), list(two.y)) == ("b", [1], [5])


def test_what_was_kept_and_what_might_have_been() -> None:
    words = dict.fromkeys(("recorded", "again", "kept", "share"), "word")
    recorded, again = charts.kept_again([0.5, 0.25, 0.25], [0.5, 0.5, 0.0], words).data
    assert list(recorded.x) == [0, 1, 2]
    assert (list(recorded.y), list(again.y)) == ([0.5, 0.25, 0.25], [0.5, 0.5, 0.0])
