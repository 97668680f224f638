"""A measured grid with round numbers, for tests of what is made of it."""

from __future__ import annotations

import operator
from itertools import accumulate
from typing import Any

from specviz.bench import BenchResult, Environment, Row
from tests.costs_by_hand import costs


def row(drafter: str, gamma: int, speedup: float, kept: tuple[float, ...] = (), **more: Any) -> Row:
    values: dict[str, Any] = {
        "drafter": drafter,
        "gamma": gamma,
        "temperature": 0.0,
        "tokens_per_s": 10 * speedup,
        "repeats": 2,
        "speedup": speedup,
        "speedup_low": 0.9 * speedup,
        "speedup_high": 1.1 * speedup,
        "worst_speedup": 0.8 * speedup,
        "by_category": {},
        "mean_acceptance_length": 1.0,
        "draft_acceptance_rate": 0.5,
        "conditional_acceptance": kept,
        "survival": tuple(accumulate(kept, operator.mul)),
        "draft_cost": 0.05,
        "predicted_speedup": speedup,
        "greedy_identical": True,
        "prompts_identical": 1,
        "ties": 0,
    }
    return Row(**{**values, **more})


def grid(*rows: Row, prompts: int = 3) -> BenchResult:
    machine = costs(1.0).machine.model_dump()
    v = {1: 1.0, 2: 1.1, 3: 1.2, 4: 1.35, 5: 1.5, 6: 1.8}
    return BenchResult(
        rows=rows,
        environment=Environment(
            **machine, prompts=prompts, repeats=2, max_new_tokens=8, pass_cost=v
        ),
    )


PLAIN = row("none", 0, 1.0)
GRID = grid(
    PLAIN,
    row("lookup", 2, 1.5, (0.8, 0.5), predicted_speedup=1.65),
    row("lookup", 4, 1.2, (0.8, 0.5, 0.4, 0.3)),
    row("mtp", 2, 1.3, (0.7, 0.4)),
)
