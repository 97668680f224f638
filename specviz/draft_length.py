"""How many tokens to ask the drafter for: γ, cycle by cycle.

A policy decides only from what was known before the draw, so the rule stays exact whatever it
decides. To add one: write its class, then its line in `create`.
"""

from __future__ import annotations

from typing import Protocol

from specviz.events import Cycle
from specviz.settings import MAX_GAMMA, Settings


class DraftLength(Protocol):
    """Chooses γ before a cycle, and learns from it afterwards."""

    def choose(self) -> int:
        """γ of the next cycle; 0 is a plain step."""

    def learn(self, cycle: Cycle) -> None:
        """What became of it."""


def create(settings: Settings) -> DraftLength:
    """The policy that the settings ask for."""
    if settings.draft_length == "auto":
        return Auto(settings.gamma)
    if settings.draft_length == "schedule":
        return Schedule(settings.gamma)
    return Fixed(settings.gamma)  # a confidence ends a draft from within


class Fixed:
    """Always γ."""

    def __init__(self, gamma: int) -> None:
        self._gamma = gamma

    def choose(self) -> int:
        return self._gamma

    def learn(self, cycle: Cycle) -> None:
        """Nothing."""


class Schedule:
    """transformers' heuristic: two more after a draft that was kept whole, else one less."""

    def __init__(self, gamma: int) -> None:
        self._gamma = gamma

    def choose(self) -> int:
        return self._gamma

    def learn(self, cycle: Cycle) -> None:
        if cycle.drafted == 0:
            return
        if cycle.accepted == cycle.drafted:
            self._gamma = min(self._gamma + 2, MAX_GAMMA)
        else:
            self._gamma = max(self._gamma - 1, 1)


class Auto:
    """The γ that promises the most tokens a second, by what this run has shown so far.

    It maximises (1 + Σᵢ Sᵢ) / (d·C + T(d + 1)): tokens that a cycle emits by the seconds that it
    takes. Sᵢ is how often the i-th proposal is kept with all before it, d how many are proposed on
    average when γ are asked for, C a draft step's time and T(k) that of all else in a cycle with a
    pass over k tokens: a line, but for T(1), which has an estimate of its own, since some
    processors pass over two tokens faster than over one. Older cycles count less. Where nothing
    pays, γ is 0, and now and then one proposal is asked for to see whether that has changed.
    """

    MEMORY = 0.95
    """What a count is still worth when the next one comes."""
    PRIOR = 4.0
    """Cases that an estimate starts with, before there are any."""
    ACCEPTANCE = 0.7
    STEP = 0.05
    """C as a part of T(1), until it was timed."""
    SLOPE = 0.05
    """What one more token adds to a pass, as a part of T(1), until that was timed."""
    PATIENCE = 6
    """Plain steps between two attempts."""

    def __init__(self, most: int) -> None:
        self._most = most
        # Of each position: how often it was proposed when asked for, reached when all before it
        # were kept, and kept when it was reached.
        self._proposed, self._reached, self._kept = (
            [_Share() for _ in range(most)] for _ in range(3)
        )
        self._has_read = False
        self._steps = _Share()
        self._passes = _Line(self.SLOPE, self.MEMORY)
        self._plain_passes = _Share()
        self._plain_steps = 0

    def choose(self) -> int:
        """Goes through all γ once, from the shortest draft to the longest."""
        kept = _Share(
            sum(share.yes for share in self._kept), sum(share.cases for share in self._kept)
        ).rate(self.ACCEPTANCE, self.PRIOR)
        single, step = self._single(), self._step()
        best, most = 0, 1 / single
        tokens = survival = 1.0
        drafted = 0.0
        for position in range(self._most):
            reached = self._reached[position].rate(1.0, self.PRIOR)
            survival *= reached * self._kept[position].rate(kept, self.PRIOR)
            tokens += survival
            drafted += self._proposed[position].rate(1.0, self.PRIOR)
            promised = tokens / (drafted * step + self._passes.at(1 + drafted))
            if promised > most:
                best, most = position + 1, promised
        if best == 0 and self._plain_steps >= self.PATIENCE:
            return min(1, self._most)
        return best

    def learn(self, cycle: Cycle) -> None:
        self._plain_steps = 0 if cycle.gamma else self._plain_steps + 1
        seconds = cycle.seconds.total - cycle.seconds.draft
        self._passes.add(cycle.drafted + 1, seconds)
        if not cycle.drafted:
            self._plain_passes.count(seconds, self.MEMORY)
        elif self._has_read:
            step = min(cycle.seconds.draft / cycle.drafted, 2 * self._step())
            self._steps.count(step, self.MEMORY)
        else:  # a drafter's first step reads the whole prompt
            self._has_read = True
        for position in range(min(cycle.gamma, self._most)):
            self._proposed[position].count(cycle.drafted > position, self.MEMORY)
            if cycle.accepted >= position:
                self._reached[position].count(cycle.tested > position, self.MEMORY)
            if cycle.tested > position:
                self._kept[position].count(cycle.accepted > position, self.MEMORY)

    def _single(self) -> float:
        """T(1)."""
        return self._plain_passes.rate(self._passes.at(1), 1.0)

    def _step(self) -> float:
        """C."""
        return self._steps.rate(self.STEP * self._single(), 0.1)


class _Share:
    """How often something happened, of the cases in which it could; or a mean of other numbers."""

    def __init__(self, yes: float = 0.0, cases: float = 0.0) -> None:
        self.yes = yes
        self.cases = cases

    def count(self, happened: float, memory: float) -> None:
        self.yes = memory * self.yes + happened
        self.cases = memory * self.cases + 1

    def rate(self, expected: float, prior: float) -> float:
        """Held to what is expected where there were few cases."""
        return (self.yes + prior * expected) / (self.cases + prior)


class _Line:
    """T(k) as a line through what was timed, which starts with an expected slope."""

    WEIGHT = 12.0
    """Of the expected slope: as much as so many cycles one token apart."""

    def __init__(self, slope: float, memory: float) -> None:
        self._slope = slope
        self._memory = memory
        self._sums = [0.0] * 5

    def add(self, tokens: int, seconds: float) -> None:
        if self._sums[0]:  # a single late pass must not count for much
            seconds = min(seconds, 2 * self.at(tokens))
        new = (1.0, tokens, seconds, tokens * tokens, tokens * seconds)
        self._sums = [self._memory * old + one for old, one in zip(self._sums, new, strict=True)]

    def at(self, tokens: float) -> float:
        count, k, t, kk, kt = self._sums
        if not count:
            return 1 + self._slope * (tokens - 1)
        mean_k, mean_t = k / count, t / count
        expected = self._slope * mean_t / (1 + self._slope * (mean_k - 1))
        slope = (kt - k * mean_t + self.WEIGHT * expected) / (kk - k * mean_k + self.WEIGHT)
        return mean_t + max(0.0, slope) * (tokens - mean_k)
