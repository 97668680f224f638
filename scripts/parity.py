"""Compares greedy texts with those of transformers.

`python -m scripts.parity --prompts FILE.jsonl`

In float32 every drafter's ids are compared with `generate(do_sample=False)` of the same
model; in 16 bits with our own plain decoding, and where they part it is said whether at a tie
within rounding.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console

from specviz.bench import read_prompts
from specviz.engine import decode
from specviz.parity import find_parting
from specviz.progress import fetch, steps
from specviz.runtime.language_model import LanguageModel
from specviz.runtime.loading import load
from specviz.runtime.registry import DEFAULT_TARGET
from specviz.settings import Settings
from specviz.terminal import plain_table
from specviz.trace import collect


def main(
    prompts: Annotated[Path, typer.Option(help="One JSON object with a prompt a line.")],
    dtype: str = "float32",
    drafters: str = "lookup,early-exit:8",
    gamma: int = 4,
    max_new_tokens: int = 64,
) -> None:
    fetch()
    model = load(DEFAULT_TARGET, dtype)
    names = drafters.split(",")
    baseline = "transformers generate" if dtype == "float32" else "specviz plain"
    identical, ties = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    texts = [line.prompt for line in read_prompts(prompts)]
    with steps("Comparing") as report:
        for done, text in enumerate(texts, start=1):
            prompt_ids = model.encode(text, raw=False)
            expected = (
                _generate(model, prompt_ids, max_new_tokens)
                if dtype == "float32"
                else _decode(model, text, "none", gamma, max_new_tokens)
            )
            for name in names:
                ids = _decode(model, text, name, gamma, max_new_tokens)
                parting = find_parting(model, prompt_ids, ids, expected)
                identical[name] += ids == expected
                ties[name] += parting is not None and parting.tie
            report(done, len(texts))
    rows = [
        (
            name,
            f"{identical[name]} of {len(texts)}",
            str(ties[name]),
            str(len(texts) - identical[name] - ties[name]),
        )
        for name in names
    ]
    console = Console(highlight=False)
    console.print(f"{dtype}, {max_new_tokens} tokens, γ = {gamma}, against {baseline}")
    console.print(plain_table(("drafter", "identical", "ties", "different"), rows))
    if any(identical[name] + ties[name] < len(texts) for name in names):
        raise typer.Exit(1)


def _decode(model: LanguageModel, prompt: str, drafter: str, gamma: int, tokens: int) -> list[int]:
    settings = Settings(drafter=drafter, gamma=gamma, max_new_tokens=tokens)
    return collect(decode(model, prompt, settings, record=False)).token_ids


def _generate(model: LanguageModel, prompt_ids: list[int], tokens: int) -> list[int]:
    ids = torch.tensor([prompt_ids], device=model.device)
    generate: Any = model.model.generate
    made = generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=tokens
    )
    return [int(token) for token in made[0, ids.shape[1] :]]


if __name__ == "__main__":
    typer.run(main)
