"""The trace that a session has opened: read once, kept while it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from specviz.server.hub import Hub, UnknownJobError
from specviz.server.job import Job

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

_KEPT = "opened trace"


def opened_trace(hub: Hub, file: UploadedFile) -> Job:
    """The finished job that an uploaded trace has become.

    Raises:
        UserError: if the file is not a trace that can be opened.
    """
    file_id, job_id = st.session_state.get(_KEPT, (None, None))
    if file_id == file.file_id:
        try:
            return hub.get(job_id)
        except UnknownJobError:
            pass  # it was too long ago: read it again
    job = hub.open_trace(file.getvalue())
    st.session_state[_KEPT] = (file.file_id, job.id)
    return job
