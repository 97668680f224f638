"""The Compare page: drafters side by side on one prompt."""

import streamlit as st

from specviz.server import shared
from specviz.ui import comparison, comparison_view, controls
from specviz.ui.model_notice import default_model_is_there
from specviz.ui.style import TEXT_WIDTH
from specviz.ui.texts import _

hub = shared.hub()
jobs = comparison.current_jobs(hub)

st.title(_("Which drafter?"))
st.markdown(
    _(
        "The drafter that guesses best is seldom the one to take: what counts is to guess well "
        "enough for cheap. Here each drafter answers the same prompt, one after the other, in a "
        "race of its own against plain decoding. **Try this:** compare *small-4* with *mtp*. The "
        "one with more layers may guess better; see in the last chart which of them is faster."
    ),
    width=TEXT_WIDTH,
)
with st.sidebar:
    controls.comparison_controls(hub.limits)

ready = default_model_is_there(shared.default_model()) or controls.names_another_model()
controls.prompt_controls(hub.limits)
comparison.buttons(hub, jobs, disabled=not ready)
if jobs:
    comparison_view.streams(jobs)
    comparison_view.results(jobs)
