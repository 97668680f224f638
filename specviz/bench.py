"""Timed comparisons: every cell of a grid against plain decoding, in alternating runs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
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
_DRAWS = 1000

_Numbers = np.ndarray[Any, np.dtype[np.float64]]


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
    repeats: int
    """Fewer than were asked for, if it was given up."""
    speedup: float
    """Plain seconds a token ÷ this cell's, each prompt's the median of its repeats; below 1 is
    slower."""
    speedup_low: float
    speedup_high: float
    """Ends of the 95 % interval: how it might have been with other prompts of the kind. Of a
    single prompt: as far apart as any two runs of it were."""
    by_category: dict[str, float]
    """The speedup on the prompts of each category that was named."""
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
    hopeless: float = 0.0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> BenchResult:
    """Measure every drafter at every γ against plain decoding.

    In each repeat every prompt is run by every cell, plain decoding among them, in an order
    that turns round from repeat to repeat, so that a machine which slows down favours none.

    Args:
        settings: all but drafter and γ.
        hopeless: a cell is not run again once its speedup is below this part of the best one.
        progress: told how many of how many runs are done.
    """
    cells = [Cell(drafter=d, gamma=g) for d, g in product(drafters, gammas) if d != PLAIN]
    grid = [Cell(drafter=PLAIN, gamma=0), *cells]
    for cell in grid:  # warms up, and refuses a drafter that does not fit before the long work
        short = _with_cell(settings, cell, max_new_tokens=_WARM_UP_TOKENS)
        collect(decode(target, prompts[0].prompt, short, record=False))
    runs: dict[Cell, list[list[Trace]]] = {cell: [] for cell in grid}
    done, hopeful = 0, grid
    for repeat in range(repeats):
        total = done + (repeats - repeat) * len(prompts) * len(hopeful)
        for cell in hopeful:
            runs[cell].append([])
        for prompt in prompts:
            for cell in hopeful if repeat % 2 == 0 else reversed(hopeful):
                chosen = _with_cell(settings, cell)
                trace = collect(decode(target, prompt.prompt, chosen, record=False))
                runs[cell][repeat].append(trace)
                done += 1
                progress(done, total)
        hopeful = _hopeful(hopeful, runs, hopeless)
    pass_cost = {cost.tokens: cost.v.median for cost in measure_passes(target, _pass_lengths(runs))}
    plain = runs[grid[0]]
    measured = grid if PLAIN in drafters else cells
    rows = [
        _row(target, cell, prompts, runs[cell], plain, settings.temperature, pass_cost)
        for cell in measured
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


def _hopeful(grid: list[Cell], runs: dict[Cell, list[list[Trace]]], hopeless: float) -> list[Cell]:
    """The cells that are worth another repeat; the first one, plain decoding, always is."""
    seconds = {
        cell: statistics.median(_seconds_per_token(repeat) for repeat in runs[cell])
        for cell in grid
    }
    best = min(seconds.values())
    return [cell for cell in grid if cell is grid[0] or best >= hopeless * seconds[cell]]


def _pass_lengths(runs: dict[Cell, list[list[Trace]]]) -> list[int]:
    traces = (trace for repeats in runs.values() for repeat in repeats for trace in repeat)
    used = {judged(cycle) + 1 for trace in traces for cycle in trace.cycles}
    return sorted(used | {length + 1 for length in used})  # and what one more proposal would cost


def _row(
    target: LanguageModel,
    cell: Cell,
    prompts: Sequence[Prompt],
    repeats: Sequence[Sequence[Trace]],
    plain: Sequence[Sequence[Trace]],
    temperature: float,
    pass_cost: dict[int, float],
) -> Row:
    plain = plain[: len(repeats)]
    summary, baseline = (
        summarize(*(trace for traces in runs for trace in traces)) for runs in (repeats, plain)
    )
    times = _Times(repeats, plain)
    low, high = times.interval()
    categories = [prompt.category for prompt in prompts]
    cost = draft_cost(summary, baseline)
    conditional = tuple(acceptance.rate for acceptance in summary.conditional_acceptance)
    partings = (
        _partings(target, repeats[0], plain[0]) if temperature <= GREEDY_TEMPERATURE else None
    )
    return Row(
        drafter=cell.drafter,
        gamma=cell.gamma,
        temperature=temperature,
        tokens_per_s=times.tokens_per_s(),
        repeats=len(repeats),
        speedup=times.speedup(),
        speedup_low=low,
        speedup_high=high,
        by_category={
            category: times.speedup([at for at, its in enumerate(categories) if its == category])
            for category in dict.fromkeys(filter(None, categories))
        },
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


class _Times:
    """What one cell and plain decoding took for each prompt: the median of the repeats."""

    def __init__(self, ours: Sequence[Sequence[Trace]], plain: Sequence[Sequence[Trace]]) -> None:
        (self.seconds, self.tokens), (self._plain_seconds, self._plain_tokens) = (
            _by_prompt(ours),
            _by_prompt(plain),
        )

    def tokens_per_s(self) -> float:
        return float(np.median(self.seconds, 0).sum() ** -1 * self.tokens.sum())

    def speedup(self, prompts: Any = slice(None)) -> float:
        """Of these prompts together, by their places; one may be named more than once."""
        ours, plain = (
            np.median(seconds, 0)[prompts].sum() / tokens[prompts].sum()
            for seconds, tokens in (
                (self.seconds, self.tokens),
                (self._plain_seconds, self._plain_tokens),
            )
        )
        return float(plain / ours)

    def interval(self) -> tuple[float, float]:
        """The middle 95 % of the speedups of as many prompts, drawn anew with replacement.

        Of a single prompt: as far apart as any two runs of it were.
        """
        count = len(self.tokens)
        if count > 1:
            draws = np.random.default_rng(0).integers(count, size=(_DRAWS, count))
            low, high = np.percentile([self.speedup(prompts) for prompts in draws], [2.5, 97.5])
            return float(low), float(high)
        ours, plain = self.seconds / self.tokens, self._plain_seconds / self._plain_tokens
        return float(plain.min() / ours.max()), float(plain.max() / ours.min())


def _by_prompt(repeats: Sequence[Sequence[Trace]]) -> tuple[_Numbers, _Numbers]:
    """Decoding seconds, [repeats, prompts], and tokens, [prompts]."""
    summaries = [[summarize(trace) for trace in repeat] for repeat in repeats]
    return (
        np.array([[summary.seconds.decoding for summary in repeat] for repeat in summaries]),
        np.array([summary.tokens for summary in summaries[0]]),
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
