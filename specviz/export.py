"""A setting in the words of other engines: what to write there to have the same.

Names are today's (2026-11): transformers 5.24, vLLM 0.26, SGLang 0.5, llama.cpp b10600.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable

from specviz.errors import UserError
from specviz.settings import TRAINED_DRAFTERS

DEFAULT_MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
"""The default target, by its name at the engines."""

LONGEST_MATCH = 3
"""Tokens that lookup looks for at most: as `specviz.drafters.lookup`."""


def export(engine: str, *, target: str, drafter: str, gamma: int) -> str:
    """The setting for an engine, as one writes it there.

    Args:
        engine: one of `ENGINES`.
        target: the model, by the name that the engine knows it by.
        drafter: as specviz spells it.
        gamma: γ, at least 1.

    Raises:
        UserError: if the engine is unknown, or has nothing of the kind.
    """
    if engine not in _WRITERS:
        raise UserError(f"There is no export for “{engine}”: choose {', '.join(ENGINES)}.")
    kind, _, argument = drafter.partition(":")
    if kind in TRAINED_DRAFTERS:
        raise UserError(
            f"{_NAMES[engine]} cannot load {kind}, which specviz trained for itself: take lookup, "
            "or a drafter that is published for your model."
        )
    written = _WRITERS[engine](target, kind, argument, gamma)
    if written is None:
        raise UserError(f"{_NAMES[engine]} has no drafter like {drafter}: choose another.")
    return written


def _transformers(target: str, kind: str, argument: str, gamma: int) -> str | None:
    constant = 'num_assistant_tokens_schedule="constant"'
    arguments = {
        "none": "",
        "lookup": f"prompt_lookup_num_tokens={gamma}, max_matching_ngram_size={LONGEST_MATCH}",
        "early-exit": f"assistant_early_exit={argument}, num_assistant_tokens={gamma}, {constant}",
        "model": f"assistant_model=assistant, num_assistant_tokens={gamma}, {constant}",
    }.get(kind)
    if arguments is None:
        return None
    load = f"model = AutoModelForCausalLM.from_pretrained({target!r})\n"
    if kind == "model":
        load += f"assistant = AutoModelForCausalLM.from_pretrained({argument!r})\n"
    return f"{load}model.generate(**inputs{', ' if arguments else ''}{arguments})"


def _vllm(target: str, kind: str, argument: str, gamma: int) -> str | None:
    command = f"vllm serve {shlex.quote(target)}"
    if kind == "none":
        return command
    config: dict[str, object] | None = {
        "lookup": {
            "method": "ngram",
            "num_speculative_tokens": gamma,
            "prompt_lookup_max": LONGEST_MATCH,
            "prompt_lookup_min": 1,
        },
        "model": {
            "method": "draft_model",
            "model": argument,
            "num_speculative_tokens": gamma,
        },
    }.get(kind)
    if config is None:
        return None
    return f"{command} --speculative-config {shlex.quote(json.dumps(config))}"


def _sglang(target: str, kind: str, argument: str, gamma: int) -> str | None:
    command = f"python -m sglang.launch_server --model-path {shlex.quote(target)}"
    options = {
        "none": "",
        # SGLang counts the token that is being verified along with its guesses.
        "lookup": f" --speculative-algorithm NGRAM --speculative-num-draft-tokens {gamma + 1}",
        "model": (
            f" --speculative-algorithm STANDALONE --speculative-draft-model-path "
            f"{shlex.quote(argument)} --speculative-num-steps {gamma} --speculative-eagle-topk 1 "
            f"--speculative-num-draft-tokens {gamma + 1}"
        ),
    }.get(kind)
    return None if options is None else command + options


def _llama_cpp(target: str, kind: str, argument: str, gamma: int) -> str | None:
    # It reads one file in its own format.
    file = target if target.endswith(".gguf") else f"{target.rpartition('/')[2]}.gguf"
    command = f"llama-server --model {shlex.quote(file)}"
    options = {
        "none": "",
        "lookup": (
            f" --spec-type ngram-simple --spec-ngram-simple-size-n {LONGEST_MATCH} "
            f"--spec-ngram-simple-size-m {gamma}"
        ),
        "model": (
            f" --spec-type draft-simple --model-draft {shlex.quote(argument)} "
            f"--spec-draft-n-max {gamma}"
        ),
    }.get(kind)
    return None if options is None else command + options


_NAMES = {
    "transformers": "transformers",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llama.cpp": "llama.cpp",
}
_WRITERS: dict[str, Callable[[str, str, str, int], str | None]] = {
    "transformers": _transformers,
    "vllm": _vllm,
    "sglang": _sglang,
    "llama.cpp": _llama_cpp,
}
ENGINES = tuple(_WRITERS)
