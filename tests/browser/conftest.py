"""Chromium, a synthetic server, and pages that must not complain."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.synthetic import Message, SyntheticJob, SyntheticServer, serving

OpenRun = Callable[..., Page]

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def chromium() -> str:
    """The browser's executable, or a clear failure."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
    assert os.path.exists(found), f"No Chromium at {found}: install it or set CHROMIUM."
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def server() -> Iterator[SyntheticServer]:
    with serving() as synthetic:
        yield synthetic


@pytest.fixture
def open_run(browser: Browser, server: SyntheticServer) -> Iterator[OpenRun]:
    """Opens a page on a job; no such page may have logged an error by the end of the test."""
    pages: list[Page] = []
    complaints: list[str] = []

    def open_page(
        job: SyntheticJob | list[Message] | None,
        *,
        theme: str = "light",
        width: int = 1280,
        reduced_motion: bool = True,
    ) -> Page:
        """A list of messages is sent at once; None is a job that the server does not know."""
        name = f"job{len(pages)}"
        if isinstance(job, list):
            job = SyntheticJob(job, released=len(job))
        if job is not None:
            server.add(name, job)
        page = browser.new_page(
            viewport={"width": width, "height": 900},
            reduced_motion="reduce" if reduced_motion else "no-preference",
        )
        pages.append(page)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text)
                if message.type == "error" and "WebSocket connection" not in message.text
                else None
            ),
        )
        page.goto(f"{server.url}/?job={name}&theme={theme}")
        page.wait_for_selector("body[data-mounted]")
        return page

    yield open_page
    for page in pages:
        page.close()
    assert complaints == []


def finished(page: Page) -> Page:
    """The page once its run is over and all of it is shown."""
    page.wait_for_selector(".specviz[data-phase=finished] [data-playing=false]")
    return page


def texts(page: Page, selector: str) -> list[str]:
    """The texts of all elements, whether they can be seen or not."""
    return page.locator(selector).all_text_contents()


def drawn(page: Page) -> None:
    """Waits until what was asked for is drawn: the page draws once a frame."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
