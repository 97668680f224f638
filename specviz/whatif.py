"""A recorded run, judged again without a model: shorter drafts, other dice.

Every recorded cycle is taken where it stood. Had one of them ended otherwise, the run would have
gone on from another place; so this is an estimate of τ, not the text that would have come out.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from specviz.events import Cycle
from specviz.metrics import judged


@dataclass(frozen=True)
class Rejudged:
    """Cycles, as they might have ended."""

    accepted: tuple[int, ...]
    """Of each cycle, the proposals that were kept."""

    @property
    def mean_acceptance_length(self) -> float:
        """The mean acceptance length τ."""
        return 1 + sum(self.accepted) / len(self.accepted)

    def histogram(self, gamma: int) -> list[float]:
        """The share of cycles that kept 0, 1, …, γ proposals."""
        counts = Counter(self.accepted)
        return [counts[kept] / len(self.accepted) for kept in range(gamma + 1)]


def rejudge(cycles: Sequence[Cycle], gamma: int, seed: int | None = None) -> Rejudged:
    """Judge the first `gamma` proposals of each cycle again.

    Args:
        cycles: recorded, at least one.
        gamma: no more than was recorded has any effect.
        seed: of new dice, which every proposal is tested with, those too that were never reached;
            None keeps the recorded verdicts.
    """
    dice = random.Random(seed)
    return Rejudged(
        tuple(_accepted(cycle, gamma, None if seed is None else dice) for cycle in cycles)
    )


def _accepted(cycle: Cycle, gamma: int, dice: random.Random | None) -> int:
    if dice is None:
        return min(cycle.accepted, gamma)
    kept = 0
    for proposal in cycle.proposals[: min(gamma, judged(cycle))]:
        if dice.random() >= proposal.accept_probability:
            break
        kept += 1
    return kept
