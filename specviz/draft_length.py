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

    It maximises (1 + Σᵢ Πⱼ≤ᵢ aⱼ) / (γ·C + T(γ + 1)): tokens that a cycle emits by the seconds
    that it takes. aⱼ is how often the j-th proposal of a draft was kept when it was tested, C a
    draft step's time and T(k) that of all else in a cycle with a pass over k tokens. Older cycles
    count less. Where nothing pays, γ is 0, and now and then one proposal is made to see whether
    that has changed.
    """

    MEMORY = 0.95
    """What a count is still worth a cycle later."""
    PRIOR = 2.0
    """Tests that an estimate starts with, before there are any."""
    ACCEPTANCE = 0.6
    STEP = 0.08
    """C as a part of T(1), until it was timed."""
    SLOPE = 0.1
    """What one more token adds to a pass, as a part of T(1), until that was timed."""
    PATIENCE = 16
    """Plain steps between two attempts."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._tested = [0.0] * most
        self._accepted = [0.0] * most
        self._step: float | None = None
        self._passes: dict[int, float] = {}
        self._plain_steps = 0

    def choose(self) -> int:
        best = max(range(self._most + 1), key=self._tokens_per_second)
        if best == 0 and self._plain_steps >= self.PATIENCE:
            best = min(1, self._most)
        return best

    def learn(self, cycle: Cycle) -> None:
        self._plain_steps = 0 if cycle.gamma else self._plain_steps + 1
        rest = cycle.seconds.total - cycle.seconds.draft
        self._passes[cycle.drafted + 1] = _nearer(self._passes.get(cycle.drafted + 1), rest)
        if cycle.drafted:
            self._step = _nearer(self._step, cycle.seconds.draft / cycle.drafted)
        for position in range(min(cycle.tested, self._most)):
            self._tested[position] = self.MEMORY * self._tested[position] + 1
            kept = position < cycle.accepted
            self._accepted[position] = self.MEMORY * self._accepted[position] + kept

    def _tokens_per_second(self, gamma: int) -> float:
        tokens, survival = 1.0, 1.0
        for position in range(gamma):
            survival *= self._acceptance(position)
            tokens += survival
        single = self._pass(1)
        step = self.STEP * single if self._step is None else self._step
        return tokens / (gamma * step + self._pass(gamma + 1))

    def _acceptance(self, position: int) -> float:
        """Of this position, held to the mean of all where it was hardly ever tested."""
        tested, accepted = sum(self._tested), sum(self._accepted)
        mean = (accepted + self.PRIOR * self.ACCEPTANCE) / (tested + self.PRIOR)
        return (self._accepted[position] + self.PRIOR * mean) / (
            self._tested[position] + self.PRIOR
        )

    def _pass(self, tokens: int) -> float:
        """T(k): as timed, or along a line through what was timed."""
        if tokens in self._passes:
            return self._passes[tokens]
        if not self._passes:
            return 1 + self.SLOPE * (tokens - 1)
        nearest = min(self._passes, key=lambda k: abs(k - tokens))
        shortest, longest = min(self._passes), max(self._passes)
        if shortest == longest:
            at = self._passes[nearest]
            return at * (1 + self.SLOPE * (tokens - 1)) / (1 + self.SLOPE * (nearest - 1))
        rise = (self._passes[longest] - self._passes[shortest]) / (longest - shortest)
        return self._passes[nearest] + max(0.0, rise) * (tokens - nearest)


def _nearer(known: float | None, seconds: float) -> float:
    """A running mean, in which a single late pass counts little."""
    if known is None:
        return seconds
    return known + 0.2 * (min(seconds, 2 * known) - known)
