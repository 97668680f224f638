"""How a page shows a finished figure, and offers the numbers behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from specviz.ui.texts import _

if TYPE_CHECKING:
    from specviz.machine import Machine


_INK = "#535a6b"
"""Of captions on light: Streamlit's own for axes is too pale there to be read with ease."""


def show_figure(figure: go.Figure, *, key: str) -> None:
    if st.context.theme.type != "dark":
        for axes in (figure.update_xaxes, figure.update_yaxes):
            axes(tickfont={"color": _INK}, title={"font": {"color": _INK}})
    st.plotly_chart(figure, key=key, config={"displayModeBar": False})


def show_machine(machine: Machine, *more: str) -> None:
    """On what the figures below were measured, and what else there is to say of them."""
    where = _("{target} in {dtype} on {device}, {threads} threads").format(
        target=machine.target,
        dtype=machine.dtype,
        device=machine.device_name,
        threads=machine.threads,
    )
    st.caption(" · ".join([where, *more]))


def save_as_csv(table: pd.DataFrame, file_name: str) -> None:
    """A button that saves a table."""
    st.download_button(
        _("Save as CSV"),
        lambda: str(table.to_csv(index=False)),
        file_name=file_name,
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
    )
