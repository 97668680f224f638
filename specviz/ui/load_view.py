"""What the Load page offers to measure, and what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from specviz import charts
from specviz.load import FIXED, Choose, LoadCosts, Loads, Policy, Server, Speed, under_load, waiting
from specviz.server.imports import importing
from specviz.server.measurement import Report
from specviz.ui import controls
from specviz.ui.figures import save_as_csv, show_figure, show_machine
from specviz.ui.presets import PRESETS
from specviz.ui.texts import _

if TYPE_CHECKING:
    from specviz.load_costs import MeasuredLoad

_PROMPTS = ("correct", "explain", "story")
_PARTS = (0.3, 0.5, 0.7, 0.85, 1.0)


def drafter() -> str:
    """Whose guesses are recorded."""
    return str(
        st.selectbox(
            _("Drafter"),
            controls.MEASURABLE_DRAFTERS,
            key="load.drafter",
            persist_state="session",
            width=320,
            help=_("Its guesses are recorded on three of the examples, eight at a time."),
        )
    )


def measure(model: Any, chosen: str, report: Report[MeasuredLoad]) -> MeasuredLoad:
    """In the worker's thread."""
    with importing:
        from specviz.load_costs import measure_load

    prompts = [PRESETS[name].prompt for name in _PROMPTS]
    return measure_load(model, chosen, prompts, progress=report)


def show(measured: MeasuredLoad) -> None:
    """What was measured, then what is simulated from it."""
    show_machine(measured.machine, _("drafted by {drafter}").format(drafter=measured.drafter))
    loads, waits = _simulate(measured.costs.model_dump_json())
    left, right = st.columns(2, gap="large")
    with left:
        _passes(measured)
    with right:
        st.subheader(
            _("Everybody together (simulated)"),
            help=_(
                "Tokens a second that the server makes for all users, simulated from the measured "
                "costs. *load-aware* makes and checks fewer guesses as the load rises, the least "
                "likely left out first."
            ),
        )
        show_figure(charts.curves(_series(loads, "total"), _words()), key="load.total")
        _crossing(loads)
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(
            _("Each user (simulated)"),
            help=_("Tokens a second that one of them sees."),
        )
        show_figure(charts.curves(_series(loads, "per_user"), _words()), key="load.each")
    with right:
        st.subheader(
            _("Waiting for a place (simulated)"),
            help=_(
                "Requests come at random times and are served first come, first served, at most "
                "{slots} at a time, 48 tokens each. The passes over their prompts are left out."
            ).format(slots=max(measured.costs.batches)),
        )
        words = {"x": _("requests a second"), "y": _("seconds of waiting, on average")}
        show_figure(charts.curves(waits, words), key="load.waiting")
    save_as_csv(table(loads), "specviz-load.csv")


@st.cache_data(max_entries=20, show_spinner=False)
def _simulate(costs: str) -> tuple[Loads, dict[str, list[tuple[float, float]]]]:
    server = Server(LoadCosts.model_validate_json(costs))

    def fixed(gamma: int) -> Choose:
        return lambda _users: Policy(gamma)

    waits = {_name(gamma): waiting(server, fixed(gamma), _PARTS) for gamma in FIXED}
    waits[_("load-aware")] = waiting(server, server.load_aware, _PARTS)
    return under_load(server), waits


def _passes(measured: MeasuredLoad) -> None:
    st.subheader(
        _("A pass for several users (measured)"),
        help=_(
            "T(B, k): the time of one pass over k tokens for each of B users, in units of a pass "
            "over one token for one user. Where a line rises steeply, guesses are no longer "
            "checked for free."
        ),
    )
    costs = measured.costs
    single = costs.seconds[0][0]
    series = {
        (_("1 user") if batch == 1 else _("{users} users")).format(users=batch): [
            (float(k), seconds / single) for k, seconds in zip(costs.lengths, row, strict=True)
        ]
        for batch, row in zip(costs.batches, costs.seconds, strict=True)
    }
    words = {"x": _("k, tokens of each user"), "y": _("time, in passes over one token")}
    show_figure(charts.curves(series, words), key="load.passes")


def _crossing(loads: Loads) -> None:
    """From how many users on each γ loses."""
    losing: dict[int, list[int]] = {}
    for gamma in FIXED[1:]:
        if users := loads.loses_from(gamma):
            losing.setdefault(users, []).append(gamma)
    if not losing:
        st.caption(_("As simulated, no γ is slower than plain decoding with so many users."))
        return
    at_once, later = _("γ = {gammas} at once"), _("γ = {gammas} from {users} users on")
    said = [
        (at_once if users == 1 else later).format(gammas=", ".join(map(str, gammas)), users=users)
        for users, gammas in losing.items()
    ]
    st.caption(
        _("As simulated, slower than plain decoding: {which}.").format(which="; ".join(said))
    )


def _series(loads: Loads, what: str) -> dict[str, list[tuple[float, float]]]:
    def points(speeds: list[Speed]) -> list[tuple[float, float]]:
        return [(float(speed.users), float(getattr(speed, what))) for speed in speeds]

    return {
        **{_name(gamma): points(speeds) for gamma, speeds in loads.fixed.items()},
        _("load-aware"): points(loads.load_aware),
    }


def _words() -> dict[str, str]:
    return {"x": _("users at a time"), "y": _("tokens a second")}


def _name(gamma: int) -> str:
    return _("γ = {gamma}").format(gamma=gamma) if gamma else _("plain")


def table(loads: Loads) -> pd.DataFrame:
    """A row for each policy and number of users; tokens a second."""
    policies = [*((str(gamma), speeds) for gamma, speeds in loads.fixed.items())]
    return pd.DataFrame(
        [
            (policy, speed.users, speed.total, speed.per_user)
            for policy, speeds in [*policies, ("load-aware", loads.load_aware)]
            for speed in speeds
        ],
        columns=["gamma", "users", "total", "per_user"],
    )
