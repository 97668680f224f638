"""The little that the theme in `.streamlit/config.toml` cannot say."""

from __future__ import annotations

import json
from pathlib import Path

import streamlit as st

from specviz.ui.texts import _

TEXT_WIDTH = 760
"""Pixels: about eighty letters a line."""

_SHEET = (Path(__file__).with_name("page.css")).read_text("utf-8")


def use_style() -> None:
    """Apply the style sheet to every page."""
    st.html(f"<style>:root {{ --settings-label: {json.dumps(_('Menu'))}; }}\n{_SHEET}</style>")
