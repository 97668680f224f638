"""Drafters: one protocol, one file a drafter, and the registry that makes them from a name.

To add one: write its file, then its line in `_MAKERS`.
"""

from __future__ import annotations

from collections.abc import Callable

from transformers import PreTrainedModel

from specviz.drafters.autoregressive import EarlyExit, ModelDrafter, check_same_tokenizer
from specviz.drafters.base import Draft, Drafter, no_draft
from specviz.drafters.hybrid import LEAST_CHANCE, Hybrid
from specviz.drafters.lookup import Lookup
from specviz.drafters.mtp import Mtp, MtpBlock
from specviz.drafters.none import NoDrafter
from specviz.drafters.trained import load_trained, shipped
from specviz.errors import UserError
from specviz.runtime.cache import rollback_cache
from specviz.runtime.language_model import CachedModel, LanguageModel
from specviz.runtime.loading import load

_Maker = Callable[[str, LanguageModel, CachedModel], Drafter]

__all__ = ["Draft", "Drafter", "best_for", "create", "no_draft"]


def create(name: str, target: LanguageModel, cached_target: CachedModel) -> Drafter:
    """The drafter of this name, for one run of `target`.

    Raises:
        UserError: for an unknown name, or a drafter that does not fit the target.
    """
    kind, _, argument = name.partition(":")
    if kind not in _MAKERS:
        raise UserError(f"There is no drafter “{name}”: choose {', '.join(SPELLINGS)}.")
    return _MAKERS[kind](argument, target, cached_target)


def best_for(target: LanguageModel) -> str:
    """The drafter to take where none is named: hybrid, if its block ships for the target."""
    return "hybrid" if shipped("mtp", target) else "lookup"


def _none(argument: str, _target: LanguageModel, _cached_target: CachedModel) -> Drafter:
    _expect_no_argument("none", argument)
    return NoDrafter()


def _lookup(argument: str, _target: LanguageModel, _cached_target: CachedModel) -> Drafter:
    _expect_no_argument("lookup", argument)
    return Lookup()


def _early_exit(argument: str, target: LanguageModel, cached_target: CachedModel) -> Drafter:
    most = target.layers - 1
    if not argument.isdecimal() or not 1 <= int(argument) <= most:
        raise UserError(
            f"early-exit needs a number of layers from 1 to {most}, "
            f"as in early-exit:{most // 3 or 1}."
        )
    return EarlyExit(cached_target, int(argument))


def _model(argument: str, target: LanguageModel, cached_target: CachedModel) -> Drafter:
    if not argument:
        raise UserError("model needs a model id or folder, as in model:HuggingFaceTB/SmolLM2-135M.")
    dtype = str(target.dtype).removeprefix("torch.")
    drafter = load(argument, dtype=dtype, device=str(target.device))
    check_same_tokenizer(drafter, target)
    cached = drafter.open(cached_target.before_pass)
    return ModelDrafter(f"model:{argument}", cached, drafter.context_length)


def _mtp(
    argument: str, target: LanguageModel, cached_target: CachedModel, least_chance: float = 0.0
) -> Mtp:
    trained = load_trained(argument or "mtp", target)
    if not isinstance(trained.module, MtpBlock):
        raise UserError(
            f"{argument} is a {trained.card.kind}: write {trained.card.kind}:{argument}."
        )
    layers = trained.card.state_layers
    return Mtp(trained.module, trained.head, layers, cached_target, least_chance)


def _hybrid(argument: str, target: LanguageModel, cached_target: CachedModel) -> Drafter:
    return Hybrid(_mtp(argument, target, cached_target, LEAST_CHANCE))


def _small(layers: int) -> _Maker:
    kind = f"small-{layers}"

    def make(argument: str, target: LanguageModel, cached_target: CachedModel) -> Drafter:
        trained = load_trained(argument or kind, target)
        if not isinstance(trained.module, PreTrainedModel):
            raise UserError(f"{argument} is an mtp: write mtp:{argument}.")
        model = CachedModel(
            trained.module, rollback_cache(trained.module.config), cached_target.before_pass
        )
        return ModelDrafter(kind, model, target.context_length)

    return make


def _expect_no_argument(kind: str, argument: str) -> None:
    if argument:
        raise UserError(f"The drafter {kind} takes no “:{argument}”: write {kind}.")


_MAKERS: dict[str, _Maker] = {
    "none": _none,
    "lookup": _lookup,
    "early-exit": _early_exit,
    "model": _model,
    "mtp": _mtp,
    "hybrid": _hybrid,
    "small-2": _small(2),
    "small-4": _small(4),
}

SPELLINGS = ("none", "lookup", "mtp", "hybrid", "small-2", "small-4", "early-exit:N", "model:ID")
"""How each is written."""
