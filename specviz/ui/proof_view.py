"""What the Proof page shows of a proof: verdict, numbers, charts, data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from specviz import charts
from specviz.ui.figures import save_as_csv, show_figure
from specviz.ui.proof_texts import TOKENS
from specviz.ui.texts import _

if TYPE_CHECKING:
    from specviz.proof import Proof


def verdict(proof: Proof) -> None:
    """Whether something is lost, in a sentence."""
    numbers = {
        "statistic": f"{proof.statistic:,.{0 if proof.statistic >= 1000 else 1}f}",
        "limit": f"{proof.critical_value:.1f}",
    }
    holds = proof.statistic < proof.critical_value
    if holds and proof.fault:
        st.warning(
            _(
                "**The fault does not show.** The chi-square is {statistic}, under {limit}: where "
                "both models agree, this mistake does no harm. Drag their bars apart."
            ).format(**numbers),
            icon=":material/visibility_off:",
        )
    elif holds:
        st.success(
            _("**Nothing is lost.** The chi-square is {statistic}, under {limit}.").format(
                **numbers
            ),
            icon=":material/check_circle:",
        )
    else:
        st.error(
            _(
                "**The output is not the target’s.** The chi-square is {statistic}, over {limit}."
            ).format(**numbers),
            icon=":material/cancel:",
        )


def numbers(proof: Proof) -> None:
    """The statistic among its like, and which branches of the rule were taken."""
    took = proof.exercised
    shown = [
        (
            _("χ² by chance"),
            f"{proof.noise_floor:,.1f}",
            _(
                "The chi-square of as many pairs drawn from the target’s own distribution: no "
                "method can be expected to do better. Around {count} is usual."
            ).format(count=proof.degrees_of_freedom),
        ),
        (
            _("χ² of the drafter"),
            f"{proof.control_statistic:,.0f}",
            _(
                "The chi-square of the drafter’s own pairs. It must be large: a test that the "
                "drafter passes could not tell the two models apart."
            ),
        ),
        (
            _("Guesses kept"),
            f"{took.accepted:,}",
            _("Guesses that were tested and kept."),
        ),
        (
            _("Guesses refused"),
            f"{took.resampled:,}",
            _("Guesses that were refused, each replaced by a draw from the residual."),
        ),
    ]
    for column, (label, value, help) in zip(st.columns(len(shown)), shown, strict=True):
        column.metric(label, value, help=help)


def walk(proof: Proof) -> None:
    """The chi-square on its way."""
    words = {
        "walk": _("chi-square"),
        "limit": _("crossed by chance once in a thousand proofs"),
        "pairs": _("pairs of tokens so far"),
        "statistic": _("chi-square"),
    }
    show_figure(charts.walk(proof, words), key="proof.walk")


def cells(proof: Proof) -> None:
    """Every pair of tokens, and the same as a file."""
    words = {
        "expected": _("as the target has it"),
        "observed": _("as it came out"),
        "pair": _("pair of tokens"),
        "share": _("share of all pairs"),
        **{str(number): name for number, name in enumerate(TOKENS)},
    }
    show_figure(charts.cells(proof, words), key="proof.cells")
    save_as_csv(table(proof), "specviz-proof.csv")


def table(proof: Proof) -> pd.DataFrame:
    """A row for each pair: how often it came and how often it should have."""
    return pd.DataFrame(
        [
            (TOKENS[first], TOKENS[second], count, proof.expected[first][second])
            for first, row in enumerate(proof.counts)
            for second, count in enumerate(row)
        ],
        columns=["first", "second", "observed", "expected"],
    )
