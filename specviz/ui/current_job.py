"""The job that a page shows: in its address, so that a reload or a link opens it again."""

from __future__ import annotations

from functools import partial

import streamlit as st

from specviz.errors import UserError
from specviz.server.hub import Hub, UnknownJobError
from specviz.server.job import Job, Lane
from specviz.ui import controls
from specviz.ui.texts import _

_PARAMETER = "job"
_KEPT = "current job"
_REFUSAL = "refusal"
_PRESSES = "presses of start"


def current_job(hub: Hub) -> Job | None:
    """The job of the page's address, or else the one that this session looked at last.

    One that was opened by its address brings its settings into the controls.
    """
    asked = st.query_params.get(_PARAMETER)
    kept = st.session_state.get(_KEPT)
    job_id = asked or kept
    if job_id is None:
        return None
    try:
        job = hub.get(job_id)
    except UnknownJobError as error:
        st.session_state.pop(_KEPT, None)
        st.query_params.pop(_PARAMETER, None)
        st.warning(str(error))
        return None
    if job_id != kept:
        controls.adopt(job.request)
        st.session_state[_KEPT] = job_id
    if job_id != asked:
        st.query_params[_PARAMETER] = job_id
    return job


def start_button(hub: Hub, *, disabled: bool) -> None:
    """Start, which works once: a second press of the same button comes too late."""
    presses = st.session_state.get(_PRESSES, 0)
    st.button(
        _("Start"),
        type="primary",
        icon=":material/play_arrow:",
        on_click=_start,
        args=(hub,),
        disabled=disabled,
        key=f"start.{presses}",
    )


def _start(hub: Hub) -> None:
    """Start what the controls ask for, unless a job of this page is still under way."""
    st.session_state[_PRESSES] = st.session_state.get(_PRESSES, 0) + 1
    st.session_state.pop(_REFUSAL, None)
    try:
        if _under_way(hub):
            return
        job = hub.submit(controls.chosen())
    except UserError as error:
        st.session_state[_REFUSAL] = str(error)
        return
    st.session_state[_KEPT] = job.id
    st.query_params[_PARAMETER] = job.id


def show_refusal() -> None:
    """Say why the last press of Start started nothing."""
    if message := st.session_state.pop(_REFUSAL, None):
        st.error(message)


def settings_have_changed(job: Job) -> bool:
    """Whether the controls ask for something else than this job does."""
    try:
        return controls.chosen() != job.request
    except UserError:
        return True


def _under_way(hub: Hub) -> bool:
    job_id = st.session_state.get(_KEPT)
    try:
        return job_id is not None and not hub.get(job_id).finished
    except UnknownJobError:
        return False


def saved_traces(job: Job) -> None:
    """Offer the traces of a finished job, one a lane."""
    names = {"speculative": _("Save the trace"), "plain": _("Save the plain trace")}
    with st.container(horizontal=True):
        for lane in job.request.lanes:
            st.download_button(
                names[lane],
                partial(_trace, job, lane),
                file_name=f"specviz-{lane}.jsonl",
                mime="application/x-ndjson",
                icon=":material/download:",
                on_click="ignore",
                key=f"trace.{job.id}.{lane}",
                help=_("Everything that happened in this run, to replay or to examine later."),
            )


def _trace(job: Job, lane: Lane) -> str:
    return "".join(f"{event}\n" for event in job.lane_events(lane))
