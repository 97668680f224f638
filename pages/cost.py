"""The Cost page: why speculation can pay, measured on this machine."""

import streamlit as st

from specviz.server import shared
from specviz.ui import cost_view
from specviz.ui.measuring import measured
from specviz.ui.style import TEXT_WIDTH
from specviz.ui.texts import _

st.title(_("Why it can be faster"))
st.markdown(
    _(
        "To write one token, a model reads all of its weights from memory; the arithmetic is the "
        "smaller part. So checking several guessed tokens in one pass costs hardly more than "
        "writing one, as long as memory is what the pass waits for. How much more, and what a "
        "guess costs, decides what speculation can gain, and differs from machine to machine. "
        "**Try this:** measure, then find in the last chart how often guesses must be right to "
        "gain anything at all."
    ),
    width=TEXT_WIDTH,
)
costs = measured(shared.hub(), "cost", cost_view.drafters, cost_view.measure)
if costs is not None:
    cost_view.show(costs)
