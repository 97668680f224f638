"""The first visit to a machine on which the model is not fetched yet."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from specviz.errors import UserError
from specviz.server import shared
from specviz.server.default_model import DefaultModel
from specviz.server.hub import Hub
from tests.server.fakes import until
from tests.ui.conftest import start_button

Open = Callable[..., AppTest]


class Fetching:
    """A download that moves when it is told to."""

    def __init__(self) -> None:
        self.calls = 0
        self.fetched = False
        self.error: UserError | None = None
        self.go = threading.Event()
        self.halfway = threading.Event()

    def fetch(self, progress: Callable[[int, int], None]) -> Path:
        self.calls += 1
        progress(50, 100)
        self.halfway.set()
        self.go.wait(10)
        if self.error is not None:
            raise self.error
        self.fetched = True
        return Path()


@pytest.fixture
def fetching(hub: Hub) -> Fetching:
    made = Fetching()
    model = DefaultModel(is_fetched=lambda: made.fetched, fetch=made.fetch)
    model.check()
    shared.use(hub, model)
    return made


def fetch_button(app: AppTest) -> object:
    return next(button for button in app.button if button.label == "Fetch the model")


def test_the_model_is_fetched_from_the_page(open_app: Open, fetching: Fetching) -> None:
    app = open_app()
    assert start_button(app).disabled
    fetch_button(app).click()  # type: ignore[attr-defined]
    app.run()
    assert fetching.halfway.wait(5)
    assert until(lambda: shared.default_model().state.fraction == 0.5)
    app.run()
    assert app.get("progress")[0].proto.value == 50
    fetching.go.set()
    assert until(lambda: shared.default_model().state.phase == "ready")
    app.run()
    assert not start_button(app).disabled
    assert not app.get("progress")


def test_two_visitors_fetch_once(open_app: Open, fetching: Fetching) -> None:
    first, second = open_app(), open_app()
    for app in (first, second):
        fetch_button(app).click()  # type: ignore[attr-defined]
        app.run()
    assert fetching.halfway.wait(5)
    fetching.go.set()
    assert until(lambda: shared.default_model().state.phase == "ready")
    assert fetching.calls == 1


def test_a_failure_is_told_and_can_be_tried_again(open_app: Open, fetching: Fetching) -> None:
    fetching.error = UserError("There is no network: connect and try again.")
    fetching.go.set()
    app = open_app()
    fetch_button(app).click()  # type: ignore[attr-defined]
    app.run()
    assert until(lambda: shared.default_model().state.phase == "failed")
    app.run()
    assert [error.value for error in app.error] == ["There is no network: connect and try again."]
    fetching.error = None
    fetch_button(app).click()  # type: ignore[attr-defined]
    app.run()
    assert until(lambda: shared.default_model().state.phase == "ready")
    assert fetching.calls == 2


def test_another_model_can_be_used_without_it(open_app: Open, fetching: Fetching) -> None:
    app = open_app()
    app.text_input(key="control.target").set_value("gpt2")
    app.run()
    assert not start_button(app).disabled


def test_fetching_elsewhere_is_noticed(open_app: Open, fetching: Fetching) -> None:
    """`python -m specviz fetch`, while the page is open."""
    app = open_app()
    assert start_button(app).disabled
    fetching.fetched = True
    app.run()
    assert not start_button(app).disabled
