"""The script that Streamlit runs: it keeps the controls' values and opens the page asked for."""

from pathlib import Path

import streamlit as st

from specviz.ui import controls
from specviz.ui.style import use_style
from specviz.ui.texts import _

PAGES = Path(__file__).parents[2] / "pages"
ICON = Path(__file__).with_name("icon.svg")

st.set_page_config(page_title="specviz", page_icon=str(ICON), layout="wide")
use_style()
controls.keep()
page = st.navigation(
    [
        st.Page(PAGES / "live.py", title=_("Live"), icon=":material/play_circle:", default=True),
        st.Page(PAGES / "compare.py", title=_("Compare"), icon=":material/view_column:"),
        st.Page(PAGES / "proof.py", title=_("Proof"), icon=":material/verified:"),
        st.Page(PAGES / "cost.py", title=_("Cost"), icon=":material/speed:"),
        st.Page(PAGES / "tune.py", title=_("Tune"), icon=":material/tune:"),
        st.Page(PAGES / "load.py", title=_("Load"), icon=":material/groups:"),
        st.Page(PAGES / "replay.py", title=_("Replay"), icon=":material/history:"),
    ],
    position="top",
)
page.run()
