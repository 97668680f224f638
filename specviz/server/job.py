"""A job: what one person started, and everything that happened in it.

The worker's thread appends, any number of viewers read at their own pace. The log only
grows, so that a viewer who was cut off continues where they were.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from specviz.settings import Settings

Lane = Literal["speculative", "plain"]
LANES: tuple[Lane, ...] = ("speculative", "plain")
Race = Literal["alternating", "before", "after", "off"]
State = Literal["queued", "loading", "running", "finished"]


class JobRequest(BaseModel):
    """What a person asks for: a prompt, a model, the settings and how to race."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    target: str | None = None
    """A Hugging Face id or a folder; None is the default model."""
    dtype: str = "auto"
    race: Race = "alternating"
    settings: Settings = Settings()

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The lanes in the order in which they first move."""
        if self.settings.drafter == "none":
            return ("plain",)
        if self.race == "off":
            return ("speculative",)
        return ("plain", "speculative") if self.race == "before" else ("speculative", "plain")

    def lane_settings(self, lane: Lane) -> Settings:
        """The settings of one lane: the plain one drafts nothing, all else is the same."""
        if lane == "plain":
            return self.settings.model_copy(update={"drafter": "none"})
        return self.settings


class Message(NamedTuple):
    """One event of one lane; its place in the log is its sequence number."""

    lane: Lane
    event: str
    """The event as JSON, made once for the file and for every viewer."""

    def envelope(self, seq: int) -> str:
        return f'{{"seq":{seq},"lane":"{self.lane}","event":{self.event}}}'


class Status(NamedTuple):
    """Where a job stands."""

    state: State
    position: int | None = None
    """Place in the queue, 1 the next; None unless queued."""


class Job:
    """One job: its request, its log, its state, who watches. Safe to use from any thread."""

    def __init__(
        self,
        job_id: str,
        request: JobRequest,
        *,
        log: list[Message] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a queued job, or with a `log` one that is finished."""
        self.id = job_id
        self.request = request
        self._clock = clock
        self._log: list[Message] = log or []
        self._status = Status("queued") if log is None else Status("finished")
        self._size = sum(len(message.event) for message in self._log)
        self._listeners: set[Callable[[], None]] = set()
        self._was_watched = False
        self._unwatched_since = clock()
        self._stop = threading.Event()
        self._changed = threading.Condition()

    # What the worker says

    def append(self, lane: Lane, event: str) -> None:
        """Add one event, as JSON, to the log."""
        with self._changed:
            self._log.append(Message(lane, event))
            self._size += len(event)
            self._tell()

    def move_to(self, state: State, position: int | None = None) -> None:
        """Change the state. A finished job stays finished."""
        with self._changed:
            status = Status(state, position)
            if self._status.state == "finished" or status == self._status:
                return
            self._status = status
            self._tell()

    def _tell(self) -> None:
        self._changed.notify_all()
        for listener in self._listeners:
            listener()

    # What anyone may ask

    @property
    def status(self) -> Status:
        return self._status

    @property
    def finished(self) -> bool:
        return self._status.state == "finished"

    @property
    def size(self) -> int:
        """Characters in the log."""
        return self._size

    def read(self, start: int, max_chars: int) -> tuple[list[Message], Status, bool]:
        """The log from `start` on, the status, and whether that was all there is.

        At least one message comes if there is one, then as many as fit in `max_chars`.
        """
        with self._changed:
            messages: list[Message] = []
            chars = 0
            for index in range(start, len(self._log)):
                message = self._log[index]
                chars += len(message.event)
                if messages and chars > max_chars:
                    return messages, self._status, False
                messages.append(message)
            return messages, self._status, True

    def lane_events(self, lane: Lane) -> Iterator[str]:
        """The events of one lane so far, as JSON."""
        with self._changed:
            events = [message.event for message in self._log if message.lane == lane]
        return iter(events)

    def wait_until(self, reached: Callable[[Job], bool], timeout: float) -> bool:
        """Block until `reached` holds; False after `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: reached(self), timeout)

    # Who watches

    @contextmanager
    def watched(self, listener: Callable[[], None]) -> Iterator[None]:
        """Count as a viewer and have `listener` called, quickly, after each change."""
        with self._changed:
            self._listeners.add(listener)
            self._was_watched = True
        try:
            yield
        finally:
            with self._changed:
                self._listeners.discard(listener)
                self._unwatched_since = self._clock()

    @property
    def viewers(self) -> int:
        return len(self._listeners)

    def abandoned(self, viewer_grace: float, connect_grace: float) -> bool:
        """Whether nobody has watched for longer than the grace, both in seconds."""
        with self._changed:
            grace = viewer_grace if self._was_watched else connect_grace
            return not self._listeners and self._clock() - self._unwatched_since > grace

    # Stopping

    def stop(self) -> None:
        """Ask for an end; the worker looks before each pass."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()
