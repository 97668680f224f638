"""The Tune page: which drafter and which γ to take, measured on one's own prompts."""

import streamlit as st

from specviz.server import shared
from specviz.ui import tune_view
from specviz.ui.measuring import measured
from specviz.ui.style import TEXT_WIDTH
from specviz.ui.texts import _

st.title(_("What to take"))
st.markdown(
    _(
        "How much speculation gains depends on the text, on the machine, and on two choices: who "
        "guesses, and how many tokens at a time. Here every pair of choices runs the same "
        "prompts, in turns with plain decoding, and the fastest is recommended, with the reason. "
        "**Try this:** measure a prompt that repeats itself, then one that tells a story, and see "
        "the recommendation change."
    ),
    width=TEXT_WIDTH,
)
hub = shared.hub()
result = measured(hub, "tune", lambda: tune_view.workload(hub.limits), tune_view.measure)
if result is not None:
    tune_view.show(result)
