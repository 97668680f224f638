"""An engine without a model: it makes the events of a run, and waits where it is told to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from specviz.events import (
    CacheLengths,
    Cycle,
    Emitted,
    Event,
    Prefilled,
    Proposal,
    RunFinished,
    RunStarted,
    Seconds,
)
from specviz.server.hub import Hub
from specviz.server.job import Job, JobRequest
from specviz.server.limits import Limits
from specviz.settings import Settings


def started(prompt: str, settings: Settings) -> RunStarted:
    return RunStarted(
        run_id="fake",
        started_at="2026-01-01T00:00:00+00:00",
        prompt=prompt,
        prompt_tokens=3,
        target="fake",
        drafter=settings.drafter,
        settings=settings,
        device="cpu",
        dtype="float32",
        versions={"torch": "0", "transformers": "0"},
        tokenizer_fingerprint="0",
        vocabulary_size=7,
    )


def prefilled(seconds: float = 0.01) -> Prefilled:
    return Prefilled(emitted=Emitted(token=1, text="a", source="target"), seconds=seconds)


def cycle(index: int, seconds: float = 0.01, drafted: bool = True) -> Cycle:
    """One token proposed and refused, one resampled; or plain, with nothing proposed."""
    refused = Proposal(
        token=2, text="x", p=0.25, q=0.5, accept_probability=0.5, u=0.75, verdict="rejected"
    )
    return Cycle(
        index=index,
        gamma=int(drafted),
        drafted=int(drafted),
        tested=int(drafted),
        accepted=0,
        proposals=(refused,) if drafted else (),
        emitted=(Emitted(token=3, text=f" {index}", source="resampled" if drafted else "target"),),
        seconds=Seconds(verify=seconds),
        cache=CacheLengths(target_before=index, target_after=index),
    )


class FakeEngine:
    """`decode` and `load`; `max_new_tokens` cycles a run, each let through by `gate`.

    A closed gate holds the engine in its pass: `step(n)` lets n passes through.
    """

    def __init__(
        self,
        *,
        open_gate: bool = True,
        seconds: dict[str, float] | None = None,
        fail: Callable[[str, int], None] = lambda drafter, index: None,
    ) -> None:
        self._permits = threading.Semaphore(0)
        self._open = threading.Event()
        if open_gate:
            self._open.set()
        self._seconds = seconds or {}
        self._fail = fail
        self.passes: list[tuple[str, str]] = []
        """(prompt, drafter) of every pass that was made."""
        self.at_once = 0
        self.most_at_once = 0
        self.loaded: list[dict[str, Any]] = []

    def load(self, **choice: Any) -> str:
        self.loaded.append(choice)
        return "a model"

    def open(self) -> None:
        self._open.set()

    def step(self, passes: int = 1) -> None:
        self._permits.release(passes)

    def decode(
        self, target: Any, prompt: str, settings: Settings, *, cancelled: Callable[[], bool]
    ) -> Iterator[Event]:
        self._fail(settings.drafter, -1)
        yield started(prompt, settings)
        made = 0
        seconds = self._seconds.get(settings.drafter, 0.01)
        reason = "length"
        for index in range(settings.max_new_tokens):
            if cancelled():
                reason = "cancelled"
                break
            self._pass(prompt, settings.drafter)
            self._fail(settings.drafter, index)
            made += 1
            yield (
                prefilled(seconds)
                if index == 0
                else cycle(index - 1, seconds, settings.drafter != "none")
            )
        yield RunFinished(
            reason=reason,  # type: ignore[arg-type]
            text="a" * made,
            token_ids=(1,) * made,
            cycles=max(0, made - 1),
            drafted=max(0, made - 1),
            accepted=0,
            target_passes=made,
            seconds=seconds * made,
        )

    def _pass(self, prompt: str, drafter: str) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        while not self._open.is_set() and not self._permits.acquire(timeout=0.01):
            pass
        self.passes.append((prompt, drafter))
        self.at_once -= 1


def make_hub(engine: FakeEngine, folder: Path, **limits: Any) -> Hub:
    """A started hub over a fake engine, that waits long for viewers unless told otherwise."""
    patient = {
        "viewer_grace_seconds": 60.0,
        "connect_grace_seconds": 60.0,
        "max_new_tokens": 1_000_000,
    }
    hub = Hub(Limits(**{**patient, **limits}), folder, decode=engine.decode, load=engine.load)
    hub.start()
    return hub


def request(
    prompt: str = "Hello", *, tokens: int = 5, race: str = "off", drafter: str = "lookup"
) -> JobRequest:
    return JobRequest.model_validate(
        {
            "prompt": prompt,
            "race": race,
            "settings": {"drafter": drafter, "max_new_tokens": tokens},
        }
    )


def finished(job: Job, timeout: float = 10.0) -> bool:
    return job.wait_until(lambda job: job.finished, timeout)


def until(reached: Callable[[], bool], timeout: float = 5.0) -> bool:
    deadline = time.monotonic() + timeout
    while not reached():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
