"""The order in which the two lanes of a race move."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from specviz.errors import UserError
from specviz.events import Event, RunFailed, RunFinished
from specviz.server.job import Lane
from specviz.server.lanes import INTERRUPTED, run_lanes
from tests.server.fakes import FakeEngine, request


def run(
    engine: FakeEngine, race: str, stop: threading.Event | None = None, tokens: int = 6
) -> Iterator[tuple[Lane, Event]]:
    stop = stop or threading.Event()
    wanted = request(race=race, tokens=tokens)
    starts: dict[Lane, Callable[[], Iterator[Event]]] = {
        lane: partial(engine.decode, None, "p", wanted.lane_settings(lane), cancelled=stop.is_set)
        for lane in wanted.lanes
    }
    return run_lanes(starts, alternating=race == "alternating", stop=stop.set, stopped=stop.is_set)


def order(engine: FakeEngine) -> list[str]:
    return [drafter for _, drafter in engine.passes]


def test_alternating_gives_both_lanes_the_same_model_time() -> None:
    """Case 18: model time alone decides who steps next, however long a step took to watch."""
    engine = FakeEngine(seconds={"lookup": 0.03, "none": 0.01})
    list(run(engine, "alternating", tokens=12))
    passes = order(engine)
    for n in range(1, 16):
        used = [passes[:n].count("lookup") * 0.03, passes[:n].count("none") * 0.01]
        assert abs(used[0] - used[1]) <= 0.03 + 1e-9


def test_a_lane_that_is_done_lets_the_other_go_on() -> None:
    engine = FakeEngine(seconds={"lookup": 1.0, "none": 0.001})
    lanes = [lane for lane, event in run(engine, "alternating") if event.type == "run_finished"]
    assert lanes == ["plain", "speculative"]


@pytest.mark.parametrize(
    ("race", "passes"),
    [("before", ["none"] * 6 + ["lookup"] * 6), ("after", ["lookup"] * 6 + ["none"] * 6)],
)
def test_before_and_after_run_one_lane_wholly(race: str, passes: list[str]) -> None:
    engine = FakeEngine()
    list(run(engine, race))
    assert order(engine) == passes


def test_without_a_race_there_is_one_lane() -> None:
    assert {lane for lane, _ in run(FakeEngine(), "off")} == {"speculative"}
    assert request(drafter="none", race="alternating").lanes == ("plain",)


def test_the_plain_lane_differs_in_the_drafter_alone() -> None:
    """Case 18: the baseline is the same prompt, seed and settings."""
    wanted = request()
    plain, speculative = wanted.lane_settings("plain"), wanted.lane_settings("speculative")
    assert plain.model_copy(update={"drafter": "lookup"}) == speculative


def test_stop_ends_both_lanes_and_begins_none() -> None:
    """Case 22: a stopped job has an end in every lane that began."""
    stop, engine = threading.Event(), FakeEngine()
    seen = []
    for lane, event in run(engine, "alternating", stop):
        seen.append((lane, event.type))
        if len(seen) == 7:
            stop.set()
    assert sorted(seen[-2:]) == [("plain", "run_finished"), ("speculative", "run_finished")]

    stop, engine = threading.Event(), FakeEngine()
    for lane, event in run(engine, "before", stop):
        if event.type == "cycle":
            stop.set()
        assert lane == "plain"
    assert "lookup" not in order(engine)


def test_a_failed_lane_stops_the_other() -> None:
    def fail(drafter: str, index: int) -> None:
        if drafter == "lookup" and index == 2:
            raise UserError("It failed: try again.")

    ends = dict(run(FakeEngine(fail=fail), "alternating", tokens=50))  # the last of each lane
    assert ends["speculative"] == RunFailed(message="It failed: try again.")
    assert isinstance(ends["plain"], RunFinished)
    assert ends["plain"].reason == "cancelled"


def test_interrupted_lanes_that_began_say_so() -> None:
    engine = FakeEngine()
    starts: dict[Lane, Callable[[], Iterator[Event]]] = {
        "speculative": partial(
            engine.decode, None, "p", request().settings, cancelled=lambda: False
        ),
        "plain": partial(engine.decode, None, "p", request().settings, cancelled=lambda: False),
    }
    made: list[tuple[Lane, Event]] = []
    made.extend(
        run_lanes(
            starts,
            alternating=False,
            stop=lambda: None,
            stopped=lambda: False,
            interrupted=lambda: len(made) >= 3,
        )
    )
    assert made[-1] == ("speculative", RunFailed(message=INTERRUPTED))
    assert {lane for lane, _ in made} == {"speculative"}
