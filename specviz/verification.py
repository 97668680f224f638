"""The acceptance rule: tensors in, verdict out.

Leviathan, Kalman, Matias 2023 (arXiv 2211.17192), algorithm 1, and Chen et al. 2023
(arXiv 2302.01318): keep x ~ q with probability min(1, p(x)/q(x)); at the first refusal draw
from norm(max(0, p − q)) and stop; if all are kept draw one more from p. What comes out is
distributed as p, whatever q is, as long as x was drawn from the q that is given here.

Greedy decoding is the same rule with a one-hot p: the ratio is 0 or 1 and the dice never
matter. A copied or argmax proposal has a one-hot q.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.sampling import draw


@dataclass(frozen=True)
class Verdict:
    """What the rule decided for B rows of d proposals over V tokens."""

    accepted: Tensor
    """[B] proposals kept, from the first on."""
    accept_probability: Tensor
    """[B, d] min(1, p(x)/q(x))."""
    p: Tensor
    """[B, d] p(x)."""
    q: Tensor
    """[B, d] q(x)."""
    token: Tensor
    """[B] the token behind the kept ones: resampled if accepted < d, else the bonus."""
    source: Tensor
    """[B, V] the distribution that `token` was drawn from: the residual, or p."""


def verify(
    p: Tensor, q: Tensor, proposals: Tensor, u: Tensor, generator: torch.Generator
) -> Verdict:
    """Judge the proposals of B rows.

    Args:
        p: [B, d + 1, V] the target's distributions; row i is for proposal i, the last for the
            token behind them all.
        q: [B, d, V] the drafter's, from which the proposals were drawn.
        proposals: [B, d] token ids.
        u: [B, d] uniform draws from [0, 1), one a position.
        generator: for the draw of the resampled or bonus token.
    """
    drafted = proposals.shape[1]
    p_x = p[:, :drafted].gather(-1, proposals[..., None]).squeeze(-1)
    q_x = q.gather(-1, proposals[..., None]).squeeze(-1)
    # u < p/q without the division: right for a tiny q, and never true where p is 0.
    kept = u * q_x < p_x
    accepted = kept.long().cumprod(1).sum(1)

    row = accepted[:, None, None].expand(-1, 1, p.shape[-1])
    p_next = p.gather(1, row).squeeze(1)
    # Behind the last proposal nothing was proposed, so q is 0 and the residual is p itself.
    q_next = torch.nn.functional.pad(q, (0, 0, 0, 1)).gather(1, row).squeeze(1)
    source = residual(p_next, q_next)
    return Verdict(
        accepted=accepted,
        accept_probability=accept_probability(p_x, q_x),
        p=p_x,
        q=q_x,
        token=draw(source, generator),
        source=source,
    )


def accept_probability(p_x: Tensor, q_x: Tensor) -> Tensor:
    """min(1, p(x)/q(x)), elementwise; 1 where q(x) underflowed to 0 but p(x) did not."""
    tiny = torch.finfo(q_x.dtype).tiny
    return (p_x / q_x.clamp_min(tiny)).clamp_max(1.0)


def residual(p: Tensor, q: Tensor) -> Tensor:
    """norm(max(0, p − q)), [..., V].

    Where p = q nothing is left: a rejection has probability 0 there, and can only come of
    rounding. p itself is then the right distribution, and finite.
    """
    left = (p - q).clamp_min(0.0)
    mass = left.sum(-1, keepdim=True)
    return torch.where(mass > 0, left / mass.clamp_min(torch.finfo(p.dtype).tiny), p)
