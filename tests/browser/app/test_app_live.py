"""The Live page in Chromium, over the synthetic engine."""

from __future__ import annotations

import re
import signal
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import expect

from specviz import trace
from tests.browser.app.conftest import (
    LONG,
    OpenApp,
    RunningApp,
    job_of,
    kept_text,
    phase,
    ready,
    start,
)
from tests.browser.synthetic import SyntheticRun

pytestmark = pytest.mark.browser

TOKENS = "[data-lane=speculative] .token"


def recorded(app: RunningApp, job: str, lane: str = "speculative") -> trace.Trace:
    address = f"{app.url}/api/jobs/{job}/traces/{lane}.jsonl"
    with urllib.request.urlopen(address) as answer:
        return trace.parse(answer.read())


def test_colours_appear_while_it_runs_and_start_comes_back(
    app: RunningApp, open_app: OpenApp
) -> None:
    page = open_app(app)
    start(page, tokens=300)
    phase(page, "running")
    expect(page.locator(f"{TOKENS}[data-kind=accepted]").nth(5)).to_be_visible(timeout=LONG)
    expect(page.locator(f"{TOKENS}[data-kind=resampled]").first).to_be_visible()
    expect(page.locator("[data-lane=plain] .token").nth(5)).to_be_visible(timeout=LONG)
    phase(page, "running")
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_disabled()
    phase(page, "finished")
    ready(page)
    expected = trace.collect(SyntheticRun(tokens=300, greedy=True).events("speculative"))
    assert kept_text(page) == expected.text
    expect(page.get_by_role("button", name="Save the trace")).to_be_visible()


def test_stop_ends_the_run_and_another_can_start(app: RunningApp, open_app: OpenApp) -> None:
    """Case 22."""
    page = open_app(app)
    start(page, tokens=2000)
    expect(page.locator(TOKENS).nth(10)).to_be_visible(timeout=LONG)
    first = job_of(page)
    page.locator(".specviz .button.stop").click()
    phase(page, "finished")
    ready(page)
    expect(page.locator("[data-kind=pending]")).to_have_count(0)
    ended = recorded(app, first).ended
    assert ended is not None
    assert getattr(ended, "reason", None) == "cancelled"
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(lambda url: first not in url, timeout=LONG)
    phase(page, "running")


def test_start_pressed_twice_quickly_starts_one_run(app: RunningApp, open_app: OpenApp) -> None:
    """Case 24."""
    page = open_app(app)
    before = set(app.log.parent.joinpath("runs").glob("*"))
    page.get_by_role("button", name="Start", exact=True).dblclick()
    expect(page.locator(TOKENS).nth(10)).to_be_visible(timeout=LONG)
    expect(page.locator(".specviz")).to_have_count(1)
    phase(page, "finished")
    assert len(set(app.log.parent.joinpath("runs").glob("*")) - before) == 1


def test_a_setting_changed_in_mid_run_leaves_the_run_alone(
    app: RunningApp, open_app: OpenApp
) -> None:
    """Case 24: nothing is drawn anew, nothing is lost, and the page says what happens."""
    page = open_app(app)
    start(page, tokens=400)
    expect(page.locator(TOKENS).nth(10)).to_be_visible(timeout=LONG)
    job = job_of(page)
    page.locator(TOKENS).first.evaluate("node => { node.dataset.mark = 'same node' }")
    page.get_by_role("radio", name="Continue it").click()
    expect(page.get_by_text("applies to the next run")).to_be_visible(timeout=LONG)
    phase(page, "finished")
    expect(page.locator("[data-mark='same node']")).to_have_count(1)
    assert job_of(page) == job
    assert recorded(app, job).started.settings.raw is False
    assert kept_text(page) == recorded(app, job).text
    expect(page.get_by_text("applies to the next run")).to_have_count(0, timeout=LONG)


def test_a_reload_in_mid_run_shows_it_whole(app: RunningApp, open_app: OpenApp) -> None:
    """Case 24."""
    page = open_app(app)
    start(page, tokens=600)
    expect(page.locator(TOKENS).nth(30)).to_be_visible(timeout=LONG)
    job = job_of(page)
    page.reload()
    phase(page, "finished")
    assert job_of(page) == job
    assert kept_text(page) == recorded(app, job).text
    assert getattr(recorded(app, job).ended, "reason", None) == "length"


def test_leaving_and_coming_back_shows_the_same_run_once(
    app: RunningApp, open_app: OpenApp
) -> None:
    """Case 24: in time, so that it was not cancelled."""
    page = open_app(app)
    start(page, tokens=600)
    expect(page.locator(TOKENS).nth(10)).to_be_visible(timeout=LONG)
    job = job_of(page)
    page.get_by_role("link", name="Replay").click()
    expect(page.get_by_role("heading", name="Replay a run")).to_be_visible(timeout=LONG)
    expect(page.locator(".specviz")).to_have_count(0)
    page.get_by_role("link", name="Live").click()
    expect(page.locator(".specviz")).to_have_count(1, timeout=LONG)
    assert job_of(page) == job
    phase(page, "finished")
    assert kept_text(page) == recorded(app, job).text
    ready(page)


def test_closing_the_tab_ends_the_run(app: RunningApp, open_app: OpenApp) -> None:
    """Case 24: no orphan run; the next visitor need not wait for it."""
    page = open_app(app)
    start(page, tokens=2000)
    expect(page.locator(TOKENS).nth(5)).to_be_visible(timeout=LONG)
    job = job_of(page)
    page.close()
    other = open_app(app)
    start(other, tokens=20)
    phase(other, "finished")
    assert getattr(recorded(app, job).ended, "reason", None) == "cancelled"


def test_five_tabs_at_once(app: RunningApp, open_app: OpenApp) -> None:
    """Case 24: five runs, one after the other; who waits sees how many are before them."""
    pages = [open_app(app)]
    pages += [open_app(app, beside=pages[0]) for _ in range(4)]
    for page in pages:
        start(page, tokens=100)
    assert len({job_of(page) for page in pages}) == 5
    waited = pages[-1].locator(".specviz[data-phase=queued]")
    if waited.count():
        expect(pages[-1].locator(".status-text")).to_contain_text("Waiting")
    for page in pages:
        phase(page, "finished")
        assert kept_text(page) == recorded(app, job_of(page)).text


def test_five_viewers_of_one_run(app: RunningApp, open_app: OpenApp) -> None:
    """Case 24, and a link that was passed on."""
    page = open_app(app)
    start(page, tokens=400)
    job = job_of(page)
    others = [open_app(app, f"/?job={job}") for _ in range(4)]
    for viewer in [page, *others]:
        phase(viewer, "finished")
        assert kept_text(viewer) == recorded(app, job).text


def test_a_killed_server_is_told_and_the_run_is_still_there(
    app: RunningApp, open_app: OpenApp
) -> None:
    """Case 24: the server is killed in mid-run and started again."""
    page = open_app(app, complain=False)
    start(page, tokens=2000)
    expect(page.locator(TOKENS).nth(30)).to_be_visible(timeout=LONG)
    job = job_of(page)
    app.kill(signal.SIGKILL)
    shown = kept_text(page)
    app.start()
    phase(page, "failed")
    expect(page.locator(".specviz .notice")).to_contain_text("restarted")
    assert kept_text(page).startswith(shown[:100])
    assert len(shown) > 100
    assert job_of(page) == job
    page.reload()
    phase(page, "failed")
    assert kept_text(page).startswith(shown[:100])
    ready(page)
    start(page, tokens=20)
    phase(page, "finished")


def test_an_unknown_address_is_told(app: RunningApp, open_app: OpenApp) -> None:
    page = open_app(app, "/?job=../../../../etc/passwd")
    expect(page.get_by_role("alert").first).to_contain_text("not here", timeout=LONG)
    ready(page)


@pytest.mark.parametrize("path", ["/replay", "/"])
def test_hostile_prompts_are_text(app: RunningApp, open_app: OpenApp, path: str) -> None:
    """Case 23."""
    hostile = (
        "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'> $x$ **b** \u202e"
    )
    page = open_app(app)
    page.get_by_role("textbox", name="Prompt", exact=True).fill(hostile)
    page.get_by_role("textbox", name="Prompt", exact=True).press("Control+Enter")
    start(page, tokens=20)
    phase(page, "finished")
    page.reload()
    phase(page, "finished")
    assert page.get_by_role("textbox", name="Prompt", exact=True).input_value() == hostile
    assert page.evaluate("window.hacked") is None


def test_a_trace_is_saved_and_replayed(app: RunningApp, open_app: OpenApp, tmp_path: Path) -> None:
    page = open_app(app)
    start(page, tokens=50)
    phase(page, "finished")
    with page.expect_download(timeout=LONG) as download:
        page.get_by_role("button", name="Save the trace").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.suffix == ".jsonl"
    text = trace.read(file).text
    page.get_by_role("link", name="Replay").click()
    expect(page.get_by_role("heading", name="Replay a run")).to_be_visible(timeout=LONG)
    page.locator("input[type=file]").set_input_files(file)
    phase(page, "finished")
    assert kept_text(page) == text


def test_a_bad_trace_is_refused_in_one_sentence(
    app: RunningApp, open_app: OpenApp, tmp_path: Path
) -> None:
    """Case 26."""
    page = open_app(app, "/replay")
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"type": "run_started", "version": "specviz.trace/9"}\n')
    page.locator("input[type=file]").set_input_files(bad)
    expect(page.get_by_role("alert").first).to_contain_text("specviz.trace/1", timeout=LONG)
    expect(page.locator(".specviz")).to_have_count(0)


def test_a_huge_trace_is_refused(app: RunningApp, open_app: OpenApp, tmp_path: Path) -> None:
    """Case 26: a file of 200 MB does not even travel."""
    page = open_app(app, "/replay")
    huge = tmp_path / "huge.jsonl"
    with huge.open("wb") as file:
        file.truncate(200 * 2**20)
    page.locator("input[type=file]").set_input_files(huge)
    expect(page.get_by_text(re.compile("must be .* or smaller"))).to_be_visible(timeout=LONG)
    expect(page.locator(".specviz")).to_have_count(0)
