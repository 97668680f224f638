"""What the Cost page offers to measure, and what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from specviz import charts
from specviz.server.imports import importing
from specviz.server.measurement import Report
from specviz.theory import alpha_of
from specviz.ui import controls
from specviz.ui.figures import save_as_csv, show_figure, show_machine
from specviz.ui.texts import _

if TYPE_CHECKING:
    from specviz.bench import BenchResult
    from specviz.costs import Costs


def drafters() -> list[str]:
    """Which drafters are to be measured."""
    chosen: list[str] = st.multiselect(
        _("Drafters"),
        controls.MEASURABLE_DRAFTERS,
        default=("mtp", "lookup", "early-exit:8"),
        key="cost.drafters",
        persist_state="session",
        help=_(
            "Whose guesses are timed. *mtp* is one trained block; *lookup* copies from the text; "
            "*early-exit:8* is the model itself, stopped after its first eight layers."
        ),
    )
    return chosen


def measure(model: Any, chosen: list[str], report: Report[Costs]) -> Costs:
    """In the worker's thread."""
    with importing:
        from specviz.costs import measure_costs

    return measure_costs(model, chosen, progress=report)


def show(costs: Costs) -> None:
    """Every figure, with its data."""
    show_machine(costs.machine)
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(
            _("A pass over k tokens"),
            help=_(
                "v(k) = T(k) / T(1): the time of one pass of the model over k tokens, in units of "
                "passes over one just before and after. Checking γ guesses takes a pass over "
                "γ + 1. The bars are quartiles of several rounds."
            ),
        )
        words = {
            "v": _("measured"),
            "free": _("if checking were free"),
            "tokens": _("k, tokens in the pass"),
            "cost": _("v(k), in passes over one"),
        }
        show_figure(charts.passes(costs, words), key="cost.passes")
        _note_dear_short_passes(costs)
    with right:
        st.subheader(
            _("What the pass waits for"),
            help=_(
                "The roof is what this machine can do: on its slope a pass waits for memory, on "
                "its flat part for arithmetic. Each point is a pass; the more tokens, the further "
                "to the right. Passes on the slope check guesses almost for free."
            ),
        )
        words = {
            "roof": _("the machine at its best"),
            "passes": _("the model’s passes"),
            "intensity": _("operations for each byte read"),
            "rate": _("GFLOP/s"),
            "hover": _("%{customdata} tokens: %{y:.0f} GFLOP/s"),
        }
        show_figure(charts.roofline(costs, words), key="cost.roofline")
    if costs.c:
        _show_drafters(costs)
    save_as_csv(table(costs), "specviz-costs.csv")


def _note_dear_short_passes(costs: Costs) -> None:
    """Say so where fewer tokens cost more than five."""
    v = {cost.tokens: cost.v.median for cost in costs.v}
    dear = [k for k in (2, 3, 4) if v.get(k, 0) > 1.1 * v.get(5, float("inf"))]
    if dear:
        st.info(
            _(
                "Here a pass over {tokens} tokens costs more than one over 5: the library’s "
                "routine for so few rows is slower. Choose γ = 4 or more."
            ).format(tokens=", ".join(map(str, dear)))
        )


def _show_drafters(costs: Costs) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(
            _("A guess"),
            help=_("c: the time of one drafted token, in units of the model’s pass over one."),
        )
        words = {"cost": _("c, cost of a guess in passes of the model")}
        show_figure(charts.drafts(costs, words), key="cost.drafts")
    with right:
        st.subheader(
            _("What it can gain"),
            help=_(
                "The predicted speedup: tokens a cycle, (1 − α^(γ+1)) / (1 − α), divided by what "
                "the cycle costs, γ·c + v(γ+1). Below 1 it is slower than plain decoding. The "
                "solid line is the best γ for each acceptance, the dotted one what the textbook "
                "takes, where v is 1."
            ),
        )
        names = [cost.drafter for cost in costs.c]
        name = st.segmented_control(
            _("Drafter"), names, default=names[0], required=True, key="cost.drafter"
        )
        drafter = next(cost for cost in costs.c if cost.drafter == (name or names[0]))
        words = {
            "acceptance": _("α, the chance that a guess is kept"),
            "gamma": _("γ, guesses a cycle"),
            "hover": _("kept %{x:.0%}, γ = %{y}: %{z:.2f}×"),
            "equal": _("equal predicted speedup"),
            "plain": _("as fast as plain decoding"),
            "textbook": _("best γ, were checking free"),
            "here": _("best γ here"),
            "measured": _("measured on the Tune page"),
            "measured_hover": _("γ = %{y}: measured %{text}, as if %{x:.0%} were kept"),
        }
        points = measured_points(st.session_state.get("tune.result"), drafter.drafter)
        show_figure(charts.predicted(costs, drafter, words, points), key="cost.predicted")
        if not points:
            st.caption(
                _("What is measured with this drafter on the Tune page will stand here as points.")
            )


def measured_points(tuned: BenchResult | None, drafter: str) -> list[charts.Measured]:
    """A drafter's cells of the last tuning, where the surface has a place for them."""
    return [
        charts.Measured(alpha_of(row.mean_acceptance_length, row.gamma), row.gamma, row.speedup)
        for row in (tuned.rows if tuned else ())
        if row.drafter == drafter and row.mean_acceptance_length is not None
    ]


def table(costs: Costs) -> pd.DataFrame:
    """A row for each pass and each drafter's step; times in seconds."""
    return pd.DataFrame(
        [
            (what, spread.median, spread.low, spread.high, relative.median)
            for what, spread, relative in (
                *((f"pass over {cost.tokens}", cost.seconds, cost.v) for cost in costs.v),
                *((f"step of {cost.drafter}", cost.seconds, cost.c) for cost in costs.c),
            )
        ],
        columns=["what", "seconds", "low", "high", "relative"],
    )
