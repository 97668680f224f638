"""Models made of some of another model's layers: a new shell around the same weights."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast

from torch import nn
from transformers import PreTrainedModel

from specviz.errors import UserError

_Module = TypeVar("_Module", bound=nn.Module)


def first_layers(model: PreTrainedModel, count: int) -> PreTrainedModel:
    """The same model, cut after `count` layers."""
    return _with_layers(model, range(count), list(_layers(model)[1][:count]))


def copied_layers(model: PreTrainedModel, chosen: Sequence[int]) -> PreTrainedModel:
    """A model of copies of some layers, in this order, and of the final norm.

    The embeddings and the head stay the original's own.
    """
    layers = copy.deepcopy([_layers(model)[1][index] for index in chosen])
    for place, layer in enumerate(layers):
        for module in cast(Iterable[Any], layer.modules()):
            if hasattr(module, "layer_idx"):  # where its keys stand in a cache
                module.layer_idx = place
    shell = _with_layers(model, chosen, layers)
    for name, child in shell.base_model.named_children():
        if not isinstance(child, nn.ModuleList | nn.Embedding):
            shell.base_model.register_module(name, copy.deepcopy(child))
    return shell


def _layers(model: PreTrainedModel) -> tuple[str, nn.ModuleList]:
    """The decoder's layers, and what the model calls them."""
    total = model.config.get_text_config(decoder=True).num_hidden_layers
    for name, child in model.base_model.named_children():
        if isinstance(child, nn.ModuleList) and len(child) == total:
            return name, child
    raise UserError(
        f"It is not known where the layers of a {model.config.model_type} model are: "
        "choose another drafter."
    )


def _with_layers(
    model: PreTrainedModel, chosen: Sequence[int], layers: Sequence[nn.Module]
) -> PreTrainedModel:
    shell = _shallow_copy(model)
    body = _shallow_copy(model.base_model)
    body.register_module(_layers(model)[0], nn.ModuleList(layers))
    config: Any = copy.copy(body.config)
    config.num_hidden_layers = len(layers)
    if getattr(config, "layer_types", None):
        config.layer_types = [config.layer_types[index] for index in chosen]
    body.config = config
    shell.config = config
    shell.register_module(model.base_model_prefix, body)
    return shell


def _shallow_copy(module: _Module) -> _Module:
    twin = copy.copy(module)
    twin._modules = dict(module._modules)
    return twin
