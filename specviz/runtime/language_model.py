"""A causal language model: passes over k tokens, with a cache that rolls back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, PreTrainedModel, PreTrainedTokenizerBase

from specviz.errors import UserError
from specviz.runtime.cache import roll_back, rollback_cache
from specviz.runtime.layers import first_layers
from specviz.runtime.token_text import Pieces


@dataclass(frozen=True)
class Pass:
    """What a model says of k tokens in one trip of its weights."""

    logits: Tensor
    """[k, V]: row i is the model's view of what follows token i."""
    hidden_states: tuple[Tensor, ...] | None = None
    """One [k, width] a layer, the embeddings first; None unless they were asked for."""


class LanguageModel:
    """Weights and tokenizer, shared by every run. Nothing here changes after loading."""

    def __init__(self, id: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        self.id = id
        self.model = model
        self.tokenizer = tokenizer
        self.pieces = Pieces(tokenizer)

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def dtype(self) -> torch.dtype:
        return self.model.dtype

    @property
    def _text_config(self) -> Any:
        return self.model.config.get_text_config(decoder=True)

    @cached_property
    def vocabulary_size(self) -> int:
        """Ids that mean something: a padded head's surplus rows are never proposed nor emitted."""
        return min(len(self.tokenizer), int(self._text_config.vocab_size))

    @property
    def layers(self) -> int:
        return int(self._text_config.num_hidden_layers)

    @cached_property
    def context_length(self) -> int:
        """Tokens of prompt and answer together that the model was made for."""
        return int(getattr(self._text_config, "max_position_embeddings", 2**31))

    @cached_property
    def end_ids(self) -> frozenset[int]:
        """The ids that end a text."""
        generation = self.model.generation_config
        ids = generation.eos_token_id if generation is not None else None
        if ids is None:
            ids = self.tokenizer.eos_token_id
        if ids is None:
            return frozenset()
        return frozenset([ids] if isinstance(ids, int) else ids)

    @cached_property
    def tokenizer_fingerprint(self) -> str:
        """Equal for two models if and only if every id means the same token to both."""
        vocabulary = json.dumps(sorted(self.tokenizer.get_vocab().items()))
        return hashlib.sha256(vocabulary.encode()).hexdigest()[:16]

    def encode(self, prompt: str, *, raw: bool) -> list[int]:
        """Token ids of a prompt, through the chat template unless `raw`.

        Raises:
            UserError: if nothing remains to start from.
        """
        if self.tokenizer.chat_template and not raw:
            text = self.tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=False
            )
            # The template writes the begin-of-text token itself: once is enough.
            ids = self.tokenizer.encode(text, add_special_tokens=False)
        else:
            ids = self.tokenizer.encode(prompt)
        if not ids and self.tokenizer.bos_token_id is not None:
            ids = [self.tokenizer.bos_token_id]
        if not ids:
            raise UserError("The prompt is empty: write at least one word.")
        return list(ids)

    def open(self, before_pass: Callable[[], None] = lambda: None) -> CachedModel:
        """The model with an empty cache of its own, for one run.

        `before_pass` is called before every pass: what it raises ends the run there.
        """
        return CachedModel(self.model, rollback_cache(self.model.config), before_pass)


class CachedModel:
    """One run's view of a model: it remembers the tokens that it has passed over."""

    def __init__(
        self,
        model: PreTrainedModel,
        cache: Cache,
        before_pass: Callable[[], None],
        layers: int | None = None,
    ) -> None:
        self._model = model
        self._cache = cache
        self._layers = layers
        self.before_pass = before_pass

    @property
    def length(self) -> int:
        """Tokens in the cache."""
        return int(self._cache.get_seq_length())

    def embed(self, tokens: Tensor) -> Tensor:
        """The model's embeddings of `tokens`: [k] → [k, width]."""
        embeddings: Tensor = self._model.get_input_embeddings()(tokens)
        return embeddings

    def forward(
        self, tokens: Tensor, *, keep: int | None = None, hidden_states: bool = False
    ) -> Pass:
        """Pass over `tokens`, [k], behind those in the cache, and remember them.

        `keep` asks for the last rows of logits only.
        """
        self.before_pass()
        output = self._model(
            input_ids=tokens[None],
            cache=self._cache,
            use_cache=True,
            logits_to_keep=0 if keep is None else keep,
            output_hidden_states=hidden_states,
        )
        states = tuple(h[0] for h in output.hidden_states) if hidden_states else None
        return Pass(output.logits[0], states)

    def roll_back(self, length: int) -> None:
        """Forget every token after the first `length`."""
        roll_back(self._cache, length, self._layers)

    def early_exit(self, layers: int) -> CachedModel:
        """The first `layers` layers with the final norm and head, over the same weights and cache.

        What it remembers, it writes into the cache of the whole: roll it back before the
        whole passes over the same positions.
        """
        shallow = first_layers(self._model, layers)
        return CachedModel(shallow, self._cache, self.before_pass, layers)
