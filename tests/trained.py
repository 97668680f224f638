"""Drafters with random weights in files, as `distill` writes them."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from specviz.distillation.texts import state_layers
from specviz.drafters import trained
from specviz.drafters.draft_vocabulary import DraftHead
from specviz.runtime.language_model import LanguageModel
from tests.tiny import VOCABULARY

STATE_LAYERS = state_layers(3)


def write_trained(
    kind: str, target: LanguageModel, folder: Path, vocabulary: Tensor | None = None
) -> str:
    """A file with an untrained drafter of a kind, spelled as a drafter's name."""
    vocabulary = torch.arange(VOCABULARY) if vocabulary is None else vocabulary
    layers = STATE_LAYERS if kind == "mtp" else ()
    torch.manual_seed(3)
    head = DraftHead(target.model, vocabulary)
    module = trained.new_module(kind, target.model, head, len(layers))
    card = trained.Card(
        kind=kind,
        target=target.id,
        fingerprint=trained.fingerprint(target),
        state_layers=layers,
        training={},
    )
    path = folder / f"{kind}.safetensors"
    trained.save(path, card, vocabulary, trained.own_weights(module, target.model))
    return f"{kind}:{path}"
