"""Numbers to Plotly figures: pure functions, without texts of their own and without a theme.

The words are handed in, in the reader's language. Traces name no colours: a figure takes them
in turn from the page's theme, target first, then drafter, then a limit. Only lines to measure by
are grey.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from specviz.settings import PLAIN
from specviz.theory import best_gamma, textbook_speedup

if TYPE_CHECKING:
    from specviz.bench import BenchResult, Row
    from specviz.costs import Costs, DraftCost, Spread
    from specviz.proof import Proof

HEIGHT = 300
_MARGIN = {"l": 8, "r": 8, "t": 8, "b": 8}
_QUIET = "#8087a0"
"""For what stands behind the numbers: readable on light and on dark."""
_ROOMY = 4
"""So many cells in a row leave room for their intervals."""
_SYMBOLS = ("diamond", "circle", "square", "triangle-up", "cross", "star")
_FAR = 10
"""A statistic so many times its critical value is drawn on a logarithmic axis."""

Words = Mapping[str, str]


def walk(proof: Proof, words: Words) -> go.Figure:
    """The chi-square as the pairs come in, under the line that it must not cross.

    Words: `walk`, `limit`, `pairs`, `statistic`.
    """
    pairs, statistics = zip(*proof.walk, strict=True)
    figure = go.Figure(
        [
            go.Scatter(x=pairs, y=statistics, mode="lines", name=words["walk"]),
            go.Scatter(
                x=[pairs[0], pairs[-1]],
                y=[proof.critical_value] * 2,
                mode="lines",
                line={"dash": "dash"},
                name=words["limit"],
                hovertemplate="%{y:.1f}",
            ),
        ]
    )
    far = max(statistics) > _FAR * proof.critical_value
    figure.update_yaxes(
        title=words["statistic"], type="log" if far else "linear", rangemode="tozero"
    )
    figure.update_xaxes(title=words["pairs"])
    return _finished(figure)


def cells(proof: Proof, words: Words) -> go.Figure:
    """How often each pair came, beside how often it should have.

    Words: `expected`, `observed`, `pair`, `share`; and the name of each token, by its number.
    """
    tokens = range(len(proof.counts))
    names = [
        [words[str(first)] for first in tokens for _ in tokens],
        [words[str(second)] for _ in tokens for second in tokens],
    ]
    expected, observed = (
        [value / proof.pairs for row in table for value in row]
        for table in (proof.expected, proof.counts)
    )
    figure = go.Figure(
        [
            go.Bar(x=names, y=expected, name=words["expected"]),
            go.Scatter(
                x=names,
                y=observed,
                mode="markers",
                marker={"symbol": "diamond", "size": 8},
                name=words["observed"],
            ),
        ]
    )
    figure.update_xaxes(title=words["pair"], tickangle=0)
    figure.update_yaxes(title=words["share"], tickformat=".0%", hoverformat=".2%")
    return _finished(figure)


def passes(costs: Costs, words: Words) -> go.Figure:
    """v(k): what a pass over k tokens costs, with its quartiles.

    Words: `v`, `free`, `tokens`, `cost`.
    """
    tokens = [cost.tokens for cost in costs.v]
    figure = go.Figure(
        [
            go.Scatter(
                x=tokens,
                y=[cost.v.median for cost in costs.v],
                error_y=_quartiles([cost.v for cost in costs.v]),
                mode="lines+markers",
                name=words["v"],
                hovertemplate="%{y:.2f}",
            ),
            go.Scatter(
                x=[tokens[0], tokens[-1]],
                y=[1, 1],
                mode="lines",
                line={"dash": "dot"},
                name=words["free"],
                hoverinfo="skip",
            ),
        ]
    )
    figure.update_xaxes(title=words["tokens"])
    figure.update_yaxes(title=words["cost"], rangemode="tozero")
    return _finished(figure)


def drafts(costs: Costs, words: Words) -> go.Figure:
    """c: what a draft step of each drafter costs, with its quartiles.

    Words: `cost`.
    """
    figure = go.Figure(
        go.Scatter(
            x=[cost.c.median for cost in costs.c],
            y=[cost.drafter for cost in costs.c],
            error_x=_quartiles([cost.c for cost in costs.c]),
            mode="markers+text",
            marker={"symbol": "diamond", "size": 11},
            texttemplate="%{x:.3f}",
            textposition="top center",
            hovertemplate="%{x:.3f}<extra></extra>",
        )
    )
    widest = max(cost.c.high for cost in costs.c)
    figure.update_xaxes(title=words["cost"], range=[-0.08 * widest, 1.08 * widest])
    figure.update_yaxes(range=[len(costs.c) - 0.5, -0.8])
    return _finished(figure).update_layout(height=90 + 56 * len(costs.c))


def roofline(costs: Costs, words: Words) -> go.Figure:
    """What the device could do at most, and what the target's passes do of it.

    Below the ridge a pass waits for memory, and more tokens in it cost nothing; beyond it
    arithmetic is the limit.

    Words: `roof`, `passes`, `intensity`, `rate`, `hover`.
    """
    bandwidth, most = costs.bandwidth_bytes_per_s, costs.flops_per_s
    intensity = [cost.operations / cost.bytes for cost in costs.v]
    ridge = most / bandwidth
    ends = sorted({intensity[0] / 2, ridge, max(intensity[-1], ridge) * 2})
    roof = [min(bandwidth * at, most) / 1e9 for at in ends]
    rates = [cost.operations / cost.seconds.median / 1e9 for cost in costs.v]
    figure = go.Figure(
        [
            go.Scatter(
                x=ends,
                y=roof,
                mode="lines",
                name=words["roof"],
                hoverinfo="skip",
            ),
            go.Scatter(
                x=intensity,
                y=rates,
                customdata=[cost.tokens for cost in costs.v],
                mode="markers",
                marker={"symbol": "diamond", "size": 8},
                name=words["passes"],
                hovertemplate=words["hover"] + "<extra></extra>",
            ),
        ]
    )
    figure.update_xaxes(title=words["intensity"], type="log", tickvals=_log_ticks(ends))
    figure.update_yaxes(title=words["rate"], type="log", tickvals=_log_ticks([*roof, *rates]))
    return _finished(figure, hovermode="closest")


def _log_ticks(values: Sequence[float]) -> list[float]:
    """1, 2, 5, 10, 20, … about all that is to be seen on a logarithmic axis."""
    exponents = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
    return [step * 10.0**exponent for exponent in exponents for step in (1, 2, 5)]


@dataclass(frozen=True)
class Measured:
    """A measured setting on the surface of predictions."""

    alpha: float
    """With which the textbook's formula gives the tokens a cycle that were measured."""
    gamma: int
    speedup: float


def predicted(
    costs: Costs, drafter: DraftCost, words: Words, measured: Sequence[Measured] = ()
) -> go.Figure:
    """The predicted speedup over acceptance and γ, with the measured v and one drafter's c.

    Along the lines γ is the best one for an acceptance: by the literature, where checking is
    free, and by what it costs here.

    Words: `acceptance`, `gamma`, `hover`, `equal`, `plain`, `textbook`, `here`, `measured`,
    `measured_hover`.
    """
    v = {cost.tokens: cost.v.median for cost in costs.v}
    gammas = [k - 1 for k in sorted(v) if k > 1 and k - 1 in v]
    acceptance = [step / 50 for step in range(51)]
    c = drafter.c.median
    speedups = [
        [textbook_speedup(alpha, gamma, c, v[gamma + 1]) for alpha in acceptance]
        for gamma in gammas
    ]
    figure = go.Figure()
    free = dict.fromkeys(v, 1.0)
    for name, dash, pass_cost in (("textbook", "dot", free), ("here", "solid", v)):
        figure.add_trace(
            go.Scatter(
                x=acceptance,
                y=[best_gamma(alpha, gammas, c, pass_cost) for alpha in acceptance],
                mode="lines",
                line={"dash": dash, "shape": "hv"},
                name=words[name],
                hoverinfo="skip",
            )
        )
    if measured:
        figure.add_trace(
            go.Scatter(
                x=[point.alpha for point in measured],
                y=[point.gamma for point in measured],
                text=[f"{point.speedup:.2f}×" for point in measured],
                mode="markers+text",
                textposition=["middle left" if p.alpha > 0.7 else "middle right" for p in measured],
                marker={"symbol": "diamond", "size": 11},
                name=words["measured"],
                hovertemplate=words["measured_hover"] + "<extra></extra>",
            )
        )
    figure.add_traces(
        _equal_speedups(acceptance, gammas, speedups, words, words["hover"] + "<extra></extra>")
    )
    figure.update_xaxes(title=words["acceptance"], tickformat=".0%")
    figure.update_yaxes(
        title=words["gamma"],
        range=[0.5, gammas[-1] + 0.5],
        tickvals=[gamma for gamma in gammas if gamma % 2 == 0 or len(gammas) < 8],
    )
    return _finished(figure, hovermode="closest")


def speedups(result: BenchResult, words: Words) -> go.Figure:
    """The measured speedup of every cell, with its interval: γ across, drafters down.

    Where many stand in a row, there is room for the interval on hovering only.

    Words: `gamma`, `hover`, `given_up`.
    """
    rows = {(row.drafter, row.gamma): row for row in result.rows if row.drafter != PLAIN}
    drafters = list(dict.fromkeys(drafter for drafter, _ in rows))
    gammas = sorted({gamma for _, gamma in rows})
    cells = [[rows.get((drafter, gamma)) for gamma in gammas] for drafter in drafters]

    def said(row: Row | None) -> str:
        if row is None:
            return ""
        interval = _interval(row) if len(gammas) <= _ROOMY else ""
        given_up = words["given_up"] if row.repeats < result.environment.repeats else ""
        return "<br>".join(filter(None, [f"{row.speedup:.2f}×", interval, given_up]))

    figure = go.Figure(
        go.Heatmap(
            x=[str(gamma) for gamma in gammas],
            y=drafters,
            z=[[row and row.speedup for row in line] for line in cells],
            text=[[said(row) for row in line] for line in cells],
            customdata=[[_interval(row) for row in line] for line in cells],
            texttemplate="%{text}",
            textfont={"size": 12},
            zmid=1,
            xgap=2,
            ygap=2,
            showscale=False,
            hovertemplate=words["hover"] + "<extra></extra>",
        )
    )
    figure.update_xaxes(title=words["gamma"], type="category")
    figure.update_yaxes(autorange="reversed")
    figure = _finished(figure, hovermode="closest")
    return figure.update_layout(height=110 + 56 * len(drafters))


def _interval(row: Row | None) -> str:
    return "" if row is None else f"{row.speedup_low:.2f}–{row.speedup_high:.2f}"


def predictions(result: BenchResult, words: Words) -> go.Figure:
    """Each cell's predicted speedup against its measured one; on the line they are equal.

    Words: `equal`, `predicted`, `measured`, `hover`.
    """
    rows = [row for row in result.rows if row.predicted_speedup and row.drafter != PLAIN]
    ends = [0.0, 1.1 * max(max(row.speedup, row.predicted_speedup or 0) for row in rows)]
    figure = go.Figure()
    for drafter in dict.fromkeys(row.drafter for row in rows):
        its = [row for row in rows if row.drafter == drafter]
        figure.add_trace(
            go.Scatter(
                x=[row.predicted_speedup for row in its],
                y=[row.speedup for row in its],
                customdata=[row.gamma for row in its],
                mode="markers",
                marker={"size": 10},
                error_y=_intervals(its),
                name=drafter,
                hovertemplate=words["hover"] + "<extra></extra>",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=ends,
            y=ends,
            mode="lines",
            line={"dash": "dot", "color": _QUIET},
            name=words["equal"],
            hoverinfo="skip",
        )
    )
    figure.update_xaxes(title=words["predicted"], range=ends)
    figure.update_yaxes(title=words["measured"], range=ends)
    return _finished(figure, hovermode="closest")


def kept_again(recorded: Sequence[float], again: Sequence[float], words: Words) -> go.Figure:
    """The share of cycles that kept 0, 1, 2, … guesses: as recorded and as judged again.

    Words: `recorded`, `again`, `kept`, `share`.
    """
    figure = go.Figure(
        [
            go.Bar(x=[*range(len(shares))], y=list(shares), name=words[name])
            for name, shares in (("recorded", recorded), ("again", again))
        ]
    )
    figure.update_xaxes(title=words["kept"], dtick=1)
    figure.update_yaxes(title=words["share"], tickformat=".0%")
    return _finished(figure)


def curves(series: Mapping[str, Sequence[tuple[float, float]]], words: Words) -> go.Figure:
    """A line for each name, through its points; the marks differ too.

    Words: `x`, `y`.
    """
    figure = go.Figure(
        [
            go.Scatter(
                x=[x for x, _ in points],
                y=[y for _, y in points],
                mode="lines+markers",
                marker={"symbol": symbol, "size": 8},
                name=name,
                hovertemplate="%{y:.3~g}",
            )
            for (name, points), symbol in zip(series.items(), cycle(_SYMBOLS), strict=False)
        ]
    )
    figure.update_xaxes(title=words["x"], rangemode="tozero")
    figure.update_yaxes(title=words["y"], rangemode="tozero")
    beside = {"orientation": "v", "x": 1.02, "y": 1, "yanchor": "top"}
    return _finished(figure).update_layout(legend=beside)


def _intervals(rows: Sequence[Row]) -> dict[str, object]:
    """Error bars over the 95 % intervals."""
    return _error_bars(
        [(row.speedup - row.speedup_low, row.speedup_high - row.speedup) for row in rows]
    )


@dataclass(frozen=True)
class Drafted:
    """A drafter, measured: where it stands between cheap and right."""

    drafter: str
    draft_cost: float
    """c"""
    acceptance: float
    """Of the guesses that were tested, the share that was kept."""
    speedup: float
    """Measured."""


def trade_off(drafters: Sequence[Drafted], gamma: int, pass_cost: float, words: Words) -> go.Figure:
    """Cost of a draft step against acceptance: lines of equal predicted speedup, drafters on them.

    Args:
        drafters: measured with the same γ.
        gamma: γ.
        pass_cost: of a cycle's pass over γ + 1 tokens and all but drafting, in passes over one.
        words: `cost`, `acceptance`, `hover`, `equal`, `plain`.
    """
    widest = 1.25 * max([0.08, *(point.draft_cost for point in drafters)])
    costs = [widest * step / 40 for step in range(41)]
    acceptance = [step / 40 for step in range(41)]
    speedups = [
        [textbook_speedup(alpha, gamma, cost, pass_cost) for cost in costs] for alpha in acceptance
    ]
    figure = go.Figure(
        [
            *(
                go.Scatter(
                    x=[point.draft_cost],
                    y=[point.acceptance],
                    mode="markers",
                    marker={"symbol": symbol, "size": 13},
                    name=f"{point.drafter} {point.speedup:.2f}×",
                    cliponaxis=False,
                    hovertemplate=words["hover"],
                )
                for point, symbol in zip(drafters, cycle(_SYMBOLS), strict=False)
            ),
            *_equal_speedups(costs, acceptance, speedups, words),
        ]
    )
    figure.update_xaxes(title=words["cost"], range=[-widest / 40, widest])
    figure.update_yaxes(title=words["acceptance"], tickformat=".0%", range=[0, 1])
    # A narrow screen writes the names below each other.
    return _finished(figure, hovermode="closest").update_layout(height=440)


def _equal_speedups(
    x: Sequence[float],
    y: Sequence[float],
    speedups: Sequence[Sequence[float]],
    words: Words,
    hover: str | None = None,
) -> list[go.Contour]:
    """Lines along which the speedup, a row for each y, is the same: 1, and one for each half.

    Words: `equal`, `plain`.
    """
    return [
        go.Contour(
            x=x,
            y=y,
            z=speedups,
            contours={
                "coloring": "none",
                "start": start,
                "end": end,
                "size": 0.5,
                "showlabels": True,
                "labelformat": ".1f",
                "labelfont": {"color": _QUIET},
            },
            line={"color": _QUIET, "width": width},
            showscale=False,
            showlegend=True,
            name=words[name],
            hovertemplate=hover,
            hoverinfo="skip" if hover is None else None,
        )
        for name, start, end, width in (("equal", 0.5, 8, 1), ("plain", 1, 1, 3))
    ]


def _quartiles(spreads: Sequence[Spread]) -> dict[str, object]:
    """Error bars from quartile to quartile."""
    return _error_bars([(s.median - s.low, s.high - s.median) for s in spreads])


def _error_bars(reaches: Sequence[tuple[float, float]]) -> dict[str, object]:
    """How far each bar reaches down and up."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [up for _, up in reaches],
        "arrayminus": [down for down, _ in reaches],
        "thickness": 1,
    }


def _finished(figure: go.Figure, hovermode: str = "x unified") -> go.Figure:
    figure.update_layout(
        height=HEIGHT,
        margin=_MARGIN,
        hovermode=hovermode,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )
    return figure
