"""The Live page: a prompt, a drafter, Start, and the decoding as it happens."""

import streamlit as st

from specviz.server import shared
from specviz.ui import controls
from specviz.ui.current_job import (
    current_job,
    saved_traces,
    settings_have_changed,
    show_refusal,
    start_button,
)
from specviz.ui.model_notice import default_model_is_there
from specviz.ui.stream_texts import stream_texts
from specviz.ui.style import TEXT_WIDTH
from specviz.ui.texts import _
from specviz.ui.token_stream import token_stream

hub = shared.hub()
job = current_job(hub)

about = _(
    "A language model writes one token, a short piece of text, with each pass over all of its "
    "weights. Here a quick *drafter* guesses the next few tokens and the model checks them all in "
    "one pass: what it agrees with is kept, and where it does not, its own word stands. Press "
    "**Start**, watch which guesses survive, then try *Tell a story* and see them fail."
)
st.title(_("Speculative decoding, live"), help=about if job is not None else None)
if job is None:
    st.markdown(about, width=TEXT_WIDTH)

with st.sidebar:
    controls.settings_controls(hub.limits)

ready = default_model_is_there(shared.default_model()) or controls.names_another_model()
controls.prompt_controls(hub.limits)

under_way = job is not None and not job.finished
with st.container(horizontal=True, vertical_alignment="center"):
    start_button(hub, disabled=under_way or not ready)
    st.caption(controls.summary())
show_refusal()

if job is not None:
    if under_way and settings_have_changed(job):
        st.info(_("What you changed applies to the next run; this one goes on as it began."))
    token_stream(job.id, texts=stream_texts(), key=f"stream.{job.id}")
    if job.finished:
        saved_traces(job)
