"""Drafting with a language model: a second one, or the target's own first layers."""

from __future__ import annotations

import torch
from torch import Tensor

from specviz.drafters.base import Draft, no_draft
from specviz.errors import UserError
from specviz.runtime.language_model import CachedModel, LanguageModel, Pass
from specviz.sampling import Sampler


class ModelDrafter:
    """Draws each proposal from a causal model that has its own cache.

    The cache holds a prefix of the committed tokens. After a cycle whose every proposal was
    kept it lacks the last of them, which the model proposed but never passed over; the next
    draft's first pass takes what is missing along, and costs no more for it.
    """

    reads_hidden_states = False

    def __init__(self, name: str, model: CachedModel, context_length: int) -> None:
        self.name = name
        self._model = model
        self._context_length = context_length

    @property
    def cache_length(self) -> int | None:
        return self._model.length

    def begin(self, context: Tensor, prompt_pass: Pass) -> None:
        if len(context) <= self._context_length:
            self._model.forward(context[:-1], keep=1)

    def propose(self, context: Tensor, gamma: int, sampler: Sampler) -> Draft:
        gamma = min(gamma, self._context_length - len(context) + 1)
        if gamma <= 0:
            return no_draft(sampler, context.device)
        return draw_draft(self._model, context, gamma, sampler)

    def commit(self, context: Tensor, accepted: int, verify_pass: Pass) -> None:
        self._model.roll_back(len(context) - 1)


class EarlyExit:
    """Draws each proposal from the target's first layers, its own norm and head behind them.

    It works on the target's cache: what those layers already know of the committed tokens is
    there, and what they write while drafting is taken back before the target's own pass.
    """

    reads_hidden_states = False
    cache_length = None

    def __init__(self, target: CachedModel, layers: int) -> None:
        self.name = f"early-exit:{layers}"
        self._model = target.early_exit(layers)

    def begin(self, context: Tensor, prompt_pass: Pass) -> None:
        """The target's pass over the prompt has filled the cache."""

    def propose(self, context: Tensor, gamma: int, sampler: Sampler) -> Draft:
        committed = len(context) - 1
        draft = draw_draft(self._model, context, gamma, sampler)
        self._model.roll_back(committed)
        return draft

    def commit(self, context: Tensor, accepted: int, verify_pass: Pass) -> None:
        """The engine rolls the target's cache back, and this drafter has no other."""


def draw_draft(model: CachedModel, context: Tensor, gamma: int, sampler: Sampler) -> Draft:
    """`gamma` tokens, each drawn from the model's distribution behind those before it.

    The model first passes over what its cache lacks of `context`, [n]. No draw is read back
    to the host. A draft of one token or more may end early, where the model is unsure.
    """
    sequence = context
    distributions: list[Tensor] = []
    scores: list[Tensor] = []
    for _ in range(gamma):
        logits = model.forward(sequence[model.length :], keep=1).logits[-1:]
        following = sampler.scores(sequence, logits)
        if scores and sampler.unsure(following):
            break
        scores.append(following)
        distributions.append(sampler.distribution(scores[-1]))
        sequence = torch.cat([sequence, sampler.draw(distributions[-1])])
    return Draft(sequence[len(context) :], torch.cat(distributions), torch.cat(scores))


def check_same_tokenizer(drafter: LanguageModel, target: LanguageModel) -> None:
    """Raises UserError unless every token id means the same to both models."""
    if drafter.tokenizer_fingerprint != target.tokenizer_fingerprint:
        raise UserError(
            f"{drafter.id} has another tokenizer than {target.id}, so it cannot draft for it: "
            "choose a drafter of the same family."
        )
