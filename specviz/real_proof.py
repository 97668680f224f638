"""Losslessness of the whole engine with a real model: two tokens against their exact joint.

The text is held to a few tokens of the vocabulary, so that every pair of them can be counted
and its probability worked out by the target alone. Each run of the engine gives one pair.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from specviz.engine import decode
from specviz.errors import UserError
from specviz.proof import Exercised, PairTest, chi_square, critical_value
from specviz.runtime.language_model import LanguageModel
from specviz.sampling import Sampler, draw
from specviz.settings import Settings
from specviz.trace import collect

TOKENS = 5
DEFAULT_RUNS = 600
FEWEST_RUNS = 100
PROMPT = "A list of colours: red, green, blue,"
_RAREST = 5.0
"""A cell that is expected less often is counted together with the others of its kind."""


class RealProof(PairTest):
    """What the test came to."""

    target: str
    drafter: str
    temperature: float
    top_p: float
    runs: int
    tokens: tuple[str, ...]


def prove_real(
    target: LanguageModel,
    settings: Settings,
    *,
    runs: int = DEFAULT_RUNS,
    prompt: str = PROMPT,
    allowed: tuple[int, ...] | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> RealProof:
    """Sample the engine `runs` times and test the second and third token that it writes.

    The first comes from the prompt's pass, where nothing is proposed yet; the joint is summed
    over it.

    Args:
        target: the model.
        settings: drafter, and how to sample; not greedy.
        runs: each gives one pair.
        prompt: continued as it stands.
        allowed: the ids that a text may hold; by default the likeliest behind the prompt.
        progress: told how many of how many runs are done.

    Raises:
        UserError: if the settings leave nothing to test.
    """
    if settings.greedy:
        raise UserError("A proof needs chance: choose a temperature above 0.")
    if runs < FEWEST_RUNS:
        raise UserError(f"The test needs at least {FEWEST_RUNS} runs.")
    allowed = allowed or likeliest(target, prompt)
    chosen = settings.model_copy(
        update={
            "raw": True,
            "gamma": 2,
            "max_new_tokens": 4,
            "min_new_tokens": 4,
            "allowed_token_ids": allowed,
        }
    )
    joint = exact_joint(target, chosen, prompt)
    place = {token: number for number, token in enumerate(allowed)}
    ours, drafters = torch.zeros(2, len(allowed), len(allowed), dtype=torch.long)
    copied = 0
    accepted = rejected = 0
    for done in range(runs):
        run = chosen.model_copy(update={"seed": chosen.seed + done})
        trace = collect(decode(target, prompt, run))
        second, third = (place[token] for token in trace.token_ids[1:3])
        ours[second, third] += 1
        proposals = [proposal.token for proposal in trace.cycles[0].proposals]
        if len(proposals) == 2 and all(token in place for token in proposals):
            drafters[place[proposals[0]], place[proposals[1]]] += 1
        elif proposals:
            copied += 1
        accepted += sum(cycle.accepted for cycle in trace.cycles)
        rejected += sum(cycle.tested - cycle.accepted for cycle in trace.cycles)
        progress(done + 1, runs)
    if drafters.sum() + copied == 0:
        raise UserError(f"{settings.drafter} proposed nothing, so nothing was tested.")
    chance = draw(joint.flatten().expand(runs, -1), torch.Generator().manual_seed(settings.seed))
    statistic, degrees = _test(ours, joint)
    # What was copied from elsewhere cannot come from the target at all.
    control = float("inf") if copied else _test(drafters, joint)[0]
    floor, _ = _test(torch.bincount(chance, minlength=joint.numel()).reshape(joint.shape), joint)
    return RealProof(
        target=target.id,
        drafter=settings.drafter,
        temperature=settings.temperature,
        top_p=settings.top_p,
        runs=runs,
        tokens=tuple(target.pieces[token] for token in allowed),
        statistic=statistic,
        degrees_of_freedom=degrees,
        critical_value=critical_value(degrees),
        control_statistic=control,
        noise_floor=floor,
        exercised=Exercised(accepted=accepted, rejected=rejected, resampled=rejected),
    )


@torch.inference_mode()
def likeliest(target: LanguageModel, prompt: str) -> tuple[int, ...]:
    """The ids that the target finds likeliest behind a prompt, but for those that end it."""
    logits = _logits(target, target.encode(prompt, raw=True))[0, : target.vocabulary_size].clone()
    logits[sorted(target.end_ids)] = -torch.inf
    return tuple(logits.topk(TOKENS).indices.tolist())


@torch.inference_mode()
def exact_joint(target: LanguageModel, settings: Settings, prompt: str) -> Tensor:
    """The probability of each pair of allowed tokens, second and third of the answer.

    [n, n], n the number of allowed ids; worked out by the target's passes over every beginning.
    """
    allowed = settings.allowed_token_ids or ()
    ids = target.encode(prompt, raw=True)
    sampler = Sampler(
        settings,
        vocabulary_size=target.vocabulary_size,
        prompt_length=len(ids),
        end_ids=target.end_ids,
        device=target.device,
    )

    def following(*tokens: int) -> Tensor:
        context = torch.tensor([*ids, *tokens], device=target.device)
        scores = sampler.scores(context, _logits(target, [*ids, *tokens]))
        return sampler.distribution(scores)[0, list(allowed)].double().cpu()

    joint = torch.zeros(len(allowed), len(allowed), dtype=torch.float64)
    for p_first, first in zip(following(), allowed, strict=True):
        for row, (p_second, second) in enumerate(zip(following(first), allowed, strict=True)):
            if p_first * p_second > 0:
                joint[row] += p_first * p_second * following(first, second)
    return joint


def _logits(target: LanguageModel, ids: list[int]) -> Tensor:
    """[1, V] of what follows `ids`."""
    return target.open().forward(torch.tensor(ids, device=target.device), keep=1).logits


def _test(counts: Tensor, joint: Tensor) -> tuple[float, int]:
    """The chi-square and its degrees of freedom, rare cells taken together.

    A pair that cannot occur and did is infinitely far off.
    """
    if counts[joint == 0].sum() > 0:
        return float("inf"), max(1, int((joint > 0).sum()) - 1)
    rare = joint * counts.sum() < _RAREST
    observed, expected = counts[~rare], joint[~rare]
    if rare.any() and joint[rare].sum() > 0:
        observed = torch.cat([observed, counts[rare].sum()[None]])
        expected = torch.cat([expected, joint[rare].sum()[None]])
    return chi_square(observed, expected), max(1, len(observed) - 1)
