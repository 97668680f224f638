"""Long work in the queue: its progress, its end, and that it has the device for itself."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from specviz.errors import UserError
from specviz.server.measurement import Measurement, Report
from tests.server.fakes import FakeEngine, finished, request
from tests.server.test_hub import Hubs


def until_finished(measurement: Measurement[Any], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not measurement.finished:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_progress_and_an_estimate_by_hand() -> None:
    """Two of eight steps in three seconds leave nine."""
    now = iter([0.0, 10.0, 13.0])
    seen: list[object] = []

    def work(report: Report[str]) -> str:
        report(2, 8)
        seen.append(measurement.progress)
        return "done"

    measurement = Measurement("id", "cost", work, clock=lambda: next(now))
    measurement.run()
    assert seen == [(2, 8, 9.0)]
    assert measurement.result == "done"


def test_it_runs_in_its_turn_and_nothing_runs_beside_it(hubs: Hubs) -> None:
    engine = FakeEngine()
    hub = hubs(engine)
    begun, go_on = threading.Event(), threading.Event()

    def work(_model: object, report: Report[str]) -> str:
        begun.set()
        assert go_on.wait(5)
        report(1, 1)
        return "measured"

    measurement = hub.measure("cost", work)
    assert begun.wait(5)
    job = hub.submit(request())
    time.sleep(0.05)
    assert job.status == ("queued", 1)
    assert not engine.passes
    go_on.set()
    assert finished(job)
    until_finished(measurement)
    assert measurement.result == "measured"
    assert hub.measurement(measurement.id) is measurement
    assert hub.measurement("no such id") is None


def test_one_that_waits_shows_its_place_and_can_be_cancelled(hubs: Hubs) -> None:
    engine = FakeEngine(open_gate=False)
    hub = hubs(engine)
    first = hub.submit(request())
    assert first.wait_until(lambda job: job.status.state == "running", 5)
    ran: list[int] = []
    measurement = hub.measure("cost", lambda _model, _report: ran.append(1))
    assert measurement.status == ("queued", 1)
    measurement.stop()
    until_finished(measurement)
    engine.open()
    assert finished(first)
    assert not ran
    assert "cancelled" in str(measurement.error)


def test_cancel_ends_it_at_its_next_step(hubs: Hubs) -> None:
    hub = hubs(FakeEngine())
    begun = threading.Event()
    steps: list[int] = []

    def work(_model: object, report: Report[None]) -> None:
        for step in range(1, 1000):
            report(step, 1000)
            steps.append(step)
            begun.set()
            time.sleep(0.01)

    measurement = hub.measure("cost", work)
    assert begun.wait(5)
    measurement.stop()
    until_finished(measurement)
    assert len(steps) < 500
    assert "cancelled" in str(measurement.error)
    assert finished(hub.submit(request())), "the worker goes on"


@pytest.mark.parametrize(
    ("error", "said"),
    [(UserError("There is no such drafter: choose another."), "There is no such drafter"),
     (RuntimeError("boom"), "ended unexpectedly")],
)  # fmt: skip
def test_what_goes_wrong_is_a_sentence_and_the_worker_goes_on(
    hubs: Hubs, error: Exception, said: str
) -> None:
    hub = hubs(FakeEngine())

    def work(_model: object, _report: Report[None]) -> None:
        raise error

    measurement = hub.measure("cost", work)
    until_finished(measurement)
    assert said in str(measurement.error)
    assert "\n" not in str(measurement.error)
    assert measurement.result is None
    assert finished(hub.submit(request()))


def test_one_that_nobody_waits_for_is_dropped(hubs: Hubs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specviz.server.measurement._HIDDEN_TAB_GRACE", 0.3)
    hub = hubs(FakeEngine(), viewer_grace_seconds=0.3, connect_grace_seconds=0.3)

    def work(_model: object, report: Report[None]) -> None:
        for step in range(1, 1000):
            report(step, 1000)
            time.sleep(0.01)

    measurement = hub.measure("cost", work)
    for _ in range(10):
        measurement.look()
        time.sleep(0.05)
    assert not measurement.finished
    until_finished(measurement)
    assert "cancelled" in str(measurement.error)


def test_a_tab_that_nobody_sees_looks_once_a_minute() -> None:
    """Browsers let it: that is often enough, whatever the graces for viewers are."""
    now = 0.0
    measurement = Measurement("id", "cost", lambda _report: None, clock=lambda: now)
    measurement.look()
    now = 65.0
    assert not measurement.abandoned(5.0, 30.0)
    now = 95.0
    assert measurement.abandoned(5.0, 30.0)
    assert not measurement.abandoned(5.0, 300.0)


def test_what_was_measured_before_a_cancel_is_kept(hubs: Hubs) -> None:
    hub = hubs(FakeEngine())
    kept = threading.Event()

    def work(_model: object, report: Report[list[int]]) -> list[int]:
        for step in range(1000):
            report(step, 1000)
            report.keep(list(range(step)))
            kept.set()
            time.sleep(0.01)
        return []

    measurement = hub.measure("cost", work)
    assert kept.wait(5)
    measurement.stop()
    until_finished(measurement)
    assert measurement.result is not None
    assert "until then is kept" in str(measurement.error)
