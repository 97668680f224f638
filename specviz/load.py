"""A server with many users, simulated from measured costs.

All active users make a cycle together: each is given the draft of a recorded cycle, chosen by
chance, and one pass over all their tokens checks them. The prompts' passes are left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

Numbers = np.ndarray[Any, np.dtype[Any]]

CYCLES = 1000
"""Of a simulation of constant load."""


class Draft(BaseModel):
    """A recorded cycle."""

    model_config = ConfigDict(frozen=True)

    accepted: int
    confidence: tuple[float, ...]
    """Of each guess, how likely it and all before it are, in the drafter's mind: never rising.
    A copied guess counts as certain."""

    @property
    def drafted(self) -> int:
        return len(self.confidence)


class LoadCosts(BaseModel):
    """What passes and guesses cost, and what guesses come to."""

    model_config = ConfigDict(frozen=True)

    batches: tuple[int, ...]
    lengths: tuple[int, ...]
    seconds: tuple[tuple[float, ...], ...]
    """T(B, k): a row for each batch size, a column for each length."""
    draft_cost: float
    """c: a guess in passes over one token; with B users, in passes over one token of each."""
    overhead: float
    """Seconds a cycle and user for sampling and bookkeeping, where nothing was drafted."""
    drafting_overhead: float
    """The same where something was."""
    drafts: tuple[Draft, ...]

    def pass_seconds(self, users: int, lengths: Numbers) -> Numbers:
        """T(B, k) for each k, on straight lines between what was measured, and on beyond it."""
        by_batch = np.array([_along(lengths, self.lengths, np.array(row)) for row in self.seconds])
        return _along(np.array(float(users)), self.batches, by_batch)


@dataclass(frozen=True)
class Policy:
    """How much of a draft is made, and how much of it is checked."""

    gamma: int
    """Guesses that are made."""
    least_confidence: float = 0.0
    """Guesses that are less likely than this to be kept are not checked."""


Choose = Callable[[int], Policy]
"""The policy for a number of active users."""


@dataclass(frozen=True)
class Speed:
    """Of a server under constant load."""

    users: int
    per_user: float
    """Tokens a second."""

    @property
    def total(self) -> float:
        return self.users * self.per_user


class Server:
    """The costs, ready to be drawn from."""

    def __init__(self, costs: LoadCosts, seed: int = 0) -> None:
        self.costs = costs
        self._seed = seed
        self._chosen: dict[int, Policy] = {}
        most = max((draft.drafted for draft in costs.drafts), default=0)
        self._accepted = np.array([draft.accepted for draft in costs.drafts])
        self._confidence = np.zeros((len(costs.drafts), most))
        for row, draft in enumerate(costs.drafts):
            self._confidence[row, : draft.drafted] = draft.confidence

    @property
    def most(self) -> int:
        """The longest draft that was recorded."""
        return self._confidence.shape[1]

    def cycles(self, drafts: Numbers, policy: Policy) -> tuple[Numbers, Numbers]:
        """What cycles with these drafts come to.

        Args:
            drafts: [C, users] of each cycle and user, which recorded draft it is.
            policy: how much of them is made and checked.

        Returns:
            [C, users] the tokens that each gets, and [C] the seconds that it takes.
        """
        made = self._confidence[drafts, : policy.gamma]
        checked = ((made > 0) & (made >= policy.least_confidence)).sum(-1)
        tokens = np.minimum(self._accepted[drafts], checked) + 1
        steps = (made > 0).sum(-1).max(-1)
        costs, users = self.costs, drafts.shape[1]
        single = costs.pass_seconds(users, np.array(1.0))
        overhead = np.where(steps > 0, costs.drafting_overhead, costs.overhead)
        checking = costs.pass_seconds(users, (checked + 1).mean(-1))
        return tokens, steps * costs.draft_cost * single + checking + users * overhead

    def constant_load(self, users: int, policy: Policy, cycles: int = CYCLES) -> Speed:
        """So many users, all the time. The same seed gives every policy the same drafts."""
        chance = np.random.default_rng(self._seed)
        drafts = chance.integers(len(self._accepted), size=(cycles, users))
        tokens, seconds = self.cycles(drafts, policy)
        return Speed(users, float(tokens.sum() / seconds.sum() / users))

    @cached_property
    def policies(self) -> list[Policy]:
        """What a load-aware server chooses from; plain decoding is among them."""
        gammas = [gamma for gamma in (1, 2, 3, 4, 6, 8) if gamma <= self.most]
        return [Policy(0)] + [
            Policy(gamma, least) for gamma in gammas for least in (0.0, 0.1, 0.3, 0.5)
        ]

    def load_aware(self, users: int) -> Policy:
        """The policy that serves most tokens a second with so many users."""
        if users not in self._chosen:
            self._chosen[users] = max(
                self.policies, key=lambda policy: self.constant_load(users, policy).total
            )
        return self._chosen[users]


FIXED = (0, 2, 4, 8)
"""γs that a load-aware server is compared with; 0 is plain decoding."""
USERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


@dataclass(frozen=True)
class Loads:
    """Simulated speeds for more and more users."""

    fixed: dict[int, list[Speed]]
    """By γ."""
    load_aware: list[Speed]

    def loses_from(self, gamma: int) -> int | None:
        """The number of users from which on this γ is slower than plain decoding; None if none."""
        start = None
        for ours, plain in zip(self.fixed[gamma], self.fixed[0], strict=True):
            start = (start or ours.users) if ours.total < plain.total else None
        return start


def under_load(server: Server) -> Loads:
    """Every policy with every number of users that lies within what was measured."""
    users = [number for number in USERS if number <= max(server.costs.batches)]
    return Loads(
        fixed={
            gamma: [server.constant_load(number, Policy(gamma)) for number in users]
            for gamma in FIXED
        },
        load_aware=[server.constant_load(number, server.load_aware(number)) for number in users],
    )


@dataclass(frozen=True)
class Request:
    """Somebody wants an answer."""

    arrives: float
    """Seconds."""
    tokens: int


@dataclass(frozen=True)
class Served:
    """What became of it."""

    request: Request
    began: float
    ended: float
    tokens: int

    @property
    def waited(self) -> float:
        return self.began - self.request.arrives


def arrivals(rate: float, count: int, tokens: int, seed: int = 0) -> list[Request]:
    """Requests at random times, `rate` a second on average."""
    gaps = np.random.default_rng(seed).exponential(size=count) / rate
    return [Request(float(at), tokens) for at in np.cumsum(gaps)]


def serve(
    server: Server, requests: Sequence[Request], choose: Choose, slots: int, seed: int = 0
) -> list[Served]:
    """A queue, first come, first served: at most `slots` users are active at a time."""
    chance = np.random.default_rng(seed)
    coming = deque(sorted(requests, key=lambda request: request.arrives))
    active: list[tuple[Request, float, int]] = []
    served: list[Served] = []
    now = 0.0
    while coming or active:
        if not active:
            now = max(now, coming[0].arrives)
        while coming and coming[0].arrives <= now and len(active) < slots:
            active.append((coming.popleft(), now, 0))
        drafts = chance.integers(len(server.costs.drafts), size=(1, len(active)))
        tokens, seconds = server.cycles(drafts, choose(len(active)))
        now += float(seconds[0])
        still = []
        for (request, began, has), gets in zip(active, tokens[0].tolist(), strict=True):
            has = min(has + gets, request.tokens)
            if has == request.tokens:
                served.append(Served(request, began, now, has))
            else:
                still.append((request, began, has))
        active = still
    return served


def waiting(
    server: Server, choose: Choose, parts: Sequence[float], *, tokens: int = 48, count: int = 150
) -> list[tuple[float, float]]:
    """(requests a second, seconds that one waits on average), for more and more requests.

    Args:
        server: whose costs.
        choose: the policy.
        parts: of what plain decoding could serve at most.
        tokens: of each answer.
        count: requests that are served.
    """
    slots = max(server.costs.batches)
    most = server.constant_load(slots, Policy(0)).total / tokens
    points = []
    for part in parts:
        served = serve(server, arrivals(part * most, count, tokens), choose, slots)
        points.append((part * most, sum(one.waited for one in served) / count))
    return points


def _along(at: Numbers, places: Sequence[float], values: Numbers) -> Numbers:
    """Linear between neighbours, and beyond the ends along the last stretch.

    `values` has a row for each of `places`; a row may itself hold several values.
    """
    if len(places) == 1:
        return np.broadcast_to(values[0], np.broadcast_shapes(at.shape, values[0].shape))
    right = np.clip(np.searchsorted(places, at), 1, len(places) - 1)
    left, positions = right - 1, np.array(places, dtype=float)
    part = (at - positions[left]) / (positions[right] - positions[left])
    result: Numbers = values[left] + part * (values[right] - values[left])
    return result
