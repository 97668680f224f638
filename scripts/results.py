"""Measures every drafter at every γ and writes what came out to docs/results.md.

`python -m scripts.results --prompts FILE.jsonl`

The prompts need a `category` each; `--each` takes so many of every one. Hours on a CPU.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from specviz.bench import BenchResult, Prompt, Row, bench, read_prompts
from specviz.progress import fetch, steps
from specviz.runtime.loading import load
from specviz.runtime.registry import DEFAULT_TARGET
from specviz.settings import PLAIN, Settings
from specviz.terminal import percent
from specviz.tuning import prediction_error

PAGE = Path("docs/results.md")
DRAFTERS = "hybrid,mtp,small-2,small-4,lookup,early-exit:2,early-exit:4"
GAMMAS = "1,2,3,4,6,8"
TEMPERATURES = (0.0, 1.0)
POSITIONS = 4


def main(
    prompts: Annotated[Path, typer.Option(help="One JSON object with a prompt a line.")],
    drafters: str = DRAFTERS,
    gammas: str = GAMMAS,
    dtype: str = "auto",
    each: Annotated[int, typer.Option(help="Prompts of each category; 0 is all.")] = 0,
    max_new_tokens: int = 96,
    repeats: int = 1,
    json_file: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    fetch()
    model = load(DEFAULT_TARGET, dtype)
    chosen = _of_each(read_prompts(prompts), each)
    results = []
    for temperature in TEMPERATURES:
        with steps(f"Temperature {temperature:g}") as report:
            results.append(
                bench(
                    model,
                    chosen,
                    drafters=[PLAIN, *drafters.split(",")],
                    gammas=[int(gamma) for gamma in gammas.split(",")],
                    settings=Settings(temperature=temperature, max_new_tokens=max_new_tokens),
                    repeats=repeats,
                    progress=report,
                )
            )
    if json_file:
        json_file.write_text(json.dumps([r.model_dump(mode="json") for r in results], indent=2))
    PAGE.write_text(page(results, prompts.name), encoding="utf-8")
    Console().print(f"Written to {PAGE}.")


def page(results: Sequence[BenchResult], prompts: str) -> str:
    """The whole document."""
    where = results[0].environment
    lines = [
        "# Measured",
        "",
        (
            f"{where.target} in {where.dtype} on {where.device_name} ({where.device}), "
            f"{where.threads} threads, torch {where.torch}. {where.prompts} prompts, answers of up "
            f"to {where.max_new_tokens} tokens, {where.repeats} × each in turns with plain "
            f"decoding. Written by `python -m scripts.results`; the prompts are of `{prompts}`."
        ),
        "",
        f"v(k), a pass over k tokens in passes over one: {_pass_costs(where.pass_cost)}.",
        "",
    ]
    for result in results:
        lines += _grid(result)
    lines += _guesses(results[0])
    return "\n".join(lines)


def _of_each(prompts: list[Prompt], each: int) -> list[Prompt]:
    if each == 0:
        return prompts
    taken: dict[str | None, list[Prompt]] = {}
    for prompt in prompts:
        taken.setdefault(prompt.category, []).append(prompt)
    return [prompt for category in taken.values() for prompt in category[:each]]


def _grid(result: BenchResult) -> list[str]:
    """Speedups of one temperature: by drafter and γ, then of the best cell by category."""
    rows = [row for row in result.rows if row.drafter != PLAIN]
    gammas = sorted({row.gamma for row in rows})
    temperature = rows[0].temperature
    title = f"Temperature {temperature:g}" if temperature else "Greedy"
    best = max(rows, key=lambda row: row.speedup)
    lines = [
        f"## {title}",
        "",
        (
            "Speedup against plain decoding, in brackets as predicted: τ, the tokens a cycle, "
            "divided by what its guesses (c) and its pass (v) cost."
        ),
        "",
        _line(["drafter", *(f"γ = {gamma}" for gamma in gammas)]),
        _line(["---"] * (1 + len(gammas))),
    ]
    for drafter in dict.fromkeys(row.drafter for row in rows):
        its = {row.gamma: row for row in rows if row.drafter == drafter}
        lines.append(_line([f"`{drafter}`", *(_cell(its[gamma], best) for gamma in gammas)]))
    error = prediction_error(result)
    assert error is not None
    lines += [
        "",
        (
            f"Predictions are off by {percent(error[0])} on average, most for "
            f"`{error[1].drafter}` at γ = {error[1].gamma} ({error[1].speedup:.2f} measured, "
            f"{error[1].predicted_speedup:.2f} predicted)."
        ),
        "",
        f"The best, `{best.drafter}` at γ = {best.gamma}: {best.speedup:.2f}× "
        f"({best.speedup_low:.2f} to {best.speedup_high:.2f}, 95 % over prompts). By category: "
        + ", ".join(f"{name} {speedup:.2f}×" for name, speedup in best.by_category.items())
        + ".",
        "",
    ]
    return lines


def _guesses(result: BenchResult) -> list[str]:
    """What each drafter's guess costs, and how often it is kept."""
    lines = [
        "## Guesses",
        "",
        (
            f"Greedy, γ = {POSITIONS}: what a guess costs, in passes of the target, and at each "
            "place of a draft the share of tested guesses that was kept."
        ),
        "",
        _line(["drafter", "c", *(f"at {place + 1}" for place in range(POSITIONS)), "τ"]),
        _line(["---"] * (POSITIONS + 3)),
    ]
    for row in result.rows:
        if row.drafter != PLAIN and row.gamma == POSITIONS:
            kept = [percent(rate) for rate in row.conditional_acceptance[:POSITIONS]]
            kept += ["–"] * (POSITIONS - len(kept))
            tau = f"{row.mean_acceptance_length:.2f}"
            lines.append(_line([f"`{row.drafter}`", f"{row.draft_cost:.3f}", *kept, tau]))
    return [*lines, ""]


def _cell(row: Row, best: Row) -> str:
    measured = f"{row.speedup:.2f}"
    predicted = "–" if row.predicted_speedup is None else f"{row.predicted_speedup:.2f}"
    return f"{f'**{measured}**' if row is best else measured} ({predicted})"


def _pass_costs(v: dict[int, float]) -> str:
    return ", ".join(f"v({k}) = {cost:.2f}" for k, cost in v.items() if k > 1)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    typer.run(main)
