"""Which drafter and γ to take, and why: read off a measured grid."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from specviz.bench import PLAIN, BenchResult, Row

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
    """Whether the whole interval lies above 1."""
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
    if best.speedup <= 1:
        return Recommendation(drafter=PLAIN, gamma=0, speedup=1.0, certain=best.speedup_high < 1)
    return Recommendation(
        drafter=best.drafter,
        gamma=best.gamma,
        speedup=best.speedup,
        certain=best.speedup_low > 1,
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
    """Π of the conditional acceptances up to position γ + 1.

    That of the position beyond γ comes from the drafter's next longer drafts, or else is taken
    to be that of the last.
    """
    if len(best.conditional_acceptance) < best.gamma:
        return None
    longer = [
        row
        for row in rows
        if row.drafter == best.drafter and len(row.conditional_acceptance) > best.gamma
    ]
    nearest = min(longer, key=lambda row: row.gamma, default=best)
    further = nearest.conditional_acceptance[: best.gamma + 1][-1]
    survival = further or 0.0
    for rate in best.conditional_acceptance[: best.gamma]:
        survival *= rate or 0.0
    return survival


def _next_cost(best: Row, pass_cost: dict[int, float]) -> float | None:
    """c + v(γ + 2) − v(γ + 1)."""
    longer, own = pass_cost.get(best.gamma + 2), pass_cost.get(best.gamma + 1)
    if longer is None or own is None:
        return None
    return best.draft_cost + longer - own
