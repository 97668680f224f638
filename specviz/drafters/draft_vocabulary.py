"""A head over the few thousand most frequent tokens (FR-Spec, arXiv 2502.14856).

A full head is a large part of a small model's weights, and would cost a drafter more than all
its layers. Outside the draft vocabulary q is 0: such a token is never proposed, and comes out
by the residual, so the rule stays exact.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel


class DraftHead(nn.Module):
    """The target's own head, cut to some ids. Not trained: only the ids are ever stored."""

    weight: Tensor
    ids: Tensor

    def __init__(self, target: PreTrainedModel, ids: Tensor) -> None:
        super().__init__()
        full = target.get_output_embeddings().weight
        self.vocabulary_size = len(full)
        self.register_buffer("ids", ids.to(full.device), persistent=False)
        self.register_buffer("weight", full[self.ids].detach(), persistent=False)

    def short(self, states: Tensor) -> Tensor:
        """Logits of the draft vocabulary only: [..., width] → [..., len(ids)]."""
        return nn.functional.linear(states, self.weight)

    def forward(self, states: Tensor) -> Tensor:
        """Logits of the target's vocabulary, −∞ outside the ids: [..., width] → [..., V]."""
        short = self.short(states)
        full = short.new_full((*short.shape[:-1], self.vocabulary_size), -torch.inf)
        full[..., self.ids] = short
        return full
