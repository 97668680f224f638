"""A head over the few thousand most frequent tokens (FR-Spec, arXiv 2502.14856).

A full head is a large part of a small model's weights, and would cost a drafter more than all
its layers. Outside the draft vocabulary q is 0: such a token is never proposed, and comes out
by the residual, so the rule stays exact.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from specviz.runtime.half_linear import HalfLinear


class DraftHead(nn.Module):
    """The target's own head, cut to some ids. Not trained: only the ids are ever stored."""

    weight: Tensor
    ids: Tensor

    def __init__(self, target: PreTrainedModel, ids: Tensor) -> None:
        super().__init__()
        self._full: Tensor = target.get_output_embeddings().weight.detach()
        self.vocabulary_size = len(self._full)
        self.register_buffer("ids", ids.to(self._full.device), persistent=False)
        self.register_buffer("weight", self.rows(self.ids), persistent=False)
        self._half: HalfLinear | None = None

    def hold_half(self) -> None:
        """Multiply with weights of 16 bits from now on, on a CPU."""
        self._half = HalfLinear(self.weight)

    def rows(self, ids: Tensor) -> Tensor:
        """The head's rows of any ids: [n] → [n, width]."""
        return self._full[ids]

    def short(self, states: Tensor, more: Tensor) -> Tensor:
        """Logits of the draft vocabulary and of `more` ids, [m]: [..., width] → [..., n + m]."""
        return nn.functional.linear(states, torch.cat([self.weight, self.rows(more)]))

    def forward(self, states: Tensor) -> Tensor:
        """Logits of the target's vocabulary, −∞ outside the ids: [..., width] → [..., V]."""
        short = self._half(states) if self._half else nn.functional.linear(states, self.weight)
        full = short.new_full((*short.shape[:-1], self.vocabulary_size), -torch.inf)
        full[..., self.ids] = short
        return full


class ContextHead:
    """A draft head that may also propose what stands in the context.

    A text says again what it has named: names, numbers, foreign words, which no list of frequent
    tokens holds. What is proposed depends only on tokens that were there before the draw.
    """

    def __init__(self, head: DraftHead) -> None:
        self._head = head
        self._known = torch.zeros(head.vocabulary_size, dtype=torch.bool, device=head.ids.device)
        self._known[head.ids] = True
        self._ids = head.ids[:0]
        self._weight = head.weight[:0]

    def read(self, tokens: Tensor) -> None:
        """From now on these ids, [n], may be proposed."""
        new = torch.unique(tokens[~self._known[tokens]])
        if len(new):
            self._known[new] = True
            self._ids = torch.cat([self._ids, new])
            self._weight = torch.cat([self._weight, self._head.rows(new)])

    def __call__(self, states: Tensor) -> Tensor:
        """Logits of the target's vocabulary, −∞ for all else: [..., width] → [..., V]."""
        logits: Tensor = self._head(states)
        logits[..., self._ids] = nn.functional.linear(states, self._weight)
        return logits
