"""What a server's passes cost with several users at once, and what a drafter's guesses come to.

T(B, k): a pass over k tokens for each of B users, measured. Of the drafter: c, and for each
cycle of recorded runs how many of its guesses were kept and how sure it was of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pydantic import BaseModel, ConfigDict

from specviz.costs import Spread, TimedPasses, beside_plain
from specviz.events import Cycle
from specviz.load import Draft, LoadCosts
from specviz.machine import Machine, this_machine
from specviz.metrics import draft_cost, judged, speedup, summarize
from specviz.runtime.language_model import LanguageModel
from specviz.settings import Settings
from specviz.trace import APART, Trace

BATCHES = (1, 2, 4, 8, 16)
LONGEST = 8
"""γ of the recorded runs; shorter drafts are read off them."""
LENGTHS = range(1, LONGEST + 2)
"""All that a cycle may check: on a CPU T(k) does not rise evenly."""
_ROUNDS = 2
"""Of each batch size, after every prompt."""


class MeasuredLoad(BaseModel):
    """Everything that a simulation needs, measured in one go."""

    model_config = ConfigDict(frozen=True)

    machine: Machine
    drafter: str
    costs: LoadCosts
    speedup: float
    """Of the recorded runs, γ = `LONGEST`, one user: what a simulation of one must reproduce."""


def measure_load(
    target: LanguageModel,
    drafter: str,
    prompts: Sequence[str],
    *,
    batches: Sequence[int] = BATCHES,
    max_new_tokens: int = 64,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> MeasuredLoad:
    """Measure batched passes, and record a drafter on some prompts.

    Raises:
        UserError: for a drafter that does not fit.
    """
    settings = Settings(drafter=drafter, gamma=LONGEST, max_new_tokens=max_new_tokens)
    passes = [_Passes(target, batch) for batch in batches]
    ours: list[Trace] = []
    plain: list[Trace] = []
    pauses = -(-max_new_tokens // APART)
    steps = pauses + _ROUNDS * len(passes)
    done = 0

    def measure(each: _Passes) -> None:
        nonlocal done
        each.measure()
        done += 1
        progress(done, steps * len(prompts))

    for number, prompt in enumerate(prompts):
        with_drafter, alone = beside_plain(
            target, prompt, settings, record=True, between=lambda: measure(passes[0])
        )
        ours.append(with_drafter)
        plain.append(alone)
        done = number * steps + pauses  # answers may be shorter
        for each in passes * _ROUNDS:
            measure(each)
    guessing, not_guessing = summarize(*ours), summarize(*plain)
    return MeasuredLoad(
        machine=this_machine(target),
        drafter=drafter,
        costs=LoadCosts(
            batches=tuple(batches),
            lengths=tuple(LENGTHS),
            seconds=tuple(each.medians() for each in passes),
            draft_cost=draft_cost(guessing, not_guessing),
            overhead=not_guessing.overhead,
            drafting_overhead=guessing.overhead,
            drafts=tuple(_draft(cycle) for trace in ours for cycle in trace.cycles),
        ),
        speedup=speedup(guessing, not_guessing) or 1.0,
    )


def _draft(cycle: Cycle) -> Draft:
    """A cycle's guesses that could have been kept, and what became of them."""
    sure, confidence = 1.0, []
    for proposal in cycle.proposals[: judged(cycle)]:
        sure *= 1.0 if proposal.confidence is None else proposal.confidence
        confidence.append(max(sure, 1e-9))
    return Draft(accepted=cycle.accepted, confidence=tuple(confidence))


class _Passes:
    """Passes for B users, in rounds."""

    def __init__(self, target: LanguageModel, batch: int) -> None:
        self._passes = TimedPasses(target, max(LENGTHS), batch)
        self._seconds: list[list[float]] = []
        """A row for each round, a column for each of `LENGTHS`."""

    def measure(self) -> None:
        """One round: a pass of each length, up and down in turns, after a first one to warm up."""
        if not self._seconds:
            self._round(LENGTHS)
        up = len(self._seconds) % 2 == 0
        round_ = self._round(LENGTHS if up else LENGTHS[::-1])
        self._seconds.append(round_ if up else round_[::-1])

    def medians(self) -> tuple[float, ...]:
        """T(B, k) for each of `LENGTHS`, in seconds."""
        columns = zip(*self._seconds, strict=True)
        return tuple(Spread.of(column).median for column in columns)

    def _round(self, lengths: Sequence[int]) -> list[float]:
        return [self._passes.seconds(k) for k in lengths]
