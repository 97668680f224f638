"""Numbers to Plotly figures: pure functions, without texts of their own and without a theme.

The words are handed in, in the reader's language. Traces name no colours: a figure takes them
in turn from the page's theme, target first, then drafter, then a limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import plotly.graph_objects as go

if TYPE_CHECKING:
    from specviz.proof import Proof

HEIGHT = 300
_MARGIN = {"l": 8, "r": 8, "t": 8, "b": 8}
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
    names = [f"{words[str(first)]} {words[str(second)]}" for first in tokens for second in tokens]
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
    figure.update_xaxes(title=words["pair"])
    figure.update_yaxes(title=words["share"], tickformat=".1%", hoverformat=".2%")
    return _finished(figure)


def _finished(figure: go.Figure) -> go.Figure:
    figure.update_layout(
        height=HEIGHT,
        margin=_MARGIN,
        hovermode="x unified",
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )
    return figure
