"""Settings for other engines."""

from __future__ import annotations

import ast
import json
import shlex
from typing import Any

import pytest
from transformers import GenerationConfig

from specviz.errors import UserError
from specviz.export import ENGINES, export
from specviz.settings import TRAINED_DRAFTERS

MODEL = "org/model"


def write(engine: str, drafter: str, gamma: int = 4) -> str:
    return export(engine, target=MODEL, drafter=drafter, gamma=gamma)


def generate_arguments(code: str) -> dict[str, Any]:
    """The keyword arguments of the call to `generate`."""
    call = ast.parse(code).body[-1]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    return {
        word.arg: ast.literal_eval(word.value)
        for word in call.value.keywords
        if word.arg and isinstance(word.value, ast.Constant)
    }


@pytest.mark.parametrize("drafter", ["none", "lookup", "early-exit:8", "model:org/small"])
def test_transformers_knows_every_argument(drafter: str) -> None:
    """transformers' own configuration takes them, and refuses what it does not know."""
    arguments = generate_arguments(write("transformers", drafter))
    config = GenerationConfig(do_sample=False)
    assert config.update(**arguments) == {}
    config.validate(strict=True)


def test_what_each_drafter_becomes_in_transformers() -> None:
    assert generate_arguments(write("transformers", "lookup"))["prompt_lookup_num_tokens"] == 4
    early = generate_arguments(write("transformers", "early-exit:8"))
    assert (early["assistant_early_exit"], early["num_assistant_tokens"]) == (8, 4)
    assert "from_pretrained('org/small')" in write("transformers", "model:org/small")


def test_vllm_reads_json() -> None:
    command = shlex.split(write("vllm", "lookup"))
    assert command[:4] == ["vllm", "serve", MODEL, "--speculative-config"]
    config = json.loads(command[4])
    assert config["method"] == "ngram"
    assert config["num_speculative_tokens"] == 4
    config = json.loads(shlex.split(write("vllm", "model:org/small"))[4])
    assert (config["model"], config["method"]) == ("org/small", "draft_model")
    assert write("vllm", "none") == "vllm serve org/model"


def test_sglang_counts_the_token_that_is_verified() -> None:
    assert "--speculative-algorithm NGRAM" in write("sglang", "lookup")
    assert write("sglang", "lookup").endswith("--speculative-num-draft-tokens 5")
    standalone = write("sglang", "model:org/small")
    assert "--speculative-num-steps 4" in standalone
    assert "--speculative-draft-model-path org/small" in standalone


def test_llama_cpp_has_its_new_names() -> None:
    assert write("llama.cpp", "model:small.gguf").endswith(
        "--spec-type draft-simple --model-draft small.gguf --spec-draft-n-max 4"
    )
    assert "--spec-ngram-simple-size-m 4" in write("llama.cpp", "lookup")
    assert not any("--draft-max" in write("llama.cpp", d) for d in ("lookup", "model:x"))


def test_a_name_with_a_space_stays_one_word() -> None:
    for engine in ("vllm", "sglang", "llama.cpp"):
        command = export(engine, target="my model", drafter="none", gamma=1)
        assert any(word.startswith("my model") for word in shlex.split(command))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("drafter", TRAINED_DRAFTERS)
def test_what_only_specviz_can_load_is_refused(engine: str, drafter: str) -> None:
    with pytest.raises(UserError, match="cannot load"):
        write(engine, drafter)


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama.cpp"])
def test_an_engine_without_early_exit_says_so(engine: str) -> None:
    with pytest.raises(UserError, match="no drafter like early-exit:8"):
        write(engine, "early-exit:8")


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(UserError, match="choose transformers, vllm"):
        write("other", "lookup")
