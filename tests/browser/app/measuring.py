"""What the browser tests of the measuring pages share."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.app.conftest import LONG

CHARTS = "[data-testid=stPlotlyChart]"


def measure(page: Page) -> None:
    """Press Measure, and see that it is under way."""
    page.get_by_role("button", name="Measure", exact=True).click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible(timeout=LONG)


def finished(page: Page, charts: int) -> None:
    """Wait for the end, with so many charts."""
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0, timeout=LONG)
    expect(page.locator(CHARTS)).to_have_count(charts, timeout=LONG)


def saved_lines(page: Page) -> list[str]:
    """The lines of the table that the page saves."""
    with page.expect_download() as saving:
        page.get_by_role("button", name=re.compile("Save as CSV")).click()
    return saving.value.path().read_text().splitlines()
