"""Opening a recorded trace: replayed, or refused in one sentence (case 26)."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from specviz import trace
from specviz.errors import UserError
from specviz.events import Event
from specviz.server.hub import Hub
from specviz.server.replay import CUT_OFF
from specviz.settings import Settings
from tests.server.fakes import FakeEngine

Hubs = Callable[..., Hub]


def recording(drafter: str = "lookup", tokens: int = 6) -> bytes:
    engine = FakeEngine()
    settings = Settings(drafter=drafter, max_new_tokens=tokens)
    events: list[Event] = list(engine.decode(None, "p", settings, cancelled=lambda: False))
    return "".join(trace.line(event) for event in events).encode()


@pytest.mark.parametrize(("drafter", "lane"), [("lookup", "speculative"), ("none", "plain")])
def test_a_trace_becomes_a_finished_job(hubs: Hubs, drafter: str, lane: str) -> None:
    hub = hubs()
    data = recording(drafter)
    job = hub.open_trace(data)
    assert job.finished
    assert hub.get(job.id) is job
    assert [json.loads(line) for line in job.lane_events(lane)] == [  # type: ignore[arg-type]
        json.loads(line) for line in data.splitlines()
    ]


def test_a_trace_that_was_cut_off_is_opened_and_says_so(hubs: Hubs) -> None:
    data = recording()
    job = hubs().open_trace(data[: len(data) * 2 // 3])
    events = [json.loads(line) for line in job.lane_events("speculative")]
    assert events[0]["type"] == "run_started"
    assert events[1]["type"] == "prefilled"
    assert events[-1] == {"type": "run_failed", "message": CUT_OFF}


def wrong_type() -> bytes:
    return recording().replace(b'"index":0', b'"index":"zero"')


def other_version() -> bytes:
    return recording().replace(b"specviz.trace/1", b"specviz.trace/9")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (other_version(), "specviz.trace/1"),
        (wrong_type(), "Line 3"),
        (b"", "no run"),
        (b"\x00\xff\xfe" * 100, "specviz.trace/1"),
        (b"\n" * 1_000_001, "too large"),
        (recording().splitlines(keepends=True)[0] * 2, "run_started"),
        (b"[" * 100_000, "specviz.trace/1"),
        (b"x" * (200 * 2**20), "200 MiB"),
    ],
    ids=["version", "type", "empty", "binary", "10^6 events", "twice", "nested", "200 MB"],
)
def test_what_is_no_trace_is_refused_in_one_sentence(hubs: Hubs, data: bytes, said: str) -> None:
    with pytest.raises(UserError, match=said) as refused:
        hubs().open_trace(data)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300
