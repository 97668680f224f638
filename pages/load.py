"""The Load page: what many users do to speculation."""

import streamlit as st

from specviz.server import shared
from specviz.ui import load_view
from specviz.ui.measuring import measured
from specviz.ui.style import TEXT_WIDTH
from specviz.ui.texts import _

st.title(_("With many users"))
st.markdown(
    _(
        "For one user, a pass waits for memory, and checking guesses fills idle arithmetic. A "
        "server with many users reads its weights once for all of them: the arithmetic is busy, "
        "and every guess that is refused is work that somebody waits for. Here passes for several "
        "users are measured, and a server’s queue is **simulated** from what they cost. **Try "
        "this:** find the number of users from which a long draft is slower than none."
    ),
    width=TEXT_WIDTH,
)
result = measured(shared.hub(), "load", load_view.drafter, load_view.measure)
if result is not None:
    load_view.show(result)
