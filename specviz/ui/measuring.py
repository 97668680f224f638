"""A page's long work: its button, its progress with Cancel, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from specviz.errors import UserError
from specviz.server.hub import Hub
from specviz.server.measurement import Measurement, Report
from specviz.ui.texts import _

Choice = TypeVar("Choice")
Result = TypeVar("Result")

_POLL_SECONDS = 0.5


def measured(
    hub: Hub,
    name: str,
    choose: Callable[[], Choice],
    work: Callable[[Any, Choice, Report[Result]], Result],
) -> Result | None:
    """The controls and the state of a measurement; its result once there is one.

    The last result stays while a new one is made, and through reloads: its id is in the page's
    address.

    Args:
        hub: whose queue it waits in.
        name: of what is measured, and of the address's parameter.
        choose: draws what can be chosen, and gives the choice.
        work: measures, given the model, the choice and the report to call after every step.
    """
    current = _remembered(hub, name)
    under_way = current is not None and not current.finished
    choice = choose()

    def start() -> None:
        running = _remembered(hub, name)
        if running is not None and not running.finished:
            return  # a second press of the same button comes too late
        try:
            begun = hub.measure(name, lambda model, report: work(model, choice, report))
        except UserError as error:
            st.session_state[f"{name}.refusal"] = str(error)
            return
        st.query_params[name] = begun.id

    st.button(
        _("Measure"),
        type="primary",
        icon=":material/timer:",
        on_click=start,
        disabled=under_way,
        key=f"{name}.start",
    )
    if refusal := st.session_state.pop(f"{name}.refusal", None):
        st.error(refusal)
    if current is not None:
        if under_way:
            _progress(current)
        elif current.error:
            st.warning(current.error)
        if current.finished and current.result is not None:
            st.session_state[f"{name}.result"] = current.result
    result: Result | None = st.session_state.get(f"{name}.result")
    return result


def _remembered(hub: Hub, name: str) -> Measurement[Any] | None:
    id = st.query_params.get(name) or st.session_state.get(f"{name}.id")
    if id is None:
        return None
    found = hub.measurement(id)
    if found is None or found.name != name:
        st.session_state.pop(f"{name}.id", None)
        st.query_params.pop(name, None)
        if f"{name}.result" not in st.session_state:
            st.session_state[f"{name}.refusal"] = _(
                "This measurement is not here: the server was restarted, or the link is "
                "incomplete. Measure again."
            )
        return None
    st.session_state[f"{name}.id"] = id
    st.query_params[name] = id
    return found


@st.fragment(run_every=_POLL_SECONDS)
def _progress(measurement: Measurement[Any]) -> None:
    """Draws how far it is, and the whole page again once it has ended."""
    measurement.look()
    if measurement.finished:
        st.rerun()
    done, total, left = measurement.progress
    if measurement.status.state == "queued":
        text = _("Waiting for the device, place {place} in the queue").format(
            place=measurement.status.position
        )
    elif left is None:
        text = _("Loading the model…")
    else:
        text = _("Measuring: about {seconds} s left").format(seconds=max(1, round(left)))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(done / total if total else 0.0, text=text)
        st.button(
            _("Cancel"),
            icon=":material/close:",
            on_click=measurement.stop,
            key=f"cancel.{measurement.id}",
        )
