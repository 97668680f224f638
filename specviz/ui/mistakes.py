"""When something goes wrong on a page: one sentence, never a traceback."""

from __future__ import annotations

import logging

import streamlit as st

from specviz.errors import UserError
from specviz.ui.texts import _

_logger = logging.getLogger(__name__)


def show_mistake(error: Exception) -> bool:
    """Show what a script could not handle, and log it; True, for it has been shown."""
    if isinstance(error, UserError):
        st.error(str(error))
        return True
    _logger.error("A page failed.", exc_info=error)
    st.error(
        _(
            "This page met an error of its own. Reload it; what was made before is kept, and the "
            "server’s log says more."
        )
    )
    return True
