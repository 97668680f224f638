"""Time a cycle's phases by the clock of the device that does the work."""

from __future__ import annotations

import time

import torch


class Stopwatch:
    """Laps of work that a GPU may do later than the host asks for it.

    On a GPU a lap is bounded by events in its stream, so that timing adds no waiting; the
    laps must be read after the host has waited for the work, as it does to read a verdict.
    """

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._start = time.perf_counter()
        self._marks: list[tuple[str, float | torch.cuda.Event]] = [("", self._now())]

    def lap(self, name: str) -> None:
        """The work asked for since the last lap was `name`."""
        self._marks.append((name, self._now()))

    def seconds(self) -> dict[str, float]:
        """Seconds of each lap, and `rest`: what the host spent beside them until now."""
        laps = {
            name: _between(before, after)
            for (_, before), (name, after) in zip(self._marks, self._marks[1:], strict=False)
        }
        laps["rest"] = max(0.0, time.perf_counter() - self._start - sum(laps.values()))
        return laps

    def _now(self) -> float | torch.cuda.Event:
        if not self._on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event


def _between(before: float | torch.cuda.Event, after: float | torch.cuda.Event) -> float:
    if isinstance(before, torch.cuda.Event) and isinstance(after, torch.cuda.Event):
        return float(before.elapsed_time(after)) / 1000
    assert isinstance(before, float)
    assert isinstance(after, float)
    return after - before
