"""Files of trained drafters: what they hold, and for whom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from specviz.drafters import create
from specviz.drafters.draft_vocabulary import ContextHead, DraftHead
from specviz.drafters.trained import (
    KINDS,
    WEIGHTS,
    fingerprint,
    load_trained,
    new_block,
    new_module,
    own_weights,
)
from specviz.errors import UserError
from specviz.runtime.half_linear import HalfLinear
from specviz.runtime.language_model import LanguageModel
from tests.tiny import FAMILIES, VOCABULARY, run, target, tiny
from tests.trained import STATE_LAYERS, write_trained


@pytest.mark.parametrize("kind", ["mtp", "small-2"])
def test_what_is_stored_comes_back_within_8_bits(kind: str, tmp_path: Path) -> None:
    path = write_trained(kind, target(), tmp_path).partition(":")[2]
    loaded = load_trained(path, target())
    torch.manual_seed(3)
    head = DraftHead(target().model, torch.arange(VOCABULARY))
    module = new_module(kind, target().model, head, len(loaded.card.state_layers))
    original = own_weights(module, target().model)
    restored = own_weights(loaded.module, target().model)
    for name, layer in loaded.module.named_modules():
        if isinstance(layer, HalfLinear) and "lm_head" not in name:
            restored[f"{name}.weight"], _ = torch.ops.quantized.linear_unpack_fp16(layer._packed)
    assert original.keys() == restored.keys()
    for name, tensor in original.items():
        step = tensor.abs().amax(-1, keepdim=True) / 127
        rounding = tensor.abs() * 2**-10  # to float16
        assert ((restored[name] - tensor).abs() <= step / 2 + rounding + 1e-6).all(), name
    stored = load_file(path)
    assert not any("embed" in name or "lm_head" in name for name in stored)
    assert {stored[name].dtype for name in stored if f"{name}.scale" in stored} == {torch.int8}


def test_the_head_is_the_target_s_own_over_some_ids() -> None:
    ids = torch.tensor([3, 97, 256])
    head = DraftHead(target().model, ids)
    states = torch.randn(2, 32)
    whole = target().model.get_output_embeddings()(states)
    found = head(states)
    assert torch.allclose(found[:, ids], whole[:, ids], atol=1e-5)
    found[:, ids] = -torch.inf
    assert (found == -torch.inf).all()


def test_a_head_of_16_bits_says_the_same() -> None:
    head = DraftHead(target().model, torch.tensor([3, 97, 256]))
    states = torch.randn(2, 32)
    before = head(states)
    head.hold_half()
    after = head(states)
    assert not torch.equal(after, before)
    assert torch.allclose(after, before, atol=2e-3)


def test_a_head_takes_up_what_the_context_names() -> None:
    """Ids that it has already, or twice, count once; what was taken up stays."""
    head = ContextHead(DraftHead(target().model, torch.tensor([3, 97, 256])))
    states = torch.randn(2, 32)
    whole = target().model.get_output_embeddings()(states)
    named = [3, 97, 256]
    for tokens in ([97, 5, 5, 7], [7], [11, 5]):
        head.read(torch.tensor(tokens))
        named = sorted({*named, *tokens})
        found = head(states)
        assert torch.allclose(found[:, named], whole[:, named], atol=1e-5)
        assert int((found > -torch.inf).sum()) == 2 * len(named)


def test_weights_of_an_older_block_are_refused_in_one_line(tmp_path: Path) -> None:
    name = write_trained("mtp", target(), tmp_path)
    path = name.partition(":")[2]
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    stored = load_file(path)
    del stored["trust.weight"]
    save_file(stored, path, metadata=metadata)
    with pytest.raises(UserError, match="of an older specviz: train it again"):
        create(name, target(), target().open())


def test_another_target_is_refused_in_one_line(tmp_path: Path) -> None:
    name = write_trained("mtp", target(), tmp_path)
    other = tiny(seed=1)
    with pytest.raises(UserError, match="for tiny-llama-0 and cannot draft for tiny-llama-1"):
        create(name, other, other.open())
    with pytest.raises(UserError, match="There is no small-4 for tiny-llama-1"):
        create("small-4", other, other.open())


def test_a_fingerprint_outlives_precision_and_tells_models_apart() -> None:
    marks = {fingerprint(tiny(family)) for family in FAMILIES} | {fingerprint(tiny(seed=1))}
    assert len(marks) == len(FAMILIES) + 1
    for dtype in (torch.bfloat16, torch.float16):
        model: Any = tiny().model
        twin = LanguageModel("twin", model.to(dtype), target().tokenizer)
        assert fingerprint(twin) == fingerprint(target())


@pytest.mark.parametrize("content", [None, b"", b"not tensors", "tensors"])
def test_a_file_that_holds_no_drafter_is_refused_in_one_line(
    content: bytes | str | None, tmp_path: Path
) -> None:
    path = tmp_path / "x.safetensors"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content:
        save_file({"a": torch.ones(1)}, path)
    with pytest.raises(UserError, match="holds no drafter of specviz"):
        create(f"mtp:{path}", target(), target().open())


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    small = write_trained("small-2", target(), tmp_path).partition(":")[2]
    with pytest.raises(UserError, match="is a small-2"):
        create(f"mtp:{small}", target(), target().open())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", ["mtp", "small-2"])
def test_a_random_drafter_changes_the_speed_and_nothing_else(
    kind: str, family: str, tmp_path: Path
) -> None:
    model = tiny(family)
    name = write_trained(kind, model, tmp_path)
    plain = run(model, max_new_tokens=40)
    assert run(model, max_new_tokens=40, drafter=name, gamma=3).token_ids == plain.token_ids


@pytest.mark.parametrize("family", FAMILIES)
def test_embeddings_are_shared_and_not_stored(family: str) -> None:
    model: Any = tiny(family).model
    head = DraftHead(model, torch.arange(VOCABULARY))
    small = new_module("small-2", model, head, 0)
    stored = own_weights(small, model)
    assert all(VOCABULARY not in tensor.shape for tensor in stored.values())
    whole = sum(parameter.numel() for parameter in model.parameters())
    embeddings = model.get_input_embeddings().weight.numel()
    assert 0 < sum(tensor.numel() for tensor in stored.values()) < whole - embeddings


def test_a_block_begins_as_the_target_s_last_layer() -> None:
    block: Any = new_block(target().model, len(STATE_LAYERS))
    layers: Any = target().model.base_model.layers
    last = layers[-1]
    for name, tensor in last.state_dict().items():
        assert torch.equal(block.layer.state_dict()[name], tensor)


def test_what_ships_fits_into_40_megabytes_and_has_its_cards() -> None:
    files = sorted(WEIGHTS.rglob("*.safetensors"))
    assert {file.stem for file in files} == set(KINDS)
    assert sum(file.stat().st_size for file in files) <= 40_000_000
    for file in files:
        assert file.with_suffix(".md").is_file()
