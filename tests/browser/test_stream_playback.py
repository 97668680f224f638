"""The transport bar and its keys: the reader moves through the run, the numbers stay."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from specviz.trace import collect
from tests.browser.conftest import OpenRun, drawn, finished, texts
from tests.browser.synthetic import SyntheticJob, SyntheticRun, SyntheticServer, numbered, race

pytestmark = pytest.mark.browser

RUN = SyntheticRun(tokens=40, likeness=0.5)
VISIBLE = ".pass:not([hidden]) .token:not([hidden])"


def visible_text(page: Page, lane: str) -> str:
    drawn(page)
    kept = ":not([data-kind=rejected], [data-kind=discarded], [data-kind=pending])"
    return "".join(texts(page, f"[data-lane={lane}] {VISIBLE}{kept}"))


def position(page: Page) -> tuple[int, int]:
    drawn(page)
    text = page.locator(".position").inner_text()
    found = re.fullmatch(r"cycle (\d+) of \d+ · token (\d+)", text)
    assert found, text
    return int(found[1]), int(found[2])


def focus_bar(page: Page) -> None:
    page.get_by_role("button", name="Play (Space)").focus()


def test_home_and_end_go_to_the_ends(open_run: OpenRun) -> None:
    page = finished(open_run(race(RUN)))
    whole = visible_text(page, "speculative")
    assert whole == collect(RUN.events("speculative")).text
    focus_bar(page)
    page.keyboard.press("Home")
    expect(page.locator(VISIBLE)).to_have_count(0)
    expect(page.locator(".position")).to_have_text("at the start")
    page.keyboard.press("End")
    expect(page.locator(VISIBLE)).not_to_have_count(0)
    assert visible_text(page, "speculative") == whole


def test_steps_show_the_proposals_then_judge_them_one_by_one(open_run: OpenRun) -> None:
    events = RUN.events("speculative")
    cycle = collect(events).cycles[0]
    page = finished(open_run(numbered({"speculative": events})))
    focus_bar(page)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    pending = page.locator(f"{VISIBLE}[data-kind=pending]")
    expect(pending).to_have_count(cycle.drafted)
    for _ in range(cycle.tested):
        page.keyboard.press("ArrowRight")
    expect(pending).to_have_count(0)
    expect(
        page.locator(f"{VISIBLE}[data-kind=resampled], {VISIBLE}[data-kind=bonus]")
    ).to_have_count(0)
    page.keyboard.press("ArrowRight")
    assert position(page) == (1, 1 + len(cycle.emitted))


def test_stepping_back_undoes_stepping_on(open_run: OpenRun) -> None:
    page = finished(open_run(race(RUN)))
    focus_bar(page)
    page.keyboard.press("Home")
    pictures = []
    for _ in range(25):
        page.keyboard.press("ArrowRight")
        pictures.append((visible_text(page, "speculative"), visible_text(page, "plain")))
    for picture in reversed(pictures[:-1]):
        page.keyboard.press("ArrowLeft")
        assert (visible_text(page, "speculative"), visible_text(page, "plain")) == picture


def test_scrubbing_anywhere_gives_the_same_picture_as_stepping(open_run: OpenRun) -> None:
    page = finished(open_run(numbered({"speculative": RUN.events("speculative")})))
    scrubber = page.get_by_role("slider", name="Position in the run")
    last = int(scrubber.get_attribute("max") or 0)
    assert last > 40
    for target in (last // 2, 3, last - 1, 0, last):
        scrubber.fill(str(target))
        by_scrubbing = visible_text(page, "speculative")
        focus_bar(page)
        page.keyboard.press("Home")
        for _ in range(target):
            page.keyboard.press("ArrowRight")
        assert visible_text(page, "speculative") == by_scrubbing


def test_the_numbers_do_not_move_with_the_playhead(open_run: OpenRun) -> None:
    """18: time spent on the page is in no timing."""
    page = finished(open_run(race(RUN)))
    headline = page.locator(".headline")
    before = headline.inner_text()
    focus_bar(page)
    page.keyboard.press("Home")
    page.get_by_label("Speed").select_option("0.25")
    page.keyboard.press("Home")
    page.wait_for_timeout(300)
    assert headline.inner_text() == before


def test_pausing_live_holds_the_picture_while_the_run_goes_on(open_run: OpenRun) -> None:
    messages = numbered({"speculative": RUN.events("speculative")})
    job = SyntheticJob(messages, released=6)
    page = open_run(job)
    expect(page.locator(VISIBLE)).not_to_have_count(0)
    page.get_by_role("button", name="Pause (Space)").click()
    held = visible_text(page, "speculative")
    job.release_all()
    expect(page.locator(".specviz")).to_have_attribute("data-phase", "finished")
    assert visible_text(page, "speculative") == held
    page.get_by_label("Speed").select_option("8")
    page.get_by_role("button", name="Play (Space)").click()
    drawn(page)
    finished(page)
    assert visible_text(page, "speculative") == collect(RUN.events("speculative")).text


def test_a_finished_run_is_played_again_without_the_server(
    open_run: OpenRun, server: SyntheticServer
) -> None:
    """24: everything is kept in the browser."""
    page = finished(open_run(race(RUN)))
    whole = visible_text(page, "speculative")
    server.jobs.clear()
    server.refusing = True
    page.get_by_label("Speed").select_option("8")
    page.get_by_role("button", name="Play (Space)").click()
    expect(page.locator("[data-playing=true]")).to_be_visible()
    expect(page.get_by_role("slider")).not_to_have_value(
        page.get_by_role("slider").get_attribute("max") or ""
    )
    finished(page)
    assert visible_text(page, "speculative") == whole


def test_space_plays_and_pauses_but_not_while_choosing_a_speed(open_run: OpenRun) -> None:
    page = finished(open_run(race(RUN)))
    page.get_by_label("Speed").select_option("0.25")
    page.locator("[data-lane=speculative] .token").first.focus()
    page.keyboard.press(" ")
    expect(page.locator(".play")).to_have_attribute("data-playing", "true")
    page.locator(".scrubber").focus()
    page.keyboard.press(" ")
    expect(page.locator(".play")).to_have_attribute("data-playing", "false")
    page.get_by_label("Speed").focus()
    page.keyboard.press("Home")
    expect(page.locator(".position")).not_to_have_text("at the start")


def test_stop_is_sent_once_and_what_came_is_kept(open_run: OpenRun) -> None:
    """22: a run stopped between two cycles leaves a consistent picture."""
    job = SyntheticJob(race(RUN), released=20)
    page = open_run(job)
    expect(page.locator(VISIBLE)).not_to_have_count(0)
    button = page.get_by_role("button", name="Stop")
    button.click()
    expect(button).to_be_disabled()
    page.wait_for_timeout(200)
    assert job.stopped
    ended = RUN.events("speculative")[-1].model_copy(update={"reason": "cancelled"})
    last = max(message["seq"] for message in job.messages[:20] if "seq" in message)
    job.messages[20:] = [
        {"seq": last + 1, "lane": "speculative", "event": ended.model_dump(mode="json")},
        {"state": "finished"},
    ]
    job.release_all()
    finished(page)
    expect(page.locator(".status-text")).to_have_text("Stopped")
    expect(page.locator("[data-kind=pending]")).to_have_count(0)
    expect(button).to_be_hidden()
