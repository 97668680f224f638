"""The app as a person starts it, with the default model."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from specviz.runtime import embedded
from tests.browser.app.conftest import (
    LONG,
    OpenApp,
    RunningApp,
    choose,
    kept_text,
    phase,
    ready,
    start,
)

pytestmark = [pytest.mark.browser, pytest.mark.model]

MINUTES = 5 * 60_000


@pytest.fixture(scope="module")
def real_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    assert embedded.is_fetched(), "The default model is missing: python -m specviz fetch"
    command = ["-m", "streamlit", "run", "app.py", "--server.port", "{port}"]
    running = RunningApp([sys.executable, *command], tmp_path_factory.mktemp("real"))
    running.start()
    yield running
    running.kill()
    assert "Traceback" not in running.log.read_text()


@pytest.mark.parametrize("drafter", ["Hybrid", "Early exit"])
def test_a_real_model_answers_before_the_eyes(
    real_app: RunningApp, open_app: OpenApp, drafter: str
) -> None:
    page = open_app(real_app)
    choose(page, "Who guesses", drafter)
    start(page, tokens=24)
    tokens = page.locator("[data-lane=speculative] .token")
    expect(tokens.nth(3)).to_be_visible(timeout=MINUTES)
    expect(page.locator(".specviz[data-phase=finished]")).to_be_visible(timeout=MINUTES)
    ready(page)
    assert len(kept_text(page)) > 20
    assert len(kept_text(page, "plain")) > 20
    expect(page.locator(".agreement")).to_be_visible(timeout=LONG)


def test_stop_ends_a_real_run(real_app: RunningApp, open_app: OpenApp) -> None:
    page = open_app(real_app)
    start(page, tokens=1000)
    expect(page.locator("[data-lane=speculative] .token").nth(2)).to_be_visible(timeout=MINUTES)
    page.locator(".specviz .button.stop").click()
    phase(page, "finished")
    ready(page)


def test_a_model_that_is_not_there_is_one_sentence(real_app: RunningApp, open_app: OpenApp) -> None:
    page = open_app(real_app)
    page.get_by_text("Model and more").click()
    field = page.get_by_role("textbox", name="Model", exact=True)
    field.fill("/no/such/folder")
    field.press("Enter")
    start(page, tokens=24)
    phase(page, "failed")
    expect(page.locator(".specviz .notice")).to_contain_text("/no/such/folder", timeout=LONG)
    ready(page)
