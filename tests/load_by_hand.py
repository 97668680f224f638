"""Costs under load with round numbers, for tests of what is simulated from them."""

from __future__ import annotations

from specviz.load import Draft, LoadCosts
from specviz.load_costs import MeasuredLoad
from tests.costs_by_hand import costs

ALL_KEPT = Draft(accepted=4, confidence=(0.9, 0.8, 0.7, 0.6))
NONE_KEPT = Draft(accepted=0, confidence=(0.2, 0.1, 0.05, 0.02))
NOTHING = Draft(accepted=0, confidence=())


def load_costs(*drafts: Draft, c: float = 0.1, slope: float = 0.0) -> LoadCosts:
    """T(1, k) = 1 s; T(2, k) = 1 + slope·(k − 1); T(4, k) = 2 · that."""
    row = [1 + slope * (k - 1) for k in (1, 2, 5)]
    return LoadCosts(
        batches=(1, 2, 4),
        lengths=(1, 2, 5),
        seconds=((1.0, 1.0, 1.0), tuple(row), tuple(2 * value for value in row)),
        draft_cost=c,
        overhead=0.0,
        drafting_overhead=0.0,
        drafts=drafts or (ALL_KEPT,),
    )


MEASURED = MeasuredLoad(
    machine=costs(1.0).machine,
    drafter="mtp",
    costs=load_costs(ALL_KEPT, NONE_KEPT, slope=2.0),
    speedup=1.5,
)
