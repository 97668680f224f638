"""Drafters that were trained for one target: their files, and the models in them.

A file holds the trained weights in 8 bits (a scale a row), the ids of the draft vocabulary,
and a card that says what it was trained for and how.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import PreTrainedModel

from specviz.drafters.draft_vocabulary import DraftHead
from specviz.drafters.mtp import ECHO_MATCH, MtpBlock, block_config
from specviz.errors import UserError
from specviz.runtime.cpu_linear import speed_up_linear_layers
from specviz.runtime.half_linear import can_hold_half, hold_half
from specviz.runtime.language_model import LanguageModel
from specviz.runtime.layers import copied_layers
from specviz.runtime.loading import fast_at_bfloat16

KINDS = ("mtp", "small-2", "small-4")

WEIGHTS = Path(__file__).with_name("weights")
"""What ships with the project."""

_FINGERPRINT_ROWS = 256


class Card(BaseModel):
    """What a file holds."""

    model_config = ConfigDict(frozen=True)

    kind: str
    target: str
    fingerprint: str
    state_layers: tuple[int, ...]
    """Which hidden states `mtp` reads; empty for a small model."""
    training: dict[str, Any]
    """Settings, seed, tokens seen, held-out figures: for the reader."""


@dataclass(frozen=True)
class Trained:
    """A drafter's weights, ready for a target."""

    card: Card
    module: nn.Module
    head: DraftHead


def fingerprint(target: LanguageModel) -> str:
    """The same for a model in every precision, and another for any other model."""
    embeddings = cast(nn.Embedding, target.model.get_input_embeddings()).weight
    signs = (embeddings[:_FINGERPRINT_ROWS] > 0).cpu().numpy().tobytes()
    shape = f"{target.model.config.model_type} {target.layers} {tuple(embeddings.shape)}"
    about = f"{target.tokenizer_fingerprint} {shape} "
    return hashlib.sha256(about.encode() + signs).hexdigest()[:16]


def new_block(target: PreTrainedModel, depths: int) -> MtpBlock:
    """A block that has learned nothing; its layer is the target's last one, if it can be."""
    block = MtpBlock(block_config(target), depths)
    width = block.join.out_features
    identity = torch.eye(width)
    with torch.no_grad():
        block.join.weight.copy_(torch.cat([identity, identity], 1) / 2)
        block.fuse.weight.copy_(torch.cat([0 * identity] * (depths - 1) + [identity], 1))
        block.echo.weight.copy_(identity / 2)
        block.trust.weight.copy_(torch.arange(ECHO_MATCH + 1)[:, None] / 2)
    for child in target.base_model.children():
        if isinstance(child, nn.ModuleList) and isinstance(child[-1], type(block.layer)):
            block.layer.load_state_dict(child[-1].state_dict())
    return block.to(device=target.device, dtype=target.dtype)


def new_small_model(target: PreTrainedModel, layers: int, head: DraftHead) -> PreTrainedModel:
    """The target's first and last layers, copied, behind its own embeddings, with a short head."""
    count = target.config.get_text_config(decoder=True).num_hidden_layers
    if layers > count:
        raise UserError(f"small-{layers} needs a target of more than {count} layers.")
    first = -(-layers // 2)
    small = copied_layers(target, [*range(first), *range(count - (layers - first), count)])
    small.set_output_embeddings(head)
    return small


def new_module(kind: str, target: PreTrainedModel, head: DraftHead, depths: int) -> nn.Module:
    """An untrained drafter of a kind; all that its `state_dict` holds is its own."""
    if kind == "mtp":
        return new_block(target, depths)
    return new_small_model(target, int(kind.removeprefix("small-")), head)


def own_weights(module: nn.Module, target: PreTrainedModel) -> dict[str, Tensor]:
    """What a file must hold of a module: not what it shares with the target."""
    shared = {parameter.data_ptr() for parameter in target.parameters()}
    return {
        name: tensor
        for name, tensor in module.state_dict().items()
        if tensor.data_ptr() not in shared
    }


def save(path: Path, card: Card, vocabulary: Tensor, weights: dict[str, Tensor]) -> None:
    """Write a file, matrices in 8 bits with a scale a row."""
    tensors = {"draft_vocabulary": vocabulary.int()}
    for name, tensor in weights.items():
        if tensor.dim() == 2:
            scale = tensor.float().abs().amax(1, keepdim=True).clamp_min(1e-12) / 127
            tensors[name] = (tensor.float() / scale).round().to(torch.int8)
            tensors[f"{name}.scale"] = scale
        else:
            tensors[name] = tensor.float()
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, path, metadata={"card": card.model_dump_json()})


@functools.cache
def load_trained(file_or_kind: str, target: LanguageModel) -> Trained:
    """The drafter of a kind that ships for this target, or the one in a file.

    Raises:
        UserError: if there is none, or it was made for another target.
    """
    path = _find(file_or_kind, target)
    card = _read_card(path)
    if card.fingerprint != fingerprint(target):
        raise UserError(
            f"This {card.kind} was trained for {card.target} and cannot draft for {target.id}: "
            f"train one with python -m specviz distill {card.kind} --target {target.id}."
        )
    stored = load_file(path, device=str(target.device))
    head = DraftHead(target.model, stored.pop("draft_vocabulary").long())
    module = new_module(card.kind, target.model, head, len(card.state_layers))
    weights = {
        name: tensor * stored[f"{name}.scale"] if tensor.dtype == torch.int8 else tensor
        for name, tensor in stored.items()
        if not name.endswith(".scale")
    }
    if own_weights(module, target.model).keys() - weights.keys():
        raise UserError(f"{path} is of an older specviz: train it again with distill.")
    module.load_state_dict(weights, strict=False)
    module.to(target.dtype).eval()
    if can_hold_half(target.device):
        hold_half(module)
        head.hold_half()
    else:
        speed_up_linear_layers(module, multiplies_bfloat16=fast_at_bfloat16(str(target.device)))
    return Trained(card, module, head)


def shipped(kind: str, target: LanguageModel) -> Path | None:
    """The file of a kind that ships for this target, if there is one."""
    for path in WEIGHTS.glob(f"*/{kind}.safetensors"):
        if _read_card(path).fingerprint == fingerprint(target):
            return path
    return None


def _find(file_or_kind: str, target: LanguageModel) -> Path:
    if file_or_kind not in KINDS:
        return Path(file_or_kind).expanduser()
    path = shipped(file_or_kind, target)
    if path is None:
        raise UserError(
            f"There is no {file_or_kind} for {target.id}: choose another drafter, or train one "
            f"with python -m specviz distill {file_or_kind} --target {target.id}."
        )
    return path


def _read_card(path: Path) -> Card:
    try:
        with safe_open(path, "pt") as file:
            return Card.model_validate_json((file.metadata() or {}).get("card", ""))
    except (OSError, SafetensorError, ValidationError) as error:
        raise UserError(f"{path} holds no drafter of specviz: train one with distill.") from error
