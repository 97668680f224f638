"""The Cost page in a browser: it measures to the end, cancels, keeps and saves."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app.conftest import LONG, OpenApp, RunningApp
from tests.browser.app.measuring import CHARTS, finished, measure, saved_lines

pytestmark = pytest.mark.browser


@pytest.fixture
def page(app: RunningApp, open_app: OpenApp) -> Page:
    return open_app(app, "/cost")


def test_it_measures_to_the_end_and_a_reload_keeps_it(page: Page) -> None:
    expect(page.locator(CHARTS)).to_have_count(0)
    measure(page)
    expect(page.get_by_text(re.compile("Measuring: about .* s left"))).to_be_visible(timeout=LONG)
    finished(page, charts=4)
    page.reload()
    expect(page.locator(CHARTS)).to_have_count(4, timeout=LONG)
    lines = saved_lines(page)
    assert lines[0] == "what,seconds,low,high,relative"
    assert len(lines) == 1 + 9 + 2


def test_cancel_keeps_what_was_measured(page: Page) -> None:
    measure(page)
    finished(page, charts=4)
    measure(page)
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("It was cancelled")).to_be_visible(timeout=LONG)
    expect(page.locator(CHARTS)).to_have_count(4)
    expect(page.get_by_role("button", name="Measure", exact=True)).to_be_enabled(timeout=LONG)
