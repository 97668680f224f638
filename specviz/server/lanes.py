"""In which order the lanes of a job move."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping

from specviz.errors import UserError
from specviz.events import Cycle, Event, Prefilled, RunFailed, RunFinished
from specviz.server.job import Lane

INTERRUPTED = "The server was restarted during this run: what was made before is kept; start again."

_logger = logging.getLogger(__name__)


class _Running:
    """A lane that has begun: its events, and the model time that it has used."""

    def __init__(self, lane: Lane, start: Callable[[], Iterator[Event]]) -> None:
        self.lane = lane
        self.used = 0.0
        self.failed = False
        self._start = start
        self._events: Iterator[Event] | None = None

    @property
    def begun(self) -> bool:
        return self._events is not None

    def step(self) -> Event:
        """The next event; whatever goes wrong becomes one that says so."""
        try:
            if self._events is None:
                self._events = self._start()
            event = next(self._events)
        except UserError as error:
            return self._fail(str(error))
        except StopIteration:
            return self._fail("The run ended without a result: start it again.")
        except Exception as error:
            _logger.exception("The engine failed in the lane %s.", self.lane)
            return self._fail(
                f"The engine failed ({type(error).__name__}): try other settings, "
                "and if it comes again, report it with the server's log."
            )
        match event:
            case Prefilled():
                self.used += event.seconds
            case Cycle():
                self.used += event.seconds.total
            case RunFailed():
                self.failed = True
        return event

    def close(self) -> None:
        close = getattr(self._events, "close", None)
        if close is not None:
            close()

    def _fail(self, message: str) -> RunFailed:
        self.failed = True
        return RunFailed(message=message)


def run_lanes(
    starts: Mapping[Lane, Callable[[], Iterator[Event]]],
    *,
    alternating: bool,
    stop: Callable[[], None],
    stopped: Callable[[], bool],
    interrupted: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Lane, Event]]:
    """Move the lanes until each has ended, one step at a time.

    Alternating, the lane that has used less model time steps next; else one lane after the
    other, in the order given. Where a lane fails the others are stopped. Once stopped, a lane
    that has begun goes on to its own end and one that has not stays unbegun.
    """
    running = [_Running(lane, start) for lane, start in starts.items()]
    try:
        while running:
            if interrupted():
                for lane in running:
                    if lane.begun:
                        yield lane.lane, RunFailed(message=INTERRUPTED)
                return
            if stopped():
                running = [lane for lane in running if lane.begun]
                if not running:
                    return
            lane = min(running, key=lambda lane: lane.used) if alternating else running[0]
            event = lane.step()
            if isinstance(event, RunFinished | RunFailed):
                running.remove(lane)
                lane.close()
            if lane.failed:
                stop()
            yield lane.lane, event
    finally:
        for lane in running:
            lane.close()
