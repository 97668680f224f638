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
    pass over k tokens. Older cycles count less. Where nothing pays, γ is 0, and now and then one
    proposal is asked for to see whether that has changed.
    """

    MEMORY = 0.95
    """What a count is still worth when the next one comes."""
    PRIOR = 2.0
    """Cases that an estimate starts with, before there are any."""
    ACCEPTANCE = 0.6
    STEP = 0.08
    """C as a part of T(1), until it was timed."""
    SLOPE = 0.1
    """What one more token adds to a pass, as a part of T(1), until that was timed."""
    PATIENCE = 16
    """Plain steps between two attempts."""

    def __init__(self, most: int) -> None:
        self._most = most
        # Of each position: how often it was proposed when asked for, reached when all before it
        # were kept, and kept when it was reached.
        self._proposed, self._reached, self._kept = (
            [_Share() for _ in range(most)] for _ in range(3)
        )
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
        for position in range(min(cycle.gamma, self._most)):
            self._proposed[position].count(cycle.drafted > position, self.MEMORY)
            if cycle.accepted >= position:
                self._reached[position].count(cycle.tested > position, self.MEMORY)
            if cycle.tested > position:
                self._kept[position].count(cycle.accepted > position, self.MEMORY)

    def _tokens_per_second(self, gamma: int) -> float:
        tokens = survival = 1.0
        drafted = 0.0
        kept = _Share(
            sum(share.yes for share in self._kept), sum(share.cases for share in self._kept)
        ).rate(self.ACCEPTANCE, self.PRIOR)
        for position in range(gamma):
            reached = self._reached[position].rate(1.0, self.PRIOR)
            survival *= reached * self._kept[position].rate(kept, self.PRIOR)
            tokens += survival
            drafted += self._proposed[position].rate(1.0, self.PRIOR)
        step = self.STEP * self._pass(1) if self._step is None else self._step
        return tokens / (drafted * step + self._between(1 + drafted))

    def _between(self, tokens: float) -> float:
        """T at a mean of several lengths."""
        whole = int(tokens)
        shorter, longer = self._pass(whole), self._pass(whole + 1)
        return shorter + (tokens - whole) * (longer - shorter)

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


class _Share:
    """How often something happened, of the cases in which it could."""

    def __init__(self, yes: float = 0.0, cases: float = 0.0) -> None:
        self.yes = yes
        self.cases = cases

    def count(self, happened: bool, memory: float) -> None:
        self.yes = memory * self.yes + happened
        self.cases = memory * self.cases + 1

    def rate(self, expected: float, prior: float) -> float:
        """Held to what is expected where there were few cases."""
        return (self.yes + prior * expected) / (self.cases + prior)


def _nearer(known: float | None, seconds: float) -> float:
    """A running mean, in which a single late pass counts little."""
    if known is None:
        return seconds
    return known + 0.2 * (min(seconds, 2 * known) - known)
