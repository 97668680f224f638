"""The jobs that the Compare page shows, one a drafter: its address names them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from specviz.errors import UserError
from specviz.server.hub import Hub, UnknownJobError
from specviz.server.job import Job
from specviz.ui import controls
from specviz.ui.texts import _

_PARAMETER = "jobs"
_KEPT = "comparison.jobs"
_REFUSAL = "comparison.refusal"
_BETWEEN = "."


def current_jobs(hub: Hub) -> list[Job]:
    """Those of the page's address, or else those that this session compared last.

    Those that were opened by their address bring their settings into the controls.
    """
    kept = st.session_state.get(_KEPT, "")
    asked = st.query_params.get(_PARAMETER) or kept
    jobs = []
    for id in dict.fromkeys(filter(None, asked.split(_BETWEEN))):
        try:
            jobs.append(hub.get(id))
        except UnknownJobError as error:
            st.warning(str(error))
            break
    if jobs and asked != kept:
        controls.adopt_comparison([job.request for job in jobs])
    _remember(jobs)
    return jobs


def buttons(hub: Hub, jobs: Sequence[Job], *, disabled: bool) -> None:
    """Compare, and while it goes on Stop; and why the last press started nothing."""
    under_way = any(not job.finished for job in jobs)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            _("Compare"),
            type="primary",
            icon=":material/play_arrow:",
            on_click=_start,
            args=(hub,),
            disabled=disabled or under_way,
            key="comparison.start",
        )
        if under_way:
            st.button(
                _("Stop"),
                icon=":material/stop:",
                on_click=_stop,
                args=(hub, jobs),
                key="comparison.stop",
            )
        st.caption(controls.comparison_summary())
    if message := st.session_state.pop(_REFUSAL, None):
        st.error(message)


def _start(hub: Hub) -> None:
    """Put a job for each drafter in the queue; all of them, or none.

    A second press of the same button comes too late.
    """
    jobs: list[Job] = []
    try:
        if any(not job.finished for job in current_jobs(hub)):
            return
        for request in controls.compared():
            jobs.append(hub.submit(request))  # noqa: PERF401 - what was begun must be known
    except UserError as error:
        _stop(hub, jobs)
        st.session_state[_REFUSAL] = str(error)
        return
    _remember(jobs)


def _stop(hub: Hub, jobs: Sequence[Job]) -> None:
    for job in jobs:
        hub.stop(job.id)


def _remember(jobs: Sequence[Job]) -> None:
    if jobs:
        st.session_state[_KEPT] = st.query_params[_PARAMETER] = _BETWEEN.join(
            job.id for job in jobs
        )
    else:
        st.session_state.pop(_KEPT, None)
        st.query_params.pop(_PARAMETER, None)
