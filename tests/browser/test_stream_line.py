"""The line to the server: cuts, strangers, and every state that the reader may see."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from specviz.events import RunFailed
from specviz.trace import collect
from tests.browser.conftest import OpenRun, finished, texts
from tests.browser.synthetic import SyntheticJob, SyntheticRun, SyntheticServer, numbered, race

pytestmark = pytest.mark.browser

RUN = SyntheticRun(tokens=60)


def status(page: Page) -> str:
    return page.locator(".status-text").inner_text()


def test_a_cut_line_loses_nothing_and_doubles_nothing(
    open_run: OpenRun, server: SyntheticServer
) -> None:
    """24: the network goes away in mid-run, twice."""
    messages = race(RUN)
    job = SyntheticJob(messages, released=15)
    page = open_run(job)
    for released in (40, len(messages)):
        expect(page.locator(f".pass >> nth={min(released, 50) // 5}")).to_be_attached()
        server.refusing = True
        server.cut()
        expect(page.locator(".specviz")).to_have_attribute("data-phase", "reconnecting")
        assert status(page) == "Connection lost: reconnecting"
        job.released = released
        server.refusing = False
        expect(page.locator(".specviz")).not_to_have_attribute("data-phase", "reconnecting")
    finished(page)
    kept = texts(
        page,
        "[data-lane=speculative] .token:not([data-kind=rejected], [data-kind=discarded])",
    )
    assert "".join(kept) == collect(RUN.events("speculative")).text
    assert "".join(texts(page, "[data-lane=plain] .token")) == collect(RUN.events("plain")).text
    assert job.connections[0] == 0
    assert job.connections[1] == 14
    assert len(job.connections) == 3


def test_a_server_that_skips_a_message_is_asked_again(open_run: OpenRun) -> None:
    messages = numbered({"speculative": RUN.events("speculative")})
    job = SyntheticJob([*messages[:5], messages[7]], released=6)
    page = open_run(job)
    page.wait_for_timeout(300)
    job.messages = messages
    job.release_all()
    finished(page)
    assert job.connections[1] == 4


def test_a_line_that_stays_cut_is_said_to_be_gone_and_tried_again(
    open_run: OpenRun, server: SyntheticServer
) -> None:
    """24: the server is away for ten seconds; stepping goes on meanwhile."""
    job = SyntheticJob(race(RUN), released=30)
    page = open_run(job)
    expect(page.locator(".stream .token").nth(20)).to_be_attached()
    server.refusing = True
    server.cut()
    expect(page.locator(".specviz")).to_have_attribute("data-phase", "gone", timeout=20_000)
    expect(page.get_by_role("alert")).to_contain_text("What has arrived is kept")
    page.get_by_role("button", name="To the start (Home)").click()
    expect(page.locator(".pass[hidden]")).not_to_have_count(0)
    server.refusing = False
    job.release_all()
    page.get_by_role("button", name="Try again now").click()
    expect(page.locator(".specviz")).to_have_attribute("data-phase", "finished")
    expect(page.get_by_role("alert")).to_be_hidden()


def test_an_unknown_job_is_said_to_be_unknown(open_run: OpenRun) -> None:
    page = open_run(None)
    expect(page.locator(".specviz")).to_have_attribute("data-phase", "unknown")
    expect(page.get_by_role("alert")).to_have_text("The server knows no such run. Start it again.")
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()


def test_a_restarted_server_leaves_what_had_come(
    open_run: OpenRun, server: SyntheticServer
) -> None:
    """24: the server is restarted and knows nothing of the run."""
    job = SyntheticJob(race(RUN), released=30)
    page = open_run(job)
    expect(page.locator(".stream .token").nth(20)).to_be_attached()
    count = page.locator(".stream .token").count()
    server.jobs.clear()
    server.cut()
    expect(page.get_by_role("alert")).to_contain_text("may have been restarted")
    expect(page.locator(".stream .token")).to_have_count(count)
    expect(page.locator("[data-kind=pending]")).to_have_count(0)


def test_waiting_loading_running_finished(open_run: OpenRun) -> None:
    job = SyntheticJob(
        [
            {"state": "queued", "position": 3},
            {"state": "queued", "position": 2},
            {"state": "loading"},
            *race(RUN),
        ]
    )
    page = open_run(job)
    seen = []
    for released, said in enumerate(
        [
            "Connecting",
            "Waiting: 2 more before this one",
            "Waiting: 1 more before this one",
            "Loading the model",
            "Running",
        ]
    ):
        job.released = released
        expect(page.locator(".status-text")).to_have_text(said)
        expect(page.locator(".empty")).to_be_visible()
        seen.append(page.locator(".empty").inner_text())
    assert len(set(seen)) == 4
    job.release_all()
    finished(page)
    assert status(page) == "Finished: the length asked for was reached"
    expect(page.locator(".empty")).to_be_hidden()


@pytest.mark.parametrize("before", [1, 12])
def test_a_failed_run_says_why_and_keeps_what_came(open_run: OpenRun, before: int) -> None:
    events = RUN.events("speculative")
    failed = RunFailed(message="The model does not fit: choose <b>another</b>.")
    page = open_run(numbered({"speculative": [*events[:before], failed]}))
    expect(page.locator(".specviz")).to_have_attribute("data-phase", "failed")
    expect(page.get_by_role("alert")).to_have_text("The model does not fit: choose <b>another</b>.")
    expect(page.locator(".pass")).to_have_count(before - 1)


def test_python_is_told_once_that_the_run_is_over(open_run: OpenRun) -> None:
    page = finished(open_run(race(RUN)))
    page.wait_for_timeout(300)
    assert page.evaluate("window.told") == [["finished", True]]


def test_closing_closes_the_line_only_when_the_element_has_left(
    open_run: OpenRun, server: SyntheticServer
) -> None:
    """24: a page that is left is no viewer any more; cleanup while mounted changes nothing."""
    job = SyntheticJob(race(RUN), released=10)
    page = open_run(job)
    expect(page.locator(".stream .token").first).to_be_attached()
    page.evaluate("window.closeStream()")
    page.wait_for_timeout(100)
    assert server.open_lines == 1
    page.evaluate("document.getElementById('host').remove(); window.closeStream()")
    page.wait_for_timeout(300)
    assert server.open_lines == 0
