"""The Proof page in a browser: bars are dragged, a fault is switched in, the verdict turns."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app.conftest import LONG, OpenApp, RunningApp, choose

pytestmark = pytest.mark.browser


@pytest.fixture
def page(app: RunningApp, open_app: OpenApp) -> Page:
    page = open_app(app, "/proof")
    expect(page.get_by_text("Nothing is lost.")).to_be_visible(timeout=LONG)
    return page


def bar(page: Page, name: str) -> Locator:
    return page.get_by_role("slider", name=name, exact=True)


def shares(page: Page, who: str) -> list[int]:
    bars = page.locator(f".track.of-{who}").all()
    return [int(bar.get_attribute("aria-valuenow") or 0) for bar in bars]


def drag(page: Page, bar: Locator, share: float) -> None:
    """Pull a bar's top to a share; a full track is 0.8."""
    box = bar.bounding_box()
    assert box
    x, bottom = box["x"] + box["width"] / 2, box["y"] + box["height"]
    page.mouse.move(x, bottom - 4)
    page.mouse.down()
    page.mouse.move(x, bottom - box["height"] * share / 0.8, steps=4)
    page.mouse.up()


def test_a_dragged_bar_changes_the_test_and_the_proof_holds(page: Page) -> None:
    before = page.get_by_text("The chi-square is").inner_text()
    assert page.get_by_text("a guess is accepted 46%").count() == 1
    drag(page, bar(page, "drafter, q, A"), 0.6)
    assert shares(page, "drafter")[0] == pytest.approx(60, abs=2)
    assert sum(shares(page, "drafter")) == pytest.approx(100, abs=3)
    assert page.get_by_text("a guess is accepted 46%").count() == 0
    verdict = page.get_by_text("The chi-square is")
    expect(verdict).not_to_have_text(before, timeout=LONG)
    expect(page.get_by_text("Nothing is lost.")).to_be_visible(timeout=LONG)
    assert shares(page, "drafter")[0] == pytest.approx(60, abs=2), "it stays where it was put"


def test_a_fault_turns_the_verdict_and_back(page: Page) -> None:
    choose(page, "Fault", "Refused tokens stay")
    expect(page.get_by_text("The output is not the target’s.")).to_be_visible(timeout=LONG)
    choose(page, "Fault", "No fault")
    expect(page.get_by_text("Nothing is lost.")).to_be_visible(timeout=LONG)


def test_bars_follow_the_keyboard(page: Page) -> None:
    target = bar(page, "target, p, B")
    target.focus()
    start = int(target.get_attribute("aria-valuenow") or 0)
    before = page.get_by_text("The chi-square is").inner_text()
    for _ in range(5):
        page.keyboard.press("ArrowUp")
    expect(target).to_have_attribute("aria-valuenow", str(start + 5))
    expect(page.get_by_text("The chi-square is")).not_to_have_text(before, timeout=LONG)
    page.keyboard.press("Home")
    expect(target).to_have_attribute("aria-valuenow", "1")
    page.keyboard.press("End")
    expect(target).to_have_attribute("aria-valuenow", "80")


def there_and_back(page: Page) -> None:
    """To another page and back, where the bars stand as Python has them."""
    page.get_by_role("link", name=re.compile("Cost$")).click()
    expect(page.get_by_role("button", name="Measure", exact=True)).to_be_visible(timeout=LONG)
    page.get_by_role("link", name=re.compile("Proof$")).click()
    expect(page.get_by_text("The chi-square is")).to_be_visible(timeout=LONG)


def test_bars_stay_where_they_were_put_through_a_visit_elsewhere(page: Page) -> None:
    drag(page, bar(page, "drafter, q, A"), 0.6)
    put = shares(page, "drafter")
    there_and_back(page)
    expect(bar(page, "drafter, q, A")).to_have_attribute("aria-valuenow", str(put[0]))
    assert shares(page, "drafter") == put


def test_a_right_click_changes_nothing(page: Page) -> None:
    first = bar(page, "drafter, q, A")
    expect(first).to_have_attribute("aria-valuenow", "5")
    first.click(button="right", position={"x": 5, "y": 5})
    assert shares(page, "drafter")[0] == 5


def test_what_the_second_finger_did_after_the_first_was_lifted_counts(page: Page) -> None:
    fingers = page.context.new_cdp_session(page)
    tracks = [bar(page, name).bounding_box() for name in ("target, p, A", "drafter, q, E")]

    def touch(event: str, heights: dict[int, float]) -> None:
        """The fingers of these numbers, each on its track, at a part of its height."""
        points = []
        for finger, height in heights.items():
            track = tracks[finger]
            assert track
            x, bottom = track["x"] + track["width"] / 2, track["y"] + track["height"]
            points.append({"id": finger, "x": x, "y": bottom - track["height"] * height})
        fingers.send("Input.dispatchTouchEvent", {"type": event, "touchPoints": points})

    touch("touchStart", {0: 0.3, 1: 0.3})
    touch("touchEnd", {0: 0.3})
    touch("touchMove", {1: 0.75})
    touch("touchCancel", {})
    second = bar(page, "drafter, q, E")
    expect(second).to_have_attribute("aria-valuenow", "60")
    there_and_back(page)
    expect(second).to_have_attribute("aria-valuenow", "60")


def test_the_numbers_can_be_saved(page: Page) -> None:
    with page.expect_download() as saving:
        page.get_by_role("button", name=re.compile("Save as CSV")).click()
    lines = saving.value.path().read_text().splitlines()
    assert lines[0] == "first,second,observed,expected"
    assert sum(int(line.split(",")[2]) for line in lines[1:]) == 200_000
