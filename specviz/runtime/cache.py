"""A key-value cache that is rolled back by moving a position."""

from __future__ import annotations

from typing import Any

import torch
from transformers import Cache, PreTrainedConfig
from transformers.cache_utils import DynamicLayer, get_layer_types_and_kwargs

from specviz.errors import UserError

_BLOCK = 256
"""Tokens that a buffer grows by."""


class RollbackLayer(DynamicLayer):
    """One layer's keys and values, [batch, heads, length, width], in a buffer with room ahead.

    A pass writes behind the last token, where transformers' own layer copies everything;
    rolling back sets a number. A sliding-window layer keeps what has left the window too,
    and the model's mask hides it: a rollback can so never meet a gap.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.length = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.device = key_states.device
        self.keys = key_states.new_empty(_with_room(key_states, 0))
        self.values = value_states.new_empty(_with_room(value_states, 0))
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None
        assert self.values is not None
        end = self.length + key_states.shape[-2]
        if end > self.keys.shape[-2]:
            self.keys = _grown(self.keys, key_states, self.length)
            self.values = _grown(self.values, value_states, self.length)
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def get_seq_length(self) -> int:
        return self.length

    def crop(self, tokens_to_remove: int) -> None:
        self.length -= abs(tokens_to_remove)


def _with_room(states: torch.Tensor, kept: int) -> tuple[int, ...]:
    batch, heads, new, width = states.shape
    # Doubling keeps the copies of a long run few; a block at least keeps short runs free of them.
    room = max(2 * (kept + new), _BLOCK)
    return batch, heads, -(-room // _BLOCK) * _BLOCK, width


def _grown(buffer: torch.Tensor, states: torch.Tensor, kept: int) -> torch.Tensor:
    larger = buffer.new_empty(_with_room(states, kept))
    larger[:, :, :kept] = buffer[:, :, :kept]
    return larger


def rollback_cache(config: PreTrainedConfig) -> Cache:
    """An empty cache for a model of this configuration.

    Raises:
        UserError: for a model whose state cannot be rolled back (recurrent or convolutional).
    """
    layer_types, _ = get_layer_types_and_kwargs(config.get_text_config(decoder=True))
    unknown = sorted(set(layer_types) - {"full_attention", "sliding_attention"})
    if unknown:
        raise UserError(
            f"This model has {unknown[0]} layers, whose state cannot be rolled back: "
            "choose a model with attention layers only."
        )
    return Cache(layers=[RollbackLayer() for _ in layer_types])


def roll_back(cache: Cache, length: int, layers: int | None = None) -> None:
    """Forget every token after the first `length`, in the first `layers` layers or in all."""
    for layer in cache.layers[:layers]:
        assert isinstance(layer, RollbackLayer)
        layer.length = min(layer.length, length)
