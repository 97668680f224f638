"""Losslessness, by statistics: pairs of tokens against the exact joint distribution.

A target and a drafter that disagree, over a vocabulary of five, the second token depending
on the first. The pairs that the rule lets out are counted; a chi-square test says whether
they come from the target's distribution. A proof that cannot fail proves nothing: the
drafter's own pairs must fail it by far, and so must each known fault of an implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from pydantic import BaseModel, ConfigDict, computed_field
from scipy.stats import chi2
from torch import Tensor

from specviz.errors import UserError
from specviz.sampling import Sampler, draw
from specviz.settings import Settings
from specviz.verification import Verdict, residual, verify

VOCABULARY = 5
SIGNIFICANCE = 0.001
DEFAULT_PAIRS = 200_000
MOST_PAIRS = 5_000_000
_WALK_STEPS = 80


class Exercised(BaseModel):
    """How often each branch of the rule was taken: a branch never taken is not proved."""

    model_config = ConfigDict(frozen=True)

    accepted: int
    rejected: int
    resampled: int


class PairTest(BaseModel):
    """A chi-square test of pairs, and whether it could have failed."""

    model_config = ConfigDict(frozen=True)

    statistic: float
    degrees_of_freedom: int
    critical_value: float
    """What chance exceeds once in a thousand."""
    control_statistic: float
    """The drafter's own pairs, put to the same test."""
    noise_floor: float
    """As many pairs drawn from the joint distribution itself: what chance alone comes to."""
    exercised: Exercised

    @computed_field  # type: ignore[prop-decorator]
    @property
    def passed(self) -> bool:
        """Under the critical value, which the drafter's own exceed, with every branch taken."""
        took = self.exercised
        return (
            self.statistic < self.critical_value < self.control_statistic
            and min(took.accepted, took.rejected, took.resampled) > 0
        )


class Proof(PairTest):
    """What the test came to."""

    pairs: int
    seed: int
    fault: str | None
    walk: tuple[tuple[int, float], ...]
    """The statistic on the way: after so many pairs."""
    counts: tuple[tuple[int, ...], ...]
    """Pairs observed: rows by the first token, columns by the second."""
    expected: tuple[tuple[float, ...], ...]
    faults: tuple[str, ...]


@dataclass(frozen=True)
class World:
    """A model of two tokens, as logits."""

    first: Tensor
    """[V]"""
    second: Tensor
    """[V, V] row i: behind the first token i."""

    def distribution(self, sampler: Sampler) -> World:
        """The same as probabilities, through the settings' processors."""
        nothing = torch.zeros(1, dtype=torch.long)
        return World(
            sampler.distribution(sampler.scores(nothing, self.first[None]))[0],
            sampler.distribution(sampler.scores(nothing, self.second)),
        )

    def joint(self) -> Tensor:
        """[V, V] the probability of each pair."""
        return self.first[:, None] * self.second


TARGET = World(
    torch.tensor([1.2, 0.3, -0.4, 0.8, -1.0]),
    torch.tensor(
        [
            [0.1, 1.1, -0.6, 0.4, 0.9],
            [1.0, -0.8, 0.6, 0.2, -0.2],
            [-0.5, 0.7, 1.2, -0.9, 0.3],
            [0.8, 0.1, -0.3, 1.3, -1.1],
            [-0.2, 0.5, 0.4, -0.7, 1.0],
        ]
    ),
)
SMALLEST_SHARE = 0.01
"""Of a token in a first distribution: less would leave cells that are too rare to be tested."""


def world_with(first: Sequence[float], like: World) -> World:
    """A world whose first token is distributed, after the processors, as given.

    Raises:
        UserError: if that is no distribution over the vocabulary that can be tested.
    """
    share = torch.tensor(first, dtype=torch.float64)
    usable = len(share) == VOCABULARY and bool((share >= SMALLEST_SHARE - 1e-9).all())
    if not usable or abs(float(share.sum()) - 1) > 1e-6:
        raise UserError(
            f"A distribution needs {VOCABULARY} shares of at least {SMALLEST_SHARE:.0%} "
            "that sum to 1: draw the bars again."
        )
    return World((share.log() * SETTINGS.temperature).float(), like.second)


def first_shares(world: World) -> list[float]:
    """How a world distributes the first token, after the processors."""
    return [float(share) for share in world.distribution(_sampler(0)).first.double()]


DRAFTER = World(TARGET.first.flip(0) * 0.8, TARGET.second.roll(1, dims=1) * 0.7)
SETTINGS = Settings(temperature=0.8)
"""Not 1, so that a q which was scored without the processors is another q."""


@dataclass(frozen=True)
class _Draft:
    tokens: Tensor
    """[B, d]"""
    q: Tensor
    """[B, d, V] what the test is told that they were drawn from."""


_Judge = Callable[[Tensor, _Draft, Tensor, torch.Generator], Verdict]


def _rule(p: Tensor, draft: _Draft, u: Tensor, generator: torch.Generator) -> Verdict:
    return verify(p, draft.q, draft.tokens, u, generator)


def _shared_u(p: Tensor, draft: _Draft, u: Tensor, generator: torch.Generator) -> Verdict:
    return _rule(p, draft, u[:, :1].expand_as(u), generator)


def _test_skipped(p: Tensor, draft: _Draft, u: Tensor, generator: torch.Generator) -> Verdict:
    return _rule(p, draft, torch.zeros_like(u), generator)


def _replaced(
    token: Callable[[Tensor, _Draft, Tensor, Tensor, torch.Generator], Tensor],
) -> _Judge:
    """The rule with another token in place of a rejected one."""

    def judge(p: Tensor, draft: _Draft, u: Tensor, generator: torch.Generator) -> Verdict:
        verdict = _rule(p, draft, u, generator)
        drafted = draft.tokens.shape[1]
        at = verdict.accepted.clamp_max(drafted - 1)[:, None]
        row = at[..., None].expand(-1, 1, p.shape[-1])
        p_at, q_at = (x.gather(1, row).squeeze(1) for x in (p, draft.q))
        wrong = token(p_at, draft, q_at, at, generator)
        rejected = verdict.accepted < drafted
        return Verdict(**{**vars(verdict), "token": torch.where(rejected, wrong, verdict.token)})

    return judge


@dataclass(frozen=True)
class _Procedure:
    """One way of drafting and judging: the right one, or one with a fault."""

    judge: _Judge = _rule
    argmax_draft: bool = False
    unprocessed_q: bool = False


_FAULTS: dict[str, _Procedure] = {
    "q-without-processors": _Procedure(unprocessed_q=True),
    "argmax-draft-with-softmax-q": _Procedure(argmax_draft=True),
    "residual-is-p": _Procedure(_replaced(lambda p, draft, q, at, g: draw(p, g))),
    "residual-is-argmax": _Procedure(
        _replaced(lambda p, draft, q, at, g: residual(p, q).argmax(-1))
    ),
    "one-u-for-all-positions": _Procedure(_shared_u),
    "test-skipped": _Procedure(_test_skipped),
    "rejected-token-kept": _Procedure(
        _replaced(lambda p, draft, q, at, g: draft.tokens.gather(1, at).squeeze(1))
    ),
}
FAULTS = tuple(_FAULTS)


def prove(
    pairs: int = DEFAULT_PAIRS,
    *,
    seed: int = 0,
    fault: str | None = None,
    target: World = TARGET,
    drafter: World = DRAFTER,
) -> Proof:
    """Sample pairs through the rule and test them; with a fault switched in if one is named.

    Raises:
        UserError: for an unknown fault, or a number of pairs that cannot be tested.
    """
    if fault is not None and fault not in _FAULTS:
        raise UserError(f"There is no fault “{fault}”: choose {', '.join(FAULTS)}.")
    p, q = (world.distribution(_sampler(seed)) for world in (target, drafter))
    joint = p.joint()
    if not 5 / float(joint.min()) <= pairs <= MOST_PAIRS:
        raise UserError(
            f"The test needs from {int(5 / float(joint.min())) + 1:,} to {MOST_PAIRS:,} pairs, "
            "so that even the rarest is expected five times."
        )
    procedure = _FAULTS[fault] if fault else _Procedure()
    sampled, exercised = sample_pairs(pairs, seed, procedure, target, drafter)
    counts = _count(sampled)
    return Proof(
        pairs=pairs,
        seed=seed,
        fault=fault,
        statistic=chi_square(counts, joint),
        degrees_of_freedom=joint.numel() - 1,
        critical_value=critical_value(joint.numel() - 1),
        control_statistic=chi_square(_count(_own_pairs(q, pairs, seed)), joint),
        noise_floor=chi_square(_count(_own_pairs(p, pairs, seed + 1)), joint),
        walk=_walk(sampled, joint),
        exercised=exercised,
        counts=tuple(tuple(row) for row in counts.tolist()),
        expected=tuple(tuple(row) for row in (joint * pairs).tolist()),
        faults=FAULTS,
    )


def chi_square(counts: Tensor, probabilities: Tensor) -> float:
    """Pearson's Σ (observed − expected)² / expected."""
    expected = probabilities.double() * counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())


def critical_value(degrees_of_freedom: int) -> float:
    """What a chi-square exceeds by chance with probability `SIGNIFICANCE`."""
    return float(chi2.ppf(1 - SIGNIFICANCE, degrees_of_freedom))


def _walk(pairs: Tensor, joint: Tensor) -> tuple[tuple[int, float], ...]:
    """The statistic from where the rarest pair is expected five times, in equal steps."""
    first = 5 / float(joint.min())
    ends = torch.linspace(first, len(pairs), _WALK_STEPS).long().tolist()
    counts = torch.zeros(joint.shape, dtype=torch.long)
    points, start = [], 0
    for end in ends:
        counts = counts + _count(pairs[start:end])
        points.append((end, chi_square(counts, joint)))
        start = end
    return tuple(points)


def sample_pairs(
    pairs: int, seed: int, procedure: _Procedure, target: World, drafter: World
) -> tuple[Tensor, Exercised]:
    """The pairs that came out, as numbers 5·first + second, and which branches they took.

    All pairs go through their cycles side by side: a cycle with γ = 2, and for those whose
    first proposal was rejected a second cycle with γ = 1.
    """
    sampler = _sampler(seed)
    generator = sampler.generator
    p, q = target.distribution(sampler), drafter.distribution(sampler)
    told = (
        World(drafter.first.softmax(-1), drafter.second.softmax(-1))
        if procedure.unprocessed_q
        else q
    )

    def propose(distribution: Tensor) -> Tensor:
        if procedure.argmax_draft:
            return distribution.argmax(-1)
        return draw(distribution, generator)

    one = propose(q.first.expand(pairs, -1))
    two = propose(q.second[one])
    draft = _Draft(
        torch.stack([one, two], 1),
        torch.stack([told.first.expand(pairs, -1), told.second[one]], 1),
    )
    # The row behind both proposals gives a bonus token, which is no part of the pair.
    p_rows = torch.stack([p.first.expand(pairs, -1), p.second[one], p.second[two]], 1)
    verdict = procedure.judge(p_rows, draft, torch.rand(pairs, 2, generator=generator), generator)
    first = torch.where(verdict.accepted >= 1, one, verdict.token)
    second = torch.where(verdict.accepted == 2, two, verdict.token)

    again = (verdict.accepted == 0).nonzero().squeeze(1)
    start = first[again]
    three = propose(q.second[start])
    verdict_again = procedure.judge(
        torch.stack([p.second[start], p.second[three]], 1),
        _Draft(three[:, None], told.second[start][:, None]),
        torch.rand(len(again), 1, generator=generator),
        generator,
    )
    second[again] = torch.where(verdict_again.accepted == 1, three, verdict_again.token)

    rejected = int((verdict.accepted < 2).sum() + (verdict_again.accepted < 1).sum())
    return first * VOCABULARY + second, Exercised(
        accepted=int(verdict.accepted.sum() + verdict_again.accepted.sum()),
        rejected=rejected,
        resampled=rejected,
    )


def _sampler(seed: int) -> Sampler:
    return Sampler(
        SETTINGS.model_copy(update={"seed": seed}),
        vocabulary_size=VOCABULARY,
        prompt_length=0,
        end_ids=frozenset(),
        device=torch.device("cpu"),
    )


def _own_pairs(q: World, pairs: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return draw(q.joint().flatten().expand(pairs, -1), generator)


def _count(pairs: Tensor) -> Tensor:
    return torch.bincount(pairs, minlength=VOCABULARY**2).reshape(VOCABULARY, VOCABULARY)
