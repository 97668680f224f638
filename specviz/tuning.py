"""Which drafter and γ to take, and why: read off a measured grid."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from specviz.bench import BenchResult, Row
from specviz.settings import PLAIN

HOPELESS = 0.75
"""A cell that is slower than this part of the best one is not worth a second look."""


class Recommendation(BaseModel):
    """A setting, with what speaks for it."""

    model_config = ConfigDict(frozen=True)

    drafter: str
    """`none` where nothing is faster than plain decoding."""
    gamma: int
    speedup: float
    certain: bool
    """Whether the whole interval over several prompts lies above 1, or for `none` below."""
    next_survival: float | None = None
    """How often one more proposal would be kept with all before it."""
    next_cost: float | None = None
    """What one more proposal would cost, in passes of the target."""


def recommend(result: BenchResult) -> Recommendation:
    """The fastest cell, if it is faster than plain decoding.

    Raises:
        ValueError: if nothing but plain decoding was measured.
    """
    drafted = [row for row in result.rows if row.drafter != PLAIN]
    if not drafted:
        raise ValueError("only plain decoding was measured")
    best = max(drafted, key=lambda row: row.speedup)
    several = result.environment.prompts > 1
    if best.speedup <= 1:
        certain = several and best.speedup_high < 1
        return Recommendation(drafter=PLAIN, gamma=0, speedup=1.0, certain=certain)
    return Recommendation(
        drafter=best.drafter,
        gamma=best.gamma,
        speedup=best.speedup,
        certain=several and best.speedup_low > 1,
        next_survival=_next_survival(best, drafted),
        next_cost=_next_cost(best, result.environment.pass_cost),
    )


def prediction_error(result: BenchResult) -> tuple[float, Row] | None:
    """The mean of |predicted ÷ measured − 1| over the drafting cells, and the cell furthest off."""
    errors = [
        (abs(row.predicted_speedup / row.speedup - 1), row)
        for row in result.rows
        if row.drafter != PLAIN and row.predicted_speedup is not None
    ]
    if not errors:
        return None
    worst = max(errors, key=lambda error: error[0])[1]
    return sum(error for error, _ in errors) / len(errors), worst


def _next_survival(best: Row, rows: list[Row]) -> float | None:
    """The share of cycles that would keep γ + 1 proposals.

    As the drafter's next longer drafts have it; without any, the last position's conditional
    acceptance speaks for the next.
    """
    longer = [row for row in rows if row.drafter == best.drafter and row.gamma > best.gamma]
    if longer:
        survival = min(longer, key=lambda row: row.gamma).survival
        return survival[best.gamma] if len(survival) > best.gamma else 0.0
    if len(best.conditional_acceptance) < best.gamma:
        return None
    return best.survival[-1] * (best.conditional_acceptance[-1] or 0.0)


def _next_cost(best: Row, pass_cost: dict[int, float]) -> float | None:
    """c + v(γ + 2) − v(γ + 1)."""
    longer, own = pass_cost.get(best.gamma + 2), pass_cost.get(best.gamma + 1)
    if longer is None or own is None:
        return None
    return best.draft_cost + longer - own
