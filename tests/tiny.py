"""Tiny random models and tokenizers, made on the spot, for tests that need a real forward pass."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    GemmaConfig,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    PreTrainedConfig,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    Qwen2Config,
)

from specviz.engine import decode
from specviz.runtime.language_model import LanguageModel
from specviz.sampling import Sampler
from specviz.settings import Settings
from specviz.trace import Trace, collect

END = 256
"""The id of <end> in the byte tokenizer."""
VOCABULARY = 257

_SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 512,
    "eos_token_id": END,
    "bos_token_id": None,
    "pad_token_id": None,
    "tie_word_embeddings": False,
}

FAMILIES: dict[str, PreTrainedConfig] = {
    "llama": LlamaConfig(**_SIZES),
    "qwen2": Qwen2Config(**_SIZES),
    "gpt2": GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=32,
        n_layer=3,
        n_head=4,
        n_positions=512,
        eos_token_id=END,
        bos_token_id=None,
    ),
    "mistral": MistralConfig(**_SIZES, sliding_window=12),
    "gemma": GemmaConfig(**_SIZES),
    "gemma2": Gemma2Config(**_SIZES, sliding_window=12),
}


@cache
def byte_tokenizer(*, reverse: bool = False) -> PreTrainedTokenizerBase:
    """Every byte a token: a character outside ASCII is split over several."""
    symbols = sorted(ByteLevel.alphabet(), reverse=reverse)
    tokenizer = Tokenizer(BPE(vocab={s: i for i, s in enumerate(symbols)}, merges=[]))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = ByteLevelDecoder()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>")


def sampler(vocabulary_size: int = VOCABULARY, **settings: Any) -> Sampler:
    """One without a run, for a drafter on its own."""
    return Sampler(
        Settings(**settings),
        vocabulary_size=vocabulary_size,
        prompt_length=1,
        end_ids=frozenset(),
        device=torch.device("cpu"),
    )


def tiny(family: str = "llama", seed: int = 0, **changes: Any) -> LanguageModel:
    """A random model in float32. Its head is scaled up so that it has opinions."""
    settings = {**FAMILIES[family].to_diff_dict(), **changes}
    if "layer_types" in settings:
        settings["layer_types"] = settings["layer_types"][: settings["num_hidden_layers"]]
    config = type(FAMILIES[family])(**settings)
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(40)
    return LanguageModel(f"tiny-{family}-{seed}", model, byte_tokenizer())


@cache
def target() -> LanguageModel:
    """T of the cases: shared by the tests, never changed."""
    return tiny(seed=0)


def without_end(model: LanguageModel) -> LanguageModel:
    """The same weights, with no id that ends a text."""
    return with_end(model, ())


def with_end(model: LanguageModel, ids: tuple[int, ...]) -> LanguageModel:
    """The same weights, with these ids ending a text."""
    twin = LanguageModel(model.id, model.model, model.tokenizer)
    twin.__dict__["end_ids"] = frozenset(ids)
    return twin


def run(model: LanguageModel, prompt: str = "abcab", **settings: Any) -> Trace:
    """One run of a model, raw, as a trace."""
    defaults: dict[str, Any] = {"raw": True, "max_new_tokens": 24, "drafter": "none"}
    return collect(decode(model, prompt, Settings(**{**defaults, **settings})))
