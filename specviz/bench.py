"""Timed comparisons: every cell of a grid against plain decoding, in alternating runs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from specviz.costs import measure_passes
from specviz.engine import decode
from specviz.errors import UserError
from specviz.machine import Machine, this_machine
from specviz.metrics import draft_cost, judged, summarize
from specviz.parity import Parting, find_parting
from specviz.runtime.language_model import LanguageModel
from specviz.settings import GREEDY_TEMPERATURE, Settings
from specviz.theory import predicted_speedup
from specviz.trace import Trace, collect

PLAIN = "none"
_WARM_UP_TOKENS = 8


class Prompt(BaseModel):
    """One line of a prompts file."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    prompt: str
    id: int | str | None = None
    category: str | None = None


class Cell(BaseModel):
    """One setting of the grid."""

    model_config = ConfigDict(frozen=True)

    drafter: str
    gamma: int


class Row(BaseModel):
    """One cell, measured."""

    model_config = ConfigDict(frozen=True)

    drafter: str
    gamma: int
    temperature: float
    tokens_per_s: float
    """Median over repeats."""
    speedup: float
    """Plain seconds a token ÷ this cell's, median over repeats; below 1 is slower."""
    speedup_low: float
    speedup_high: float
    """Least and greatest of the repeats."""
    mean_acceptance_length: float | None
    draft_acceptance_rate: float | None
    conditional_acceptance: tuple[float | None, ...]
    """By position, from the first."""
    draft_cost: float
    """c: one draft step ÷ one plain pass of the target."""
    predicted_speedup: float | None
    greedy_identical: bool | None
    """Whether every text equals plain decoding's, token for token; None if sampled."""
    prompts_identical: int | None
    ties: int | None
    """Of the texts that differ, those that part at a tie within rounding."""


class Environment(Machine):
    """What it was measured on, and how much."""

    prompts: int
    repeats: int
    max_new_tokens: int
    pass_cost: dict[int, float]
    """v(k) = T(k) / T(1)."""


class BenchResult(BaseModel):
    """A grid, measured."""

    model_config = ConfigDict(frozen=True)

    rows: tuple[Row, ...]
    environment: Environment


def read_prompts(path: Path) -> list[Prompt]:
    """The prompts of a JSON Lines file.

    Raises:
        UserError: if it cannot be read, or a line has no `prompt`.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Cannot read the prompts file {path}: choose another.") from error
    prompts = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                prompts.append(Prompt.model_validate_json(line))
            except ValidationError as error:
                raise UserError(
                    f"Line {number} of {path} is not a JSON object with a “prompt”: correct it."
                ) from error
    if not prompts:
        raise UserError(f"{path} holds no prompts: write one JSON object with a “prompt” a line.")
    return prompts


def bench(
    target: LanguageModel,
    prompts: Sequence[Prompt],
    *,
    drafters: Sequence[str],
    gammas: Sequence[int],
    settings: Settings,
    repeats: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> BenchResult:
    """Measure every drafter at every γ against plain decoding.

    In each repeat every prompt is run by every cell, plain decoding among them, in an order
    that turns round from repeat to repeat, so that a machine which slows down favours none.

    Args:
        settings: all but drafter and γ.
        progress: told how many of how many runs are done.
    """
    cells = [Cell(drafter=d, gamma=g) for d, g in product(drafters, gammas) if d != PLAIN]
    grid = [Cell(drafter=PLAIN, gamma=0), *cells]
    for cell in grid:  # warms up, and refuses a drafter that does not fit before the long work
        short = _with_cell(settings, cell, max_new_tokens=_WARM_UP_TOKENS)
        collect(decode(target, prompts[0].prompt, short, record=False))
    runs: dict[Cell, list[list[Trace]]] = {cell: [[] for _ in range(repeats)] for cell in grid}
    total, done = repeats * len(prompts) * len(grid), 0
    for repeat in range(repeats):
        for prompt in prompts:
            for cell in grid if repeat % 2 == 0 else reversed(grid):
                chosen = _with_cell(settings, cell)
                trace = collect(decode(target, prompt.prompt, chosen, record=False))
                runs[cell][repeat].append(trace)
                done += 1
                progress(done, total)
    pass_cost = {cost.tokens: cost.v.median for cost in measure_passes(target, _pass_lengths(runs))}
    plain = runs[grid[0]]
    measured = grid if PLAIN in drafters else cells
    rows = [
        _row(target, cell, runs[cell], plain, settings.temperature, pass_cost) for cell in measured
    ]
    return BenchResult(
        rows=tuple(rows),
        environment=Environment(
            **this_machine(target).model_dump(),
            prompts=len(prompts),
            repeats=repeats,
            max_new_tokens=settings.max_new_tokens,
            pass_cost=pass_cost,
        ),
    )


def _with_cell(settings: Settings, cell: Cell, **changes: int) -> Settings:
    return settings.model_copy(update={"drafter": cell.drafter, "gamma": cell.gamma, **changes})


def _pass_lengths(runs: dict[Cell, list[list[Trace]]]) -> list[int]:
    traces = (trace for repeats in runs.values() for repeat in repeats for trace in repeat)
    return sorted({judged(cycle) + 1 for trace in traces for cycle in trace.cycles})


def _row(
    target: LanguageModel,
    cell: Cell,
    repeats: Sequence[Sequence[Trace]],
    plain: Sequence[Sequence[Trace]],
    temperature: float,
    pass_cost: dict[int, float],
) -> Row:
    ours = [_seconds_per_token(traces) for traces in repeats]
    speedups = [_seconds_per_token(p) / o for o, p in zip(ours, plain, strict=True)]
    summary, baseline = (
        summarize(*(trace for traces in runs for trace in traces)) for runs in (repeats, plain)
    )
    cost = draft_cost(summary, baseline)
    conditional = tuple(acceptance.rate for acceptance in summary.conditional_acceptance)
    partings = (
        _partings(target, repeats[0], plain[0]) if temperature <= GREEDY_TEMPERATURE else None
    )
    return Row(
        drafter=cell.drafter,
        gamma=cell.gamma,
        temperature=temperature,
        tokens_per_s=1 / statistics.median(ours),
        speedup=statistics.median(speedups),
        speedup_low=min(speedups),
        speedup_high=max(speedups),
        mean_acceptance_length=summary.mean_acceptance_length,
        draft_acceptance_rate=summary.draft_acceptance_rate,
        conditional_acceptance=conditional,
        draft_cost=cost,
        predicted_speedup=predicted_speedup(
            summary.drafted_histogram,
            [rate or 0.0 for rate in conditional],
            draft_cost=cost,
            pass_cost=pass_cost,
            overhead=(summary.overhead - baseline.overhead) / baseline.target_pass,
        ),
        greedy_identical=not partings if partings is not None else None,
        prompts_identical=len(plain[0]) - len(partings) if partings is not None else None,
        ties=sum(parting.tie for parting in partings) if partings is not None else None,
    )


def _seconds_per_token(traces: Sequence[Trace]) -> float:
    summary = summarize(*traces)
    if summary.seconds_per_token is None:
        raise UserError(
            "Nothing can be timed: every answer ended with its first token. "
            "Choose longer answers or other prompts."
        )
    return summary.seconds_per_token


def _partings(
    target: LanguageModel, ours: Sequence[Trace], plain: Sequence[Trace]
) -> list[Parting]:
    found = []
    for one, other in zip(ours, plain, strict=True):
        started = one.started
        prompt_ids = target.encode(started.prompt, raw=started.settings.raw)
        parting = find_parting(target, prompt_ids, one.token_ids, other.token_ids)
        if parting:
            found.append(parting)
    return found
