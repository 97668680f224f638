"""How fast the engine is beside transformers' own decoding, in one table: `make bench`.

Greedy, the same model, dtype, threads and prompts for all; the order turns round from repeat to
repeat. Tokens a second are of whole calls, the prompt's pass among them; what is claimed of the
engine itself is compared step by step.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from torch import Tensor
from transformers import StoppingCriteria, StoppingCriteriaList

from specviz.engine import decode
from specviz.events import Cycle, Prefilled, RunFinished
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


@dataclass(frozen=True)
class Answer:
    """One call, timed."""

    tokens: int
    seconds: float
    """From the call to the last token, the prompt's pass among them."""
    steps: list[float]
    """Seconds between one pass of the target and the next."""


Way = Callable[[str], Answer]
"""Answers a prompt."""


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
    answers: dict[tuple[str, str], list[Answer]] = {(p, w): [] for p in PROMPTS for w in ways}
    with steps("Measuring") as report:
        done, total = 0, repeats * len(answers)
        for repeat in range(repeats):
            for prompt in PROMPTS:
                for name in ways if repeat % 2 == 0 else reversed(ways):
                    answers[prompt, name].append(ways[name](PRESETS[prompt].prompt))
                    done += 1
                    report(done, total)
    rows = [_row(prompt, way, answers) for prompt, way in answers]
    claims = {
        "plain against transformers generate (at least 1)": _step_ratio(
            answers, [(GENERATE, PLAIN)]
        ),
        "lookup against plain, rewrite (at least 1.5)": _speedup(answers, "rewrite", LOOKUP),
        "recording's part of the time (at most 0.03)": _step_ratio(
            answers, [(PLAIN_RECORDED, PLAIN), (LOOKUP_RECORDED, LOOKUP)]
        )
        - 1,
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
        def way(prompt: str) -> Answer:
            ids = torch.tensor([model.encode(prompt, raw=False)], device=model.device)
            clock = _Clock()
            made = transformer.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                max_new_tokens=max_new_tokens,
                stopping_criteria=StoppingCriteriaList([clock]),
                **options,
            )
            return clock.answer(int(made.shape[1] - ids.shape[1]))

        return way

    def engine(drafter: str, *, record: bool) -> Way:
        settings = Settings(drafter=drafter, gamma=gamma, max_new_tokens=max_new_tokens)

        def way(prompt: str) -> Answer:
            clock, tokens = _Clock(), 0
            for event in decode(model, prompt, settings, record=record):
                if isinstance(event, Prefilled | Cycle):
                    clock.mark()
                if isinstance(event, RunFinished):
                    tokens = len(event.token_ids)
            return clock.answer(tokens)

        return way

    return {
        GENERATE: generate(),
        PLAIN: engine("none", record=False),
        PLAIN_RECORDED: engine("none", record=True),
        GENERATE_LOOKUP: generate(prompt_lookup_num_tokens=gamma),
        LOOKUP: engine("lookup", record=False),
        LOOKUP_RECORDED: engine("lookup", record=True),
    }


class _Clock(StoppingCriteria):
    """Marks every pass of the target; `generate` asks it after each whether to stop."""

    def __init__(self) -> None:
        self._marks = [time.perf_counter()]

    def mark(self) -> None:
        self._marks.append(time.perf_counter())

    def __call__(self, input_ids: Tensor, *_: Any, **__: Any) -> Tensor:
        self.mark()
        return torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)

    def answer(self, tokens: int) -> Answer:
        marks = self._marks
        return Answer(
            tokens=tokens,
            seconds=marks[-1] - marks[0],
            steps=[after - before for before, after in pairwise(marks[1:])],
        )


Answers = dict[tuple[str, str], list[Answer]]


def _row(prompt: str, way: str, answers: Answers) -> dict[str, Any]:
    made = answers[prompt, way]
    return {
        "prompt": prompt,
        "way": way,
        "tokens_per_s": statistics.median(one.tokens / one.seconds for one in made),
        "speedup": _speedup(answers, prompt, way),
    }


def _speedup(answers: Answers, prompt: str, way: str) -> float:
    """How many times plain decoding's tokens a second, median over repeats."""
    pairs = zip(answers[prompt, way], answers[prompt, PLAIN], strict=True)
    return statistics.median(
        (one.tokens / one.seconds) / (plain.tokens / plain.seconds) for one, plain in pairs
    )


def _step_ratio(answers: Answers, ways: Sequence[tuple[str, str]]) -> float:
    """How many times as long one way's step takes as the other's same step.

    Both write the same greedy text, so their n-th steps do the same work: the median over all
    steps, prompts and repeats is hardly moved by whatever else the machine does in between.
    """
    ratios = [
        slow / fast
        for one, other in ways
        for prompt in PROMPTS
        for a, b in zip(answers[prompt, one], answers[prompt, other], strict=True)
        for slow, fast in zip(a.steps, b.steps, strict=True)
    ]
    return statistics.median(ratios)


if __name__ == "__main__":
    typer.run(main)
