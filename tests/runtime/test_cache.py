"""The cache that rolls back: equal to transformers' own, and it moves a number only."""

from __future__ import annotations

import pytest
import torch
from transformers import Cache, LlamaConfig
from transformers.cache_utils import DynamicLayer

from specviz.errors import UserError
from specviz.runtime.cache import RollbackLayer, roll_back, rollback_cache


def states(length: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    keys, values = (torch.randn(1, 2, length, 4, generator=generator) for _ in range(2))
    return keys, values


def test_it_holds_what_transformers_own_layer_holds() -> None:
    """Across several growths of the buffer, with rollbacks in between."""
    ours, theirs = RollbackLayer(), DynamicLayer()
    for step, (length, removed) in enumerate([(250, 0), (1, 0), (5, 3), (400, 399), (7, 0)]):
        new = states(length, step)
        for a, b in zip(ours.update(*new), theirs.update(*new), strict=True):
            assert torch.equal(a, b)
        ours.crop(-removed)
        theirs.crop(-removed)
        assert ours.get_seq_length() == theirs.get_seq_length()
        assert ours.get_mask_sizes(3) == theirs.get_mask_sizes(3)


def test_rolling_back_copies_nothing() -> None:
    layer = RollbackLayer()
    keys, _ = layer.update(*states(10, 0))
    roll_back(Cache(layers=[layer]), 4)
    again, _ = layer.update(*states(3, 1))
    assert again.shape[-2] == 7
    assert again.data_ptr() == keys.data_ptr()


def test_rolling_back_some_layers_leaves_the_others() -> None:
    cache = Cache(layers=[RollbackLayer() for _ in range(3)])
    for layer in range(3):
        cache.update(*states(6, 0), layer)
    roll_back(cache, 2, layers=2)
    assert [cache.get_seq_length(i) for i in range(3)] == [2, 2, 6]


def test_rolling_forward_is_impossible() -> None:
    cache = Cache(layers=[RollbackLayer()])
    cache.update(*states(6, 0), 0)
    roll_back(cache, 9)
    assert cache.get_seq_length() == 6


def test_a_model_with_recurrent_layers_is_refused() -> None:
    config = LlamaConfig(num_hidden_layers=2)
    config.layer_types = ["linear_attention", "full_attention"]
    with pytest.raises(UserError, match="linear_attention layers, whose state cannot be rolled"):
        rollback_cache(config)
