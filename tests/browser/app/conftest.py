"""The app as a process of its own, with pages on it that must not complain."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

ROOT = Path(__file__).parents[3]
LONG = 60_000
"""Milliseconds: this machine may be busy."""

OpenApp = Callable[..., Page]


class RunningApp:
    """A server that can be killed and started again on the same port."""

    def __init__(self, command: list[str], folder: Path, **environment: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._command = [part.format(port=self.port) for part in command]
        self._environment = {**os.environ, "SPECVIZ_RUNS_DIR": str(folder / "runs"), **environment}
        self._log = (folder / "server.log").open("ab")
        self._process: subprocess.Popen[bytes] | None = None
        self.log = folder / "server.log"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, timeout: float = 120.0) -> None:
        """Start, and wait until it answers."""
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, env=self._environment, stdout=self._log, stderr=self._log
        )
        deadline = time.monotonic() + timeout
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/healthz", timeout=1) as answer:
                    assert b'"ok"' in answer.read()
                    return
            except OSError:
                assert self._process.poll() is None, self.log.read_text()
                assert time.monotonic() < deadline, self.log.read_text()
                time.sleep(0.1)

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """The app over the synthetic engine."""
    running = RunningApp(
        [sys.executable, "-m", "tests.browser.app.fake_engine", "{port}"],
        tmp_path_factory.mktemp("app"),
        SPECVIZ_VIEWER_GRACE_SECONDS="8",
    )
    running.start()
    yield running
    running.kill()
    assert "Traceback" not in running.log.read_text()


@pytest.fixture
def open_app(browser: Browser) -> Iterator[OpenApp]:
    """Opens the app in a fresh browser profile; `beside` opens another tab of the same one.

    By the end no page may have logged an error, nor asked another server for anything.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_page(
        app: RunningApp,
        path: str = "/",
        *,
        beside: Page | None = None,
        theme: str = "light",
        width: int = 1280,
        complain: bool = True,
    ) -> Page:
        context = beside.context if beside else None
        if context is None:
            context = browser.new_context(
                viewport={"width": width, "height": 900},
                color_scheme="dark" if theme == "dark" else "light",
            )
            contexts.append(context)
        page = context.new_page()
        if complain:
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on(
                "console",
                lambda message: complaints.append(message.text) if is_ours(message) else None,
            )
        page.on(
            "request",
            lambda request: (
                complaints.append(request.url)
                if urlsplit(request.url).hostname not in {"127.0.0.1", "", None}
                else None
            ),
        )
        page.goto(f"{app.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=LONG)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def is_ours(message: ConsoleMessage) -> bool:
    """Whether a message is an error, and not Streamlit's search for its own base path."""
    search = re.search(r"/\w+/_stcore/", message.location["url"])
    return message.type == "error" and not search


def start(page: Page, *, tokens: int | None = None) -> None:
    """Press Start, with a length if one is given, and see the instrument."""
    if tokens is not None:
        length = page.get_by_role("spinbutton", name="Length, in tokens")
        length.fill(str(tokens))
        length.press("Enter")
        expect(page.get_by_text(f"up to {tokens} tokens")).to_be_visible(timeout=LONG)
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator(".specviz")).to_be_visible(timeout=LONG)


def drawn(page: Page) -> None:
    """Wait until the page's script has run."""
    page.wait_for_selector("[data-test-script-state=notRunning]", timeout=LONG)


def choose(page: Page, box: str, option: str) -> None:
    """Open a list of choices and take one.

    A click that the browser counted for a page that was drawn anew under it is lost: the arrow
    key opens the list then, and leaves an open one open.
    """
    drawn(page)
    page.get_by_role("combobox", name=box).click()
    choice = page.get_by_role("option", name=option)
    with contextlib.suppress(PlaywrightTimeoutError):
        choice.wait_for(timeout=5_000)
    if not choice.is_visible():
        page.get_by_role("combobox", name=box).press("ArrowDown")
    choice.click()


def phase(page: Page, name: str) -> None:
    """Wait for a state of the instrument; a finished run is shown to its end."""
    expect(page.locator(f".specviz[data-phase={name}]")).to_be_visible(timeout=LONG)
    if name == "finished":
        playing = page.locator(".specviz [data-playing]")
        expect(playing).to_have_attribute("data-playing", "false", timeout=LONG)


def ready(page: Page) -> None:
    """Wait until Start can be pressed again."""
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_enabled(timeout=LONG)


def job_of(page: Page) -> str:
    """The id of the job in the page's address."""
    page.wait_for_url("**job=*", timeout=LONG)
    return urlsplit(page.url).query.partition("job=")[2]


def kept_text(page: Page, lane: str = "speculative") -> str:
    """The text that a lane shows, without what was struck out."""
    return "".join(
        page.locator(
            f"[data-lane={lane}] .token:not([data-kind=rejected], [data-kind=discarded])"
        ).all_text_contents()
    )
