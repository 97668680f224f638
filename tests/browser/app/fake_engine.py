"""The real app over a synthetic engine: `python -m tests.browser.app.fake_engine PORT`.

It makes the events of a run at the pace of a quick model, so that what a browser shows can be
tested without one. `max_new_tokens` and the drafter are heeded, prompts are not answered.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from specviz.events import Cycle, Event, RunFinished, RunStarted
from specviz.server import shared
from specviz.server.default_model import DefaultModel
from specviz.server.hub import Hub
from specviz.server.imports import importing
from specviz.server.measurement import Report
from specviz.settings import Settings
from specviz.ui import cost_view, load_view, tune_view
from tests.browser.synthetic import SyntheticRun

SECONDS_A_CYCLE = 0.02
SECONDS_A_STEP = 0.15


def decode(
    target: Any, prompt: str, settings: Settings, *, cancelled: Callable[[], bool]
) -> Iterator[Event]:
    """A synthetic run, one event at a time."""
    run = SyntheticRun(tokens=settings.max_new_tokens, gamma=settings.gamma, greedy=True)
    done: list[Cycle] = []
    for event in run.events("plain" if settings.drafter == "none" else "speculative"):
        if cancelled() and not isinstance(event, RunStarted):
            yield RunFinished(
                reason="cancelled",
                text="",
                token_ids=(),
                cycles=len(done),
                drafted=sum(cycle.drafted for cycle in done),
                accepted=sum(cycle.accepted for cycle in done),
                target_passes=len(done) + 1,
                seconds=0.0,
            )
            return
        if isinstance(event, Cycle):
            time.sleep(SECONDS_A_CYCLE)
            done.append(event)
        if isinstance(event, RunStarted):
            event = event.model_copy(update={"prompt": prompt, "settings": settings})
        yield event


def made_up(result: Callable[[], Any], steps: int = 14) -> Callable[[Any, Any, Report[Any]], Any]:
    """A measurement in so many steps, whose result is there after a quarter of them."""

    def measure(_model: Any, _chosen: Any, report: Report[Any]) -> Any:
        with importing:
            made = result()
        for step in range(steps):
            time.sleep(SECONDS_A_STEP)
            report(step + 1, steps)
            if step == steps // 4:
                report.keep(made)
        return made

    return measure


def costs() -> Any:
    from tests.costs_by_hand import costs

    return costs(1.0, 1.2, 1.4, 1.2, 1.5, 1.6, 1.8, 1.9, 1.9)


def grid() -> Any:
    from tests.grid_by_hand import GRID

    return GRID


def load() -> Any:
    from tests.load_by_hand import MEASURED

    return MEASURED


if __name__ == "__main__":
    cost_view.measure = made_up(costs)  # type: ignore[assignment]
    tune_view.measure = made_up(grid, steps=40)  # type: ignore[assignment]
    load_view.measure = made_up(load)  # type: ignore[assignment]
    shared.use(
        Hub(decode=decode, load=lambda **_: None),
        DefaultModel(is_fetched=lambda: True, fetch=lambda _: None),  # type: ignore[arg-type, return-value]
    )
    shared.default_model().check()
    shared.hub().start()

    from app import app  # with this hub in place

    uvicorn.run(app, port=int(sys.argv[1]), ws="websockets-sansio", log_level="warning")
