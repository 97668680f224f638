"""Models made of another model's layers."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from specviz.drafters.autoregressive import draw_draft
from specviz.runtime.cache import rollback_cache
from specviz.runtime.language_model import CachedModel
from specviz.runtime.layers import copied_layers
from specviz.sampling import Sampler
from specviz.settings import Settings
from tests.tiny import FAMILIES, VOCABULARY, tiny

CONTEXT = torch.tensor([5, 6, 7, 200, 7])


@torch.inference_mode()
@pytest.mark.parametrize("family", FAMILIES)
def test_a_copy_of_all_layers_is_the_model_and_has_a_cache_of_its_own(family: str) -> None:
    """Case 2: it would be accepted always."""
    whole = tiny(family).model
    copy = copied_layers(whole, [0, 1, 2])
    dice = Sampler(
        Settings(),
        vocabulary_size=VOCABULARY,
        prompt_length=1,
        end_ids=frozenset(),
        device=torch.device("cpu"),
    )
    cached = CachedModel(copy, rollback_cache(copy.config), lambda: None)
    draft = draw_draft(cached, CONTEXT, 6, dice)
    assert draft.scores is not None
    expected = whole(torch.cat([CONTEXT, draft.tokens])[None]).logits[0, len(CONTEXT) - 1 : -1]
    assert torch.allclose(draft.scores, expected, atol=1e-3)


@torch.inference_mode()
def test_the_last_layers_keep_their_keys_in_the_first_places_of_a_cache() -> None:
    whole: Any = tiny().model
    before = {name: tensor.clone() for name, tensor in whole.state_dict().items()}
    pair: Any = copied_layers(whole, [0, 2])
    cache: Any = rollback_cache(pair.config)
    pair(CONTEXT[None], cache=cache, use_cache=True)
    assert [layer.get_seq_length() for layer in cache.layers] == [5, 5]
    assert pair.get_input_embeddings() is whole.get_input_embeddings()
    assert pair.get_output_embeddings() is whole.get_output_embeddings()
    for parameter in pair.base_model.layers.parameters():
        parameter.zero_()
    pair.base_model.norm.weight.zero_()
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    assert [layer.self_attn.layer_idx for layer in whole.base_model.layers] == [0, 1, 2]
