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
from specviz.metrics import draft_cost, summarize
from specviz.parity import Parting, find_parting
from specviz.runtime.language_model import LanguageModel
from specviz.settings import GREEDY_TEMPERATURE, MAX_GAMMA, PLAIN, Settings
from specviz.theory import predicted_speedup
from specviz.trace import Trace, collect

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
    worst_speedup: float
    """Of the prompt that gained least."""
    by_category: dict[str, float]
    """The speedup on the prompts of each category that was named."""
    mean_acceptance_length: float | None
    draft_acceptance_rate: float | None
    conditional_acceptance: tuple[float | None, ...]
    """By position, from the first."""
    survival: tuple[float, ...]
    """Of all cycles, the share that kept at least 1, 2, … proposals."""
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
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Cannot read the prompts file {path}: choose another.") from error
    return parse_prompts(text, str(path))


def parse_prompts(text: str, name: str) -> list[Prompt]:
    """The prompts of a JSON Lines text; `name` is what it is called in a complaint.

    Raises:
        UserError: if a line has no `prompt`, or there is none at all.
    """
    prompts = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                prompts.append(Prompt.model_validate_json(line))
            except ValidationError as error:
                raise UserError(
                    f"Line {number} of {name} is not a JSON object with a “prompt”: correct it."
                ) from error
    if not prompts:
        raise UserError(f"{name} holds no prompts: write one JSON object with a “prompt” a line.")
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
    keep: Callable[[BenchResult], None] | None = None,
) -> BenchResult:
    """Measure every drafter at every γ against plain decoding.

    In each repeat every prompt is run by every cell, plain decoding among them, in an order
    that turns round from repeat to repeat, so that a machine which slows down favours none.

    Args:
        settings: all but drafter and γ.
        hopeless: a cell is not run again once its speedup is below this part of the best one.
        progress: told how many of how many runs are done.
        keep: given what was measured so far, after every prompt of the first repeat and after
            every repeat.
    """
    cells = [Cell(drafter=d, gamma=g) for d, g in product(drafters, gammas) if d != PLAIN]
    grid = [Cell(drafter=PLAIN, gamma=0), *cells]
    for cell in grid:  # warms up, and refuses a drafter that does not fit before the long work
        short = _with_cell(settings, cell, max_new_tokens=_WARM_UP_TOKENS)
        collect(decode(target, prompts[0].prompt, short, record=False))
    for prompt in prompts:  # likewise a prompt that is too long
        next(decode(target, prompt.prompt, _with_cell(settings, grid[0]), record=False))
    costs = measure_passes(target, _pass_lengths(gammas, settings))
    runs = _Runs(target, prompts, settings, {cost.tokens: cost.v.median for cost in costs})
    measured = grid if PLAIN in drafters else cells
    done, hopeful = 0, grid
    for repeat in range(repeats):
        total = done + (repeats - repeat) * len(prompts) * len(hopeful)
        for cell in hopeful:
            runs.traces.setdefault(cell, []).append([])
        for prompt in prompts:
            for cell in hopeful if repeat % 2 == 0 else reversed(hopeful):
                chosen = _with_cell(settings, cell)
                trace = collect(decode(target, prompt.prompt, chosen, record=False))
                runs.traces[cell][repeat].append(trace)
                done += 1
                progress(done, total)
            if keep and repeat == 0 and runs.timed:
                keep(runs.result(measured))
        hopeful = runs.hopeful(hopeful, hopeless)
        if keep and repeat < repeats - 1:
            keep(runs.result(measured))
    result = runs.result(measured)
    if keep:
        keep(result)
    return result


class _Runs:
    """What was run so far, and what it comes to."""

    def __init__(
        self,
        target: LanguageModel,
        prompts: Sequence[Prompt],
        settings: Settings,
        pass_cost: dict[int, float],
    ) -> None:
        self.traces: dict[Cell, list[list[Trace]]] = {}
        """Of each cell, one list a repeat; plain decoding's is the first."""
        self._target = target
        self._prompts = prompts
        self._settings = settings
        self._pass_cost = pass_cost

    @property
    def _plain(self) -> list[list[Trace]]:
        return next(iter(self.traces.values()))

    @property
    def timed(self) -> bool:
        """Whether any answer has gone beyond its first token."""
        return any(trace.cycles for repeat in self._plain for trace in repeat)

    def hopeful(self, grid: list[Cell], hopeless: float) -> list[Cell]:
        """The cells that are worth another repeat; the first one, plain decoding, always is."""
        seconds = {
            cell: statistics.median(map(_seconds_per_token, self.traces[cell])) for cell in grid
        }
        best = min(seconds.values())
        return [cell for cell in grid if cell is grid[0] or best >= hopeless * seconds[cell]]

    def result(self, cells: Sequence[Cell]) -> BenchResult:
        """The rows of these cells, by the repeats that are complete or are the first."""
        prompts = self._prompts[: len(self._plain[0])]
        return BenchResult(
            rows=tuple(
                _row(
                    self._target,
                    cell,
                    prompts,
                    self.traces[cell],
                    self._plain,
                    self._settings.temperature,
                    self._pass_cost,
                )
                for cell in cells
            ),
            environment=Environment(
                **this_machine(self._target).model_dump(),
                prompts=len(prompts),
                repeats=len(self._plain),
                max_new_tokens=self._settings.max_new_tokens,
                pass_cost=self._pass_cost,
            ),
        )


def _with_cell(settings: Settings, cell: Cell, **changes: int) -> Settings:
    return settings.model_copy(update={"drafter": cell.drafter, "gamma": cell.gamma, **changes})


def _pass_lengths(gammas: Sequence[int], settings: Settings) -> list[int]:
    """The k of v(k) that a prediction needs, and one more: what a further proposal would cost."""
    longest = MAX_GAMMA if settings.draft_length == "schedule" else max(gammas)
    return list(range(1, longest + 3))


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
        speedup=float(times.speedup()),
        speedup_low=low,
        speedup_high=high,
        worst_speedup=min(
            float(times.speedup([at])) for at, tokens in enumerate(times.tokens) if tokens
        ),
        by_category={
            category: float(times.speedup(places))
            for category in dict.fromkeys(filter(None, categories))
            if times.tokens[places := [c == category for c in categories]].sum()
        },
        mean_acceptance_length=summary.mean_acceptance_length,
        draft_acceptance_rate=summary.draft_acceptance_rate,
        conditional_acceptance=conditional,
        survival=tuple(at.accepted / summary.cycles for at in summary.conditional_acceptance),
        draft_cost=cost,
        predicted_speedup=predicted_speedup(
            summary.mean_acceptance_length or 1.0,
            summary.drafted_histogram,
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
        self._runs = [_by_prompt(repeats) for repeats in (ours, plain)]
        # [prompts] tokens, and seconds for as many of them.
        (self._ours, self.tokens), (self._plain, self._plain_tokens) = (
            (np.median(pace, 0) * tokens, tokens) for pace, tokens in self._runs
        )

    def tokens_per_s(self) -> float:
        return float(self.tokens.sum() / self._ours.sum())

    def speedup(self, prompts: Any = slice(None)) -> Any:
        """Of these prompts together, by their places; one may be named more than once.

        Several rows of places give a speedup each.
        """
        plain = self._plain[prompts].sum(-1) / self._plain_tokens[prompts].sum(-1)
        return plain / (self._ours[prompts].sum(-1) / self.tokens[prompts].sum(-1))

    def interval(self) -> tuple[float, float]:
        """The middle 95 % of the speedups of as many prompts, drawn anew with replacement.

        Of a single prompt: as far apart as any two runs of it were.
        """
        count = len(self.tokens)
        if count > 1:
            draws = np.random.default_rng(0).integers(count, size=(_DRAWS, count))
            low, high = np.percentile(
                self.speedup(draws[self.tokens[draws].sum(1) > 0]), [2.5, 97.5]
            )
            return float(low), float(high)
        (ours, _), (plain, _) = self._runs
        return float(plain.min() / ours.max()), float(plain.max() / ours.min())


def _by_prompt(repeats: Sequence[Sequence[Trace]]) -> tuple[_Numbers, _Numbers]:
    """Decoding seconds a token, [repeats, prompts], and tokens, [prompts], their mean."""
    summaries = [[summarize(trace) for trace in repeat] for repeat in repeats]
    pace = [[summary.seconds_per_token or 0.0 for summary in repeat] for repeat in summaries]
    tokens = [[summary.tokens for summary in repeat] for repeat in summaries]
    return np.array(pace), np.array(tokens).mean(0)


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
