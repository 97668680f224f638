"""The component as Streamlit mounts it: one line a job, through reruns and changes of theme."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.browser

RELEASED = 12
SHOWN = 12
"""The tokens of the speculative lane that are in the messages released first."""
ALL = 10_000


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    app = Path(__file__).with_name("streamlit_app.py")
    command = [sys.executable, "-m", "streamlit", "run", str(app)]
    process = subprocess.Popen(
        [*command, "--server.port", str(port), "--server.headless", "true"],
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        stdout=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{address}/_stcore/health")
        yield address
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(address: str) -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(address, timeout=2) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(address)


@pytest.fixture
def release(url: str) -> Callable[[int], dict[str, Any]]:
    def ask(count: int) -> dict[str, Any]:
        with urllib.request.urlopen(f"{url}/release/{count}", timeout=5) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    return ask


@pytest.fixture
def page(browser: Browser, url: str, release: Callable[[int], object]) -> Iterator[Page]:
    release(RELEASED)
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page.goto(url)
    expect(page.locator(".stream .token").first).to_be_visible(timeout=60_000)
    expect(page.locator(".position")).to_contain_text(f"token {SHOWN}")
    yield page
    page.close()


def test_reruns_and_a_change_of_theme_keep_the_same_instrument(
    page: Page, release: Callable[[int], dict[str, Any]]
) -> None:
    """24: a setting changed in mid-run mixes no runs: nothing is drawn or asked for twice."""
    lines = len(release(RELEASED)["connections"])
    tokens = page.locator(".stream .token").count()
    page.locator(".stream .token").first.evaluate("node => { node.isTheSame = true; }")
    for run in (2, 3):
        page.get_by_role("button", name="Run the script again").click()
        expect(page.get_by_text(f"Script runs: {run}")).to_be_visible()
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".specviz")).to_have_attribute("data-theme", "dark")
    expect(page.locator(".stream .token")).to_have_count(tokens)
    assert page.locator(".stream .token").first.evaluate("node => node.isTheSame")
    assert len(release(RELEASED)["connections"]) == lines


def test_python_hears_of_the_end_and_the_picture_stays(
    page: Page, release: Callable[[int], object]
) -> None:
    expect(page.get_by_text("Finished: False")).to_be_visible()
    release(ALL)
    expect(page.get_by_text("Finished: True")).to_be_visible()
    expect(page.locator(".specviz")).to_have_attribute("data-phase", "finished")
    expect(page.locator(".status-text")).to_have_text("Finished: the length asked for was reached")
    page.wait_for_selector("[data-chart=conditional]:not([hidden]) .main-svg")


def test_leaving_the_page_closes_the_line_and_coming_back_shows_it_all(
    page: Page, release: Callable[[int], dict[str, Any]]
) -> None:
    """24: a page left and re-entered."""
    before = page.locator(".stream .token").count()
    assert release(RELEASED)["open"] == 1
    page.get_by_text("Show the stream").click()
    expect(page.locator(".specviz")).to_have_count(0)
    page.wait_for_timeout(500)
    assert release(RELEASED)["open"] == 0
    page.get_by_text("Show the stream").click()
    expect(page.locator(".stream .token")).to_have_count(before)


def test_the_component_takes_its_colours_from_the_theme(page: Page) -> None:
    ground = "getComputedStyle(node).backgroundColor"
    light = page.locator(".specviz").evaluate(f"node => {ground}")
    assert light == page.locator(".stApp").evaluate(f"node => {ground}")
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".specviz")).to_have_attribute("data-theme", "dark")
    dark = page.locator(".specviz").evaluate(f"node => {ground}")
    assert dark == page.locator(".stApp").evaluate(f"node => {ground}")
    assert dark != light
