"""axe, names, and what a screen reader is told."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenRun, finished
from tests.browser.synthetic import SyntheticJob, SyntheticRun, numbered, race

pytestmark = pytest.mark.browser

RUN = SyntheticRun(tokens=60)


def assert_no_serious_issue(page: Page) -> None:
    violations = Axe().run(page).response["violations"]
    serious = [
        (found["id"], found["help"], [node["html"][:160] for node in found["nodes"][:3]])
        for found in violations
        if found["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_serious(open_run: OpenRun, theme: str, width: int) -> None:
    page = finished(open_run(race(RUN), theme=theme, width=width))
    page.wait_for_selector("[data-chart=conditional]:not([hidden])")
    assert_no_serious_issue(page)
    page.locator("[data-action=help]").click()
    page.locator("[data-lane=speculative] .token[data-kind=rejected]").first.click()
    expect(page.locator(".dice")).to_be_visible()
    assert_no_serious_issue(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_before_during_and_after_trouble(
    open_run: OpenRun, theme: str
) -> None:
    job = SyntheticJob([{"state": "queued", "position": 2}, *race(RUN)], released=1)
    page = open_run(job, theme=theme)
    expect(page.locator(".status-text")).to_contain_text("Waiting")
    assert_no_serious_issue(page)
    job.released = 25
    expect(page.locator(".stream .token").nth(20)).to_be_attached()
    assert_no_serious_issue(page)
    page = open_run(None, theme=theme)
    expect(page.get_by_role("alert")).to_be_visible()
    assert_no_serious_issue(page)


def test_the_text_is_read_out_now_and_then_and_the_end_is_summed_up(open_run: OpenRun) -> None:
    messages = numbered({"speculative": RUN.events("speculative")})
    job = SyntheticJob(messages, released=6)
    page = open_run(job)
    expect(page.locator(".stream .token").nth(3)).to_be_attached()
    live = page.locator("[aria-live=polite].visually-hidden")
    expect(live).to_be_empty()
    first = messages[2]["event"]["emitted"]["text"].strip()
    expect(live).to_contain_text(first, timeout=20_000)
    job.release_all()
    finished(page)
    expect(live).to_contain_text("Finished: the length asked for was reached. 60 tokens.")


def test_tokens_have_names_that_say_what_happened(open_run: OpenRun) -> None:
    page = finished(open_run(race(RUN)))
    rejected = page.locator("[data-lane=speculative] .token[data-kind=rejected]").first
    label = rejected.get_attribute("aria-label") or ""
    text = (rejected.text_content() or "").strip()
    assert label.startswith(f"{text}, rejected, p ")
    assert ", q " in label


def test_the_help_lists_the_keys(open_run: OpenRun) -> None:
    page = finished(open_run(race(RUN)))
    button = page.locator("[data-action=help]")
    expect(page.locator(".help")).to_be_hidden()
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".help")).to_contain_text("keep the dice of this token open")
    page.keyboard.press("Escape")
    expect(page.locator(".help")).to_be_hidden()


@pytest.mark.parametrize("width", [390, 700, 900, 1280])
def test_nothing_sticks_out_at_any_width(open_run: OpenRun, width: int) -> None:
    page = finished(open_run(race(RUN), width=width))
    page.wait_for_selector("[data-chart=conditional]:not([hidden])")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    lanes = [
        page.locator(f"[data-lane={name}]").bounding_box() for name in ("speculative", "plain")
    ]
    assert lanes[0] is not None
    assert lanes[1] is not None
    side_by_side = lanes[0]["y"] == lanes[1]["y"]
    assert side_by_side == (width >= 900)
