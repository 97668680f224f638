"""The pages' looks and reach: themes, narrow screens, axe, headers."""

from __future__ import annotations

import urllib.request

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.app.conftest import LONG, OpenApp, RunningApp, drawn, phase, ready, start

pytestmark = pytest.mark.browser

Findings = list[tuple[str, str, list[tuple[str, str]]]]
"""Each rule that axe found broken, its help, and the elements with the reason."""


def serious(page: Page) -> Findings:
    drawn(page)
    expect(page.locator("[data-stale=true]")).to_have_count(0, timeout=LONG)
    page.add_style_tag(
        content="* { transition: none !important; animation: none !important }"
    )  # no colour in between
    found = _findings(page)
    if found:  # A page that is still being drawn is looked at once more.
        page.wait_for_timeout(2_000)
        found = _findings(page)
    return found


def _findings(page: Page) -> Findings:
    violations = Axe().run(page).response["violations"]
    return [
        (
            found["id"],
            found["help"],
            [(node["html"][:200], node["failureSummary"]) for node in found["nodes"][:4]],
        )
        for found in violations
        if found["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_serious(
    app: RunningApp, open_app: OpenApp, theme: str, width: int
) -> None:
    page = open_app(app, theme=theme, width=width)
    assert serious(page) == []
    start(page)
    phase(page, "finished")
    expect(page.get_by_role("button", name="Save the trace")).to_be_visible(timeout=LONG)
    ready(page)
    assert serious(page) == []
    if (theme, width) in {("light", 1280), ("dark", 390)}:
        for path in ("/compare", "/replay", "/proof", "/cost", "/tune", "/load"):
            page = open_app(app, path, theme=theme, width=width)
            assert serious(page) == [], path


@pytest.mark.parametrize("path", ["/", "/replay", "/proof", "/cost"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_sticks_out_sideways(
    app: RunningApp, open_app: OpenApp, width: int, path: str
) -> None:
    page = open_app(app, path, width=width)
    if path == "/":
        start(page)
        phase(page, "finished")
    wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth")
    assert wide <= 0


def test_the_settings_are_in_reach_on_a_narrow_screen(app: RunningApp, open_app: OpenApp) -> None:
    page = open_app(app, width=390)
    expect(page.get_by_text("hybrid, γ = 4 · greedy · up to 128 tokens")).to_be_visible()
    page.locator("[data-testid=stExpandSidebarButton]").click()
    expect(page.get_by_role("spinbutton", name="Length, in tokens")).to_be_visible(timeout=LONG)


def test_the_keyboard_reaches_start_and_starts(app: RunningApp, open_app: OpenApp) -> None:
    page = open_app(app)
    page.get_by_role("textbox", name="Prompt", exact=True).focus()
    for _ in range(4):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").strip().endswith("Start"):
            break
    page.keyboard.press("Enter")
    expect(page.locator(".specviz")).to_be_visible(timeout=LONG)


def test_pages_and_api_have_the_security_headers(app: RunningApp) -> None:
    for path in ("/", "/replay", "/healthz", "/api/assets/plotly.min.js"):
        with urllib.request.urlopen(app.url + path) as answer:
            assert "frame-ancestors 'self'" in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Referrer-Policy"] == "no-referrer"
