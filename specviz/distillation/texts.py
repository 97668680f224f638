"""A text that a drafter learns from: what the target wrote, and what it thought of every token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from specviz.recording import largest
from specviz.runtime.language_model import LanguageModel
from specviz.sampling import draw

LABELS = 64
"""Tokens whose probability is kept at every position."""

TEMPERATURES = (0.0, 0.0, 0.7, 1.0)
"""Of a batch's rows in turn: half of the text is greedy."""


@dataclass(frozen=True)
class Text:
    """One sequence: S tokens that the target has passed over."""

    tokens: Tensor
    """[S] ids."""
    states: Tensor
    """[S, depths · width] the target's hidden states, those of `state_layers` side by side."""
    label_ids: Tensor
    """[A, LABELS] what the target thought of the last A tokens: row a belongs to position
    S − A + a, and is about the token behind it."""
    label_probabilities: Tensor
    """[A, LABELS] of the full distribution at temperature 1; they sum to less than 1."""

    @property
    def answer(self) -> int:
        """The first position with a label: the last token that was given."""
        return len(self.tokens) - len(self.label_ids)


@dataclass(frozen=True)
class Glimpse:
    """What the target shows in a pass over k tokens of B rows, brought to the host."""

    states: Tensor
    """[B, k, depths · width]"""
    label_ids: Tensor
    """[B, LABELS] of the last token."""
    label_probabilities: Tensor
    """[B, LABELS]"""


def state_layers(layers: int) -> tuple[int, int, int]:
    """Which hidden states a drafter may read, of the embeddings and one a layer.

    From a third of the depth, from two thirds, and the last (EAGLE-3, arXiv 2503.01840).
    """
    return layers // 3, 2 * layers // 3, layers


def look(output: Any, logits: Tensor, layers: Sequence[int]) -> Glimpse:
    """Take down a pass: its hidden states, and the largest of softmax(logits), [B, V]."""
    probabilities, ids = largest(logits.softmax(-1), LABELS)
    return Glimpse(
        torch.cat([output.hidden_states[layer] for layer in layers], -1).bfloat16().cpu(),
        ids.int().cpu(),
        probabilities.half().cpu(),
    )


def joined(glimpses: Sequence[Glimpse]) -> Glimpse:
    """The passes behind each other: states [B, S, depths · width], labels [B, passes, LABELS]."""
    return Glimpse(
        torch.cat([glimpse.states for glimpse in glimpses], 1),
        torch.stack([glimpse.label_ids for glimpse in glimpses], 1),
        torch.stack([glimpse.label_probabilities for glimpse in glimpses], 1),
    )


class TokenDice:
    """The next token of every row: the likeliest where the row's temperature is 0, else a draw."""

    def __init__(self, target: LanguageModel, seed: int) -> None:
        self._generator = torch.Generator(target.device).manual_seed(seed)

    def throw(self, logits: Tensor, temperature: Tensor) -> Tensor:
        """[B, V] and [B] → [B]."""
        chosen = logits.argmax(-1)
        drawn = temperature > 0
        if drawn.any():
            distribution = (logits[drawn] / temperature[drawn, None]).softmax(-1)
            chosen[drawn] = draw(distribution, self._generator)
        return chosen
