"""How fast the engine is beside transformers' own decoding, in one table: `make bench`.

Greedy, the same model, dtype, threads and prompts for all; whole calls are timed, the
prompt's pass among them; the order turns round from repeat to repeat.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console

from specviz.engine import decode
from specviz.events import RunFinished
from specviz.progress import fetch, steps
from specviz.runtime.language_model import LanguageModel
from specviz.runtime.loading import load
from specviz.runtime.registry import DEFAULT_TARGET
from specviz.settings import Settings
from specviz.terminal import number, plain_table
from specviz.ui.presets import PRESETS

PROMPTS = ("rewrite", "story")
GENERATE, GENERATE_LOOKUP = "transformers generate", "transformers prompt lookup"
PLAIN, PLAIN_RECORDED = "specviz plain", "specviz plain, recorded"
LOOKUP, LOOKUP_RECORDED = "specviz lookup", "specviz lookup, recorded"

Way = Callable[[str], int]
"""Answers a prompt and says with how many tokens."""


def main(
    device: str = "auto",
    dtype: str = "auto",
    gamma: int = 8,
    max_new_tokens: int = 96,
    repeats: Annotated[int, typer.Option(min=1)] = 5,
    json_file: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    fetch()
    model = load(DEFAULT_TARGET, dtype, device)
    ways = _ways(model, gamma, max_new_tokens)
    for way in ways.values():  # warms up
        way(PRESETS[PROMPTS[0]].prompt)
    rates: dict[tuple[str, str], list[float]] = {(p, w): [] for p in PROMPTS for w in ways}
    with steps("Measuring") as report:
        done, total = 0, repeats * len(rates)
        for repeat in range(repeats):
            for prompt in PROMPTS:
                for name in ways if repeat % 2 == 0 else reversed(ways):
                    rates[prompt, name].append(_tokens_per_second(ways[name], prompt))
                    done += 1
                    report(done, total)
    rows = [_row(prompt, way, rates) for prompt, way in rates]
    claims = {
        "plain against transformers generate (at least 1)": min(
            _ratio(rates, prompt, PLAIN, GENERATE) for prompt in PROMPTS
        ),
        "lookup against plain, rewrite (at least 1.5)": _ratio(rates, "rewrite", LOOKUP, PLAIN),
        "recording's part of the time (at most 0.03)": max(
            _ratio(rates, prompt, bare, recorded) - 1
            for prompt in PROMPTS
            for bare, recorded in ((PLAIN, PLAIN_RECORDED), (LOOKUP, LOOKUP_RECORDED))
        ),
    }
    console = Console(highlight=False)
    columns = ("prompt", "way", "tokens/s", "against plain")
    texts = [(r["prompt"], r["way"], number(r["tokens_per_s"]), number(r["speedup"])) for r in rows]
    console.print(plain_table(columns, texts))
    dtype = str(model.dtype).removeprefix("torch.")
    where = f"{model.device}, {dtype}, {torch.get_num_threads()} threads"
    console.print(f"\n{where}, γ = {gamma}, median of {repeats}")
    console.print(plain_table(("", ""), [(claim, f"{v:.3f}") for claim, v in claims.items()]))
    if json_file:
        json_file.write_text(json.dumps({"where": where, "rows": rows, "claims": claims}, indent=2))


def _ways(model: LanguageModel, gamma: int, max_new_tokens: int) -> dict[str, Way]:
    transformer: Any = model.model

    def generate(**options: Any) -> Way:
        def way(prompt: str) -> int:
            ids = torch.tensor([model.encode(prompt, raw=False)], device=model.device)
            made = transformer.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                max_new_tokens=max_new_tokens,
                **options,
            )
            return int(made.shape[1] - ids.shape[1])

        return way

    def engine(drafter: str, *, record: bool) -> Way:
        settings = Settings(drafter=drafter, gamma=gamma, max_new_tokens=max_new_tokens)

        def way(prompt: str) -> int:
            *_, end = decode(model, prompt, settings, record=record)
            assert isinstance(end, RunFinished)
            return len(end.token_ids)

        return way

    return {
        GENERATE: generate(),
        PLAIN: engine("none", record=False),
        PLAIN_RECORDED: engine("none", record=True),
        GENERATE_LOOKUP: generate(prompt_lookup_num_tokens=gamma),
        LOOKUP: engine("lookup", record=False),
        LOOKUP_RECORDED: engine("lookup", record=True),
    }


def _tokens_per_second(way: Way, prompt: str) -> float:
    start = time.perf_counter()
    tokens = way(PRESETS[prompt].prompt)
    return tokens / (time.perf_counter() - start)


def _row(prompt: str, way: str, rates: dict[tuple[str, str], list[float]]) -> dict[str, Any]:
    return {
        "prompt": prompt,
        "way": way,
        "tokens_per_s": statistics.median(rates[prompt, way]),
        "speedup": _ratio(rates, prompt, way, PLAIN),
    }


def _ratio(rates: dict[tuple[str, str], list[float]], prompt: str, one: str, other: str) -> float:
    """The median, over repeats, of how many times faster one way is than another."""
    pairs = zip(rates[prompt, one], rates[prompt, other], strict=True)
    return statistics.median(a / b for a, b in pairs)


if __name__ == "__main__":
    typer.run(main)
