"""Traces: out and in again, and what is refused."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from specviz import trace as traces
from specviz.errors import UserError
from specviz.events import Cycle, Event, RunFailed
from specviz.trace import line, parse, read, write
from tests.tiny import run, target


@pytest.fixture(scope="module")
def recorded() -> traces.Trace:
    return run(target(), drafter="early-exit:2", temperature=2.0, max_new_tokens=12)


@pytest.fixture(scope="module")
def data(recorded: traces.Trace) -> bytes:
    return "".join(map(line, recorded.events)).encode()


def test_a_trace_comes_back_as_it_was(recorded: traces.Trace, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(data)
    assert read(path) == recorded


def test_each_event_is_on_disk_before_the_next_is_asked_for(
    recorded: traces.Trace, tmp_path: Path
) -> None:
    """A crash loses at most the event that was being made."""
    path = tmp_path / "run.jsonl"
    with path.open("w") as file:
        for count, _ in enumerate(write(recorded.events, file), start=1):
            assert len(path.read_text().splitlines()) == count


def test_a_cut_off_recording_is_opened_up_to_its_last_whole_line(
    recorded: traces.Trace, data: bytes
) -> None:
    """Case 26: cut at every byte, it opens or is refused in one line."""
    lines = data.splitlines(keepends=True)
    cut = parse(b"".join(lines[:4]) + lines[4][: len(lines[4]) // 2])
    assert cut.ended is None
    assert cut.cycles == recorded.cycles[:2]
    for at in range(0, len(data), 97):
        with suppress(UserError):
            assert recorded.cycles[: len(parse(data[:at]).cycles)] == parse(data[:at]).cycles


def test_text_and_ids_are_those_of_the_end(recorded: traces.Trace) -> None:
    ended = recorded.ended
    assert ended is not None
    assert ended.type == "run_finished"
    assert recorded.token_ids == list(ended.token_ids)
    assert recorded.text == ended.text


REFUSED = [
    (b"", "holds no run"),
    (b"\n\n", "holds no run"),
    (b"hello", "not a specviz.trace/1 trace"),
    (b"[1, 2]\n", "not a specviz.trace/1 trace"),
    (b'{"type": "run_started", "version": "specviz.trace/9"}\n', "not a specviz.trace/1 trace"),
    (b"\x00\xff\xfe binary", "not a specviz.trace/1 trace"),
    (b'{"a":' * 100_000, "not a specviz.trace/1 trace"),
]


@pytest.mark.parametrize(("data", "reason"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_trace_is_refused_in_one_sentence(data: bytes, reason: str) -> None:
    """Case 26."""
    with pytest.raises(UserError, match=reason) as refused:
        parse(data)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("field", "value"),
    [("drafted", "many"), ("index", 7), ("emitted", None), ("surprise", 1), ("type", "circle")],
)
def test_a_wrong_event_is_refused_with_its_line(data: bytes, field: str, value: object) -> None:
    """Case 26: a wrong type, a missing cycle, an unknown field or event."""
    lines = data.decode().splitlines()
    event = json.loads(lines[3])
    event[field] = value
    lines[3] = json.dumps(event)
    with pytest.raises(UserError, match=r"Line 4 of this trace|where it cannot"):
        parse("\n".join(lines).encode())


@pytest.mark.parametrize("order", [[1, 0], [0, 0], [0, 2, 1], [0, 1, 1], [0, 1, -1, 2]])
def test_events_out_of_order_are_refused(recorded: traces.Trace, order: list[int]) -> None:
    with pytest.raises(UserError, match="stands where it cannot"):
        traces.collect([recorded.events[i] for i in order])


def test_a_trace_of_a_million_events_is_refused(data: bytes) -> None:
    """Case 26."""
    with pytest.raises(UserError, match="too large"):
        parse(data + b"{}\n" * 1_000_000)


def test_a_trace_of_200_mb_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """Case 26: a sparse file, so that reading it would be the slow thing."""
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.truncate(200_000_000)
    with pytest.raises(UserError, match="too large"):
        read(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Cannot read the trace"):
        read(tmp_path / "none.jsonl")


def test_a_failed_run_can_be_written_and_opened(recorded: traces.Trace) -> None:
    events = [*recorded.events[:4], RunFailed(message="The device is gone: start again.")]
    buffer = io.StringIO()
    assert list(write(events, buffer)) == events
    assert parse(buffer.getvalue().encode()).ended == events[-1]


def test_of_runs_abreast_the_one_goes_on_that_has_written_least() -> None:
    """One writes a token a cycle, the other up to four; and every 16 tokens there is a pause."""
    pulled: list[str] = []

    def told(name: str, trace: traces.Trace) -> Iterator[Event]:
        for event in trace.events:
            if isinstance(event, Cycle):
                pulled.extend(name * len(event.emitted))
            yield event

    copied = run(target(), "abcabcabcabc", drafter="lookup", gamma=3, max_new_tokens=40)
    plain = run(target(), "abcabcabcabc", drafter="none", max_new_tokens=40)
    assert len(copied.cycles) < len(plain.cycles)
    runs = [told("c", copied), told("p", plain)]
    assert traces.abreast(runs, lambda: pulled.append("|")) == [copied, plain]
    assert pulled.count("|") == 3
    written = [0, 0]
    for name in pulled:
        if name == "|":
            assert min(written) in range(0, 40, 16)
        else:
            written["cp".index(name)] += 1
            assert abs(written[0] - written[1]) <= 4
