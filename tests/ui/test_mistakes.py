"""Errors of a page itself: one sentence, no traceback."""

from __future__ import annotations

import logging

import pytest
from streamlit.testing.v1 import AppTest


def fails(kind: str) -> None:
    from specviz.errors import UserError
    from specviz.ui.mistakes import show_mistake

    error = UserError("The disk is full: free some.") if kind == "user" else KeyError("secret")
    assert show_mistake(error)


@pytest.mark.parametrize(
    ("kind", "said"), [("user", "The disk is full: free some."), ("other", "error of its own")]
)
def test_a_mistake_is_one_sentence(kind: str, said: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="specviz.ui.mistakes"):
        app = AppTest.from_function(fails, kwargs={"kind": kind}).run()
    assert not app.exception
    assert said in app.error[0].value
    assert "secret" not in app.error[0].value
    assert ("secret" in caplog.text) is (kind == "other")
