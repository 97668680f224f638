"""A piece of long work that needs the device for itself: it waits in the same queue as runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from specviz.errors import UserError
from specviz.server.job import State, Status

Result = TypeVar("Result")


_HIDDEN_TAB_GRACE = 90.0
"""Seconds: a browser lets a tab that nobody sees look once a minute."""


class StoppedError(Exception):
    """Somebody pressed Cancel."""


class Progress(NamedTuple):
    """How far it is."""

    done: int = 0
    total: int = 0
    seconds_left: float | None = None
    """An estimate from the steps so far; None before the first."""


class Report(Generic[Result]):
    """What the work tells: how far it is, and what it has measured so far."""

    def __init__(self, measurement: Measurement[Result]) -> None:
        self._measurement = measurement

    def __call__(self, done: int, total: int) -> None:
        """So many of so many steps are done; where the work was cancelled, it ends here."""
        self._measurement.advance(done, total)

    def keep(self, result: Result) -> None:
        """A result of what was measured so far, which stays if the rest is cancelled."""
        self._measurement.result = result


class Measurement(Generic[Result]):
    """One piece of work, its progress and its outcome. Safe to use from any thread."""

    def __init__(
        self,
        id: str,
        name: str,
        work: Callable[[Report[Result]], Result],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make one that is queued.

        Args:
            id: unguessable.
            name: of what it measures, as “cost”.
            work: does it, and calls the report it is given after every step: that is where a
                cancelled one ends.
            clock: in seconds.
        """
        self.id = id
        self.name = name
        self._work = work
        self._clock = clock
        self._status = Status("queued")
        self._stop = threading.Event()
        self._began = 0.0
        self._seen = clock()
        self.progress = Progress()
        self.result: Result | None = None
        self.error: str | None = None
        """Why there is no result, in a sentence."""

    # What the worker says

    def run(self) -> None:
        """Do the work. What goes wrong in it is kept as a sentence, or raised if unexpected."""
        self.move_to("running")
        self._began = self._clock()
        try:
            self.result = self._work(Report(self))
        except StoppedError:
            if self.result is not None:
                self.error = "It was cancelled: what was measured until then is kept."
        except UserError as error:
            self.error = str(error)
        except Exception:
            self.error = "It ended unexpectedly: try again, and see the server's log."
            raise

    def move_to(self, state: State, position: int | None = None) -> None:
        """Change the state. A finished one stays finished."""
        if self._status.state == "finished":
            return
        if state == "finished" and self.result is None:
            self.error = self.error or "It was cancelled: measure again when you like."
        self._status = Status(state, position)

    def advance(self, done: int, total: int) -> None:
        """So many of so many steps are done.

        Raises:
            StoppedError: if somebody pressed Cancel.
        """
        if self.stopped:
            raise StoppedError
        passed = self._clock() - self._began
        left = passed / done * (total - done) if done else None
        self.progress = Progress(done, total, left)

    # What anyone may ask

    @property
    def status(self) -> Status:
        return self._status

    @property
    def finished(self) -> bool:
        return self._status.state == "finished"

    def look(self) -> None:
        """Say that somebody is waiting for it."""
        self._seen = self._clock()

    def abandoned(self, viewer_grace: float, connect_grace: float) -> bool:
        """Whether nobody has looked for longer than every grace, in seconds."""
        return self._clock() - self._seen > max(viewer_grace, connect_grace, _HIDDEN_TAB_GRACE)

    def stop(self) -> None:
        """Ask for an end, at the next step."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()
