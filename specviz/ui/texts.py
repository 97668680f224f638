"""Every text that a person reads, in their language where there is a catalogue for it.

English stands in the source; a language is one folder under `locales`, made with Babel.
"""

from __future__ import annotations

import gettext
from functools import cache
from pathlib import Path

import streamlit as st

LOCALES = Path(__file__).parent / "locales"
_DOMAIN = "specviz"


def _(message: str) -> str:
    """The message in the reader's language, or as it stands."""
    return _catalogue(_language()).gettext(message)


def _language() -> str:
    """The browser's language, as in `fr` or `fr-CA`; English without a browser."""
    return st.context.locale or "en"


@cache
def _catalogue(language: str) -> gettext.NullTranslations:
    languages = [language.replace("-", "_"), language.partition("-")[0]]
    return gettext.translation(_DOMAIN, LOCALES, languages, fallback=True)
