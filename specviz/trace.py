"""A recorded run: its events in order, written to and read from JSON Lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from specviz.errors import UserError
from specviz.events import (
    EVENT,
    TRACE_VERSION,
    Cycle,
    Event,
    Prefilled,
    RunFailed,
    RunFinished,
    RunStarted,
)

MAX_TRACE_BYTES = 128 * 1024 * 1024
MAX_TRACE_EVENTS = 200_000

APART = 16
"""Tokens of each run that is abreast of others, from one pause to the next."""


@dataclass(frozen=True)
class Trace:
    """A run that can be replayed, measured and judged again without a model."""

    started: RunStarted
    prefilled: Prefilled | None
    cycles: tuple[Cycle, ...]
    ended: RunFinished | RunFailed | None
    """None if the recording was cut off."""

    @property
    def events(self) -> list[Event]:
        """The run again, in order."""
        middle: list[Event] = [*([self.prefilled] if self.prefilled else []), *self.cycles]
        return [self.started, *middle, *([self.ended] if self.ended else [])]

    @property
    def token_ids(self) -> list[int]:
        """Every emitted token, the prompt's pass's first."""
        first = [self.prefilled.emitted.token] if self.prefilled else []
        return first + [emitted.token for cycle in self.cycles for emitted in cycle.emitted]

    @property
    def text(self) -> str:
        first = self.prefilled.emitted.text if self.prefilled else ""
        return first + "".join(e.text for cycle in self.cycles for e in cycle.emitted)


def collect(events: Iterable[Event]) -> Trace:
    """Gather a run's events into a trace.

    Raises:
        UserError: where they are not the events of one run, in order.
    """
    started: RunStarted | None = None
    prefilled: Prefilled | None = None
    cycles: list[Cycle] = []
    ended: RunFinished | RunFailed | None = None
    for event in events:
        if ended is not None or (started is None) != isinstance(event, RunStarted):
            raise UserError(
                f"This is not a run: a {event.type} stands where it cannot. Record it again."
            )
        match event:
            case RunStarted():
                started = event
            case Prefilled() if prefilled is None and not cycles:
                prefilled = event
            case Cycle() if prefilled is not None and event.index == len(cycles):
                cycles.append(event)
            case RunFinished() | RunFailed():
                ended = event
            case _:
                raise UserError(
                    f"This is not a run: a {event.type} stands where it cannot. Record it again."
                )
    if started is None:
        raise UserError("This trace holds no run: choose a file that specviz wrote.")
    return Trace(started, prefilled, tuple(cycles), ended)


def abreast(
    runs: Sequence[Iterator[Event]], between: Callable[[], None] = lambda: None
) -> list[Trace]:
    """Gather several runs side by side: whichever has written least goes on.

    So a machine that changes its speed meanwhile does it to all of them alike, and to what
    `between` measures: it is called at the start and every `APART` tokens.
    """
    events: list[list[Event]] = [[] for _ in runs]
    written = [0] * len(runs)
    going = set(range(len(runs)))
    called = 0
    while going:
        if min(written) >= called * APART:
            between()
            called += 1
        least = min(going, key=written.__getitem__)
        event = next(runs[least], None)
        if event is None:
            going.remove(least)
        else:
            events[least].append(event)
            written[least] += len(event.emitted) if isinstance(event, Cycle) else 0
    return [collect(each) for each in events]


def line(event: Event) -> str:
    """One event as one line of JSON, newline included."""
    return event.model_dump_json() + "\n"


def write(events: Iterable[Event], file: IO[str]) -> Iterator[Event]:
    """Pass events through, each on disk before the next is asked for.

    A crash so loses at most the event that was being made.
    """
    for event in events:
        file.write(line(event))
        file.flush()
        yield event


def read(path: Path) -> Trace:
    """Read a trace from a file.

    Raises:
        UserError: if it cannot be read, in one sentence.
    """
    try:
        if path.stat().st_size > MAX_TRACE_BYTES:
            raise UserError(_TOO_LARGE)
        return parse(path.read_bytes())
    except OSError as error:
        raise UserError(
            f"Cannot read the trace {path}: {error.strerror}. Choose another file."
        ) from error


def parse(data: bytes) -> Trace:
    """Read a trace from the bytes of a JSON Lines file.

    A recording that was cut off in the middle of a line is opened up to the line before.

    Raises:
        UserError: if it is too large, of another version or malformed, in one sentence.
    """
    if len(data) > MAX_TRACE_BYTES or data.count(b"\n") > MAX_TRACE_EVENTS:
        raise UserError(_TOO_LARGE)
    return collect(_parse_lines(data))


_TOO_LARGE = (
    f"This trace is too large: at most {MAX_TRACE_BYTES // 2**20} MiB "
    f"and {MAX_TRACE_EVENTS:,} events are opened. Record a shorter run."
)


def _parse_lines(data: bytes) -> Iterator[Event]:
    lines = data.split(b"\n")
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            yield EVENT.validate_json(text)
        except ValidationError as error:
            cut_off = number == len(lines) and error.errors()[0]["type"] == "json_invalid"
            if cut_off and number > 1:
                return
            if number == 1 and TRACE_VERSION.encode() not in text:
                raise UserError(
                    f"This is not a {TRACE_VERSION} trace: "
                    "open it with the specviz that wrote it, or record it again."
                ) from error
            raise UserError(
                f"Line {number} of this trace is not an event of {TRACE_VERSION} "
                f"({_reason(error)}). Record it again."
            ) from error


def _reason(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
