"""The pages, run without a browser, over a hub whose engine needs no model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from specviz.server import shared
from specviz.server.default_model import DefaultModel
from specviz.server.hub import Hub
from tests.server.fakes import FakeEngine, make_hub

SCRIPT = Path(__file__).parents[2] / "specviz" / "ui" / "navigation.py"
Open = Callable[..., AppTest]


@pytest.fixture
def engine() -> FakeEngine:
    """An engine that holds its first pass until it is told to go on."""
    return FakeEngine(open_gate=False)


@pytest.fixture
def limits() -> dict[str, object]:
    """What the host has set; a test may override this fixture."""
    return {}


@pytest.fixture
def hub(engine: FakeEngine, limits: dict[str, object], tmp_path: Path) -> Iterator[Hub]:
    made = make_hub(engine, tmp_path / "runs", **{"max_new_tokens": 2048, **limits})
    shared.use(made, DefaultModel(is_fetched=lambda: True))
    yield made
    engine.open()
    made.close()
    shared.use()


@pytest.fixture
def open_app(hub: Hub) -> Open:
    """A new session of the app, as a browser tab has one; `query` is its address."""

    def open_session(**query: str) -> AppTest:
        session = AppTest.from_file(SCRIPT, default_timeout=30)
        for name, value in query.items():
            session.query_params[name] = value
        return session.run()

    return open_session


def start_button(app: AppTest) -> Button:
    return next(button for button in app.button if button.label == "Start")
