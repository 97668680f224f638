"""What a cycle looked like, taken down for the reader: probabilities, dice, top lists."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from specviz.drafters import Draft
from specviz.events import Candidate, Proposal, Verdict
from specviz.runtime.token_text import Pieces
from specviz.sampling import softmax
from specviz.verification import residual

TOP = 8
"""Candidates that are kept of a distribution."""

_CHUNK = 64


class Recorder:
    """Makes proposals and top lists out of a cycle's tensors."""

    def __init__(self, pieces: Pieces, *, greedy: bool) -> None:
        self._pieces = pieces
        self._greedy = greedy

    def top(self, scores: Tensor, distribution: Tensor) -> list[tuple[Candidate, ...]]:
        """The largest of each row, [k, V].

        In a greedy run `distribution` is one-hot and says little: the softmax of the scores
        that the argmax was taken from is shown instead.
        """
        return self._largest(softmax(scores) if self._greedy else distribution)

    def proposals(
        self,
        draft: Draft,
        tokens: Sequence[int],
        p: Tensor,
        p_top: Sequence[tuple[Candidate, ...]],
        dice: Sequence[tuple[float, float, float, float]],
        verdicts: Sequence[Verdict],
    ) -> tuple[Proposal, ...]:
        """The d proposals of a cycle.

        Args:
            tokens: their ids.
            p: [d, V] the target's distributions.
            p_top: the target's top lists.
            dice: for each (p(x), q(x), accept probability, u).
            verdicts: what became of each.
        """
        if not tokens:
            return ()
        if draft.scores is None:  # copied: q has one candidate
            q_top: Sequence[tuple[Candidate, ...]] = [
                ((token, self._pieces[token], 1.0),) for token in tokens
            ]
            confidence: Sequence[float | None] = [None] * len(tokens)
        else:
            q_top = self.top(draft.scores, draft.q)
            confidence = [top[0][2] for top in q_top]
        residual_top = self._largest(residual(p, draft.q))
        overlap = torch.minimum(p, draft.q).sum(-1).tolist()
        return tuple(
            Proposal.model_construct(
                token=token,
                text=self._pieces[token],
                p=p_x,
                q=q_x,
                accept_probability=accept,
                u=None if self._greedy or verdict == "discarded" else u,
                verdict=verdict,
                overlap=overlap[i],
                confidence=confidence[i],
                p_top=p_top[i],
                q_top=q_top[i],
                residual_top=residual_top[i],
            )
            for i, (token, (p_x, q_x, accept, u), verdict) in enumerate(
                zip(tokens, dice, verdicts, strict=True)
            )
        )

    def _largest(self, distribution: Tensor) -> list[tuple[Candidate, ...]]:
        values, ids = largest(distribution, TOP)
        pieces = self._pieces
        return [
            tuple(
                (token, pieces[token], float(f"{value:.6g}"))
                for token, value in zip(row_ids, row_values, strict=True)
                if value > 0
            )
            for row_ids, row_values in zip(ids.tolist(), values.tolist(), strict=True)
        ]


def largest(distribution: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest of each row and their ids: `topk`, four times as fast on long rows.

    The largest elements lie in the chunks with the largest maxima, so those chunks are all
    that has to be searched. [k, V] → two [k, min(count, V)].
    """
    rows, size = distribution.shape
    chunks = size // _CHUNK
    if chunks <= 2 * count:
        return distribution.topk(min(count, size))
    body = distribution[:, : chunks * _CHUNK].view(rows, chunks, _CHUNK)
    best = body.amax(-1).topk(count).indices
    ids = (best[..., None] * _CHUNK + torch.arange(_CHUNK, device=best.device)).flatten(1)
    rest = torch.arange(chunks * _CHUNK, size, device=best.device).expand(rows, -1)
    ids = torch.cat([ids, rest], dim=1)
    values, places = distribution.gather(1, ids).topk(count)
    return values, ids.gather(1, places)
