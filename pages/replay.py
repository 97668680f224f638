"""The Replay page: a recorded run in the same instrument, without a model."""

import streamlit as st

from specviz.errors import UserError
from specviz.server import shared
from specviz.ui.opened_trace import opened_trace
from specviz.ui.stream_texts import stream_texts
from specviz.ui.style import TEXT_WIDTH
from specviz.ui.texts import _
from specviz.ui.token_stream import token_stream
from specviz.ui.whatif_view import what_if

hub = shared.hub()

st.title(_("Replay a run"))
st.markdown(
    _(
        "A trace holds everything that happened in a run: each guess, each throw of the dice, "
        "each millisecond. Open one that you saved on the Live page or with "
        "`python -m specviz run --trace FILE`, and go through it at your own pace. No model is "
        "needed."
    ),
    width=TEXT_WIDTH,
)
file = st.file_uploader(
    _("Trace"),
    type="jsonl",
    max_upload_size=hub.limits.max_trace_megabytes,
    help=_("A file of JSON Lines, one event a line, whose name ends in .jsonl."),
)
if file is not None:
    try:
        with st.spinner(_("Reading the trace…")):
            job = opened_trace(hub, file)
    except UserError as error:
        st.error(str(error))
    else:
        token_stream(job.id, texts=stream_texts(), key=f"replay.{job.id}")
        what_if(job)
