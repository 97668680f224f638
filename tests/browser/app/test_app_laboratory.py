"""The Compare, Tune and Load pages in a browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.app.conftest import LONG, OpenApp, RunningApp
from tests.browser.app.measuring import CHARTS, finished, measure, saved_lines

pytestmark = pytest.mark.browser


def test_a_grid_runs_to_its_end_and_is_taken_along(app: RunningApp, open_app: OpenApp) -> None:
    page = open_app(app, "/tune")
    measure(page)
    finished(page, charts=2)
    expect(page.get_by_text("Take lookup with γ = 2")).to_be_visible()
    expect(page.get_by_text("prompt_lookup_num_tokens=2")).to_be_visible()
    lines = saved_lines(page)
    assert lines[0].startswith("drafter,gamma,temperature")
    assert len(lines) == 1 + 4


def test_a_cancelled_grid_keeps_what_was_measured(app: RunningApp, open_app: OpenApp) -> None:
    """What was there after a third of it, since nothing had been measured before."""
    page = open_app(app, "/tune")
    measure(page)
    a_third = re.compile(r"^(3[3-9]|[4-9]\d)$")
    expect(page.get_by_role("progressbar")).to_have_attribute(
        "aria-valuenow", a_third, timeout=LONG
    )
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("what was measured until then is kept")).to_be_visible(timeout=LONG)
    expect(page.locator(CHARTS)).to_have_count(2, timeout=LONG)


def test_a_server_under_load(app: RunningApp, open_app: OpenApp) -> None:
    page = open_app(app, "/load")
    measure(page)
    finished(page, charts=4)
    losing = "As simulated, slower than plain decoding: γ = 2, 4, 8 from 2 users on."
    expect(page.get_by_text(losing)).to_be_visible()
    assert saved_lines(page)[0] == "gamma,users,total,per_user"


def test_drafters_side_by_side(app: RunningApp, open_app: OpenApp) -> None:
    """Six races to their ends, on one page, with their numbers below."""
    page = open_app(app, "/compare")
    length = page.get_by_role("spinbutton", name="Length, in tokens")
    length.fill("30")
    length.press("Enter")
    expect(page.get_by_text("up to 30 tokens")).to_be_visible(timeout=LONG)
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator(".specviz[data-phase=finished]")).to_have_count(6, timeout=LONG)
    expect(page.locator(CHARTS)).to_have_count(1, timeout=LONG)
    expect(page.get_by_role("button", name="Compare", exact=True)).to_be_enabled(timeout=LONG)
    page.set_viewport_size({"width": 1280, "height": 2600})
    expect(page.locator("[data-lane=speculative] .token").first).to_be_visible()
    expect(page.locator("[data-lane=plain] .token").first).to_be_hidden()
    assert len(saved_lines(page)) == 1 + 6
