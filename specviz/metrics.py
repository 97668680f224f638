"""A trace to numbers. The first token, from the prompt's pass, is in none of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict
from scipy.stats import binomtest

from specviz.events import Cycle
from specviz.trace import Trace


class Acceptance(BaseModel):
    """How often the proposal at one position was kept, of those that were tested there."""

    model_config = ConfigDict(frozen=True)

    position: int
    """From 1."""
    accepted: int
    tested: int
    rate: float | None
    """None where nothing was tested."""
    low: float | None
    high: float | None
    """Ends of the 95 % Wilson interval."""


class PhaseSeconds(BaseModel):
    """Where a run's time went."""

    model_config = ConfigDict(frozen=True)

    prefill: float
    draft: float
    verify: float
    sample: float
    bookkeeping: float

    @property
    def decoding(self) -> float:
        """All cycles; the prompt's pass is not in it."""
        return self.draft + self.verify + self.sample + self.bookkeeping


class Summary(BaseModel):
    """A run in numbers."""

    model_config = ConfigDict(frozen=True)

    prompt_tokens: int
    tokens: int
    """Emitted by cycles."""
    cycles: int
    target_passes: int
    draft_acceptance_rate: float | None
    """Σa / Σd; None if nothing was drafted."""
    mean_acceptance_length: float | None
    """τ = Σe / cycles."""
    alpha: float | None
    """Mean of Σ min(p, q) over tested positions; None if unrecorded."""
    conditional_acceptance: tuple[Acceptance, ...]
    survival: tuple[float, ...]
    """#(a ≥ i) / #(d ≥ i), from i = 1."""
    acceptance_histogram: tuple[int, ...]
    """Cycles that kept 0, 1, 2, … proposals."""
    drafted_histogram: dict[int, int]
    """Cycles by the number of proposals that could have been kept."""
    seconds: PhaseSeconds
    tokens_per_s: float | None
    seconds_per_token: float | None

    @property
    def acceptance(self) -> float | None:
        """Of all proposals that were tested, the share that was kept: the likeliest α."""
        tested = sum(at.tested for at in self.conditional_acceptance)
        accepted = sum(at.accepted for at in self.conditional_acceptance)
        return accepted / tested if tested else None

    @property
    def target_pass(self) -> float:
        """Seconds of a cycle's pass of the target."""
        return self.seconds.verify / self.cycles

    @property
    def overhead(self) -> float:
        """Seconds that a cycle spends on sampling and bookkeeping."""
        return (self.seconds.sample + self.seconds.bookkeeping) / self.cycles


def summarize(*traces: Trace) -> Summary:
    """Every number of a run, or of several taken together."""
    cycles = [cycle for trace in traces for cycle in trace.cycles]
    tokens = sum(len(cycle.emitted) for cycle in cycles)
    drafted = sum(map(judged, cycles))
    seconds = PhaseSeconds(
        prefill=sum(trace.prefilled.seconds for trace in traces if trace.prefilled),
        draft=sum(cycle.seconds.draft for cycle in cycles),
        verify=sum(cycle.seconds.verify for cycle in cycles),
        sample=sum(cycle.seconds.sample for cycle in cycles),
        bookkeeping=sum(cycle.seconds.bookkeeping for cycle in cycles),
    )
    return Summary(
        prompt_tokens=sum(trace.started.prompt_tokens for trace in traces),
        tokens=tokens,
        cycles=len(cycles),
        target_passes=len(cycles) + sum(trace.prefilled is not None for trace in traces),
        draft_acceptance_rate=(
            sum(cycle.accepted for cycle in cycles) / drafted if drafted else None
        ),
        mean_acceptance_length=tokens / len(cycles) if cycles else None,
        alpha=alpha(cycles),
        conditional_acceptance=conditional_acceptance(cycles),
        survival=survival(cycles),
        acceptance_histogram=acceptance_histogram(cycles),
        drafted_histogram=dict(sorted(Counter(map(judged, cycles)).items())),
        seconds=seconds,
        tokens_per_s=tokens / seconds.decoding if seconds.decoding else None,
        seconds_per_token=seconds.decoding / tokens if tokens else None,
    )


def speedup(ours: Summary, plain: Summary) -> float | None:
    """Plain decoding's seconds a token ÷ ours; None where nothing was timed."""
    if ours.seconds_per_token is None or plain.seconds_per_token is None:
        return None
    return plain.seconds_per_token / ours.seconds_per_token


def draft_cost(ours: Summary, plain: Summary) -> float:
    """c: one draft step's time ÷ one plain pass of the target; 0 where nothing was drafted."""
    steps = sum(drafted * cycles for drafted, cycles in ours.drafted_histogram.items())
    return ours.seconds.draft / steps / plain.target_pass if steps else 0.0


def judged(cycle: Cycle) -> int:
    """d: proposals that could have been kept.

    Those behind a kept end of text or stop string could not: no rejection stands before them.
    """
    return cycle.tested if cycle.tested == cycle.accepted else cycle.drafted


def conditional_acceptance(cycles: Sequence[Cycle]) -> tuple[Acceptance, ...]:
    """#(a ≥ i) / #(a ≥ i − 1 and d ≥ i) for each position i: of those tested, those kept."""
    deepest = max((cycle.tested for cycle in cycles), default=0)
    return tuple(
        _acceptance(
            position=i,
            accepted=sum(cycle.accepted >= i for cycle in cycles),
            tested=sum(cycle.tested >= i for cycle in cycles),
        )
        for i in range(1, deepest + 1)
    )


def survival(cycles: Sequence[Cycle]) -> tuple[float, ...]:
    """#(a ≥ i) / #(d ≥ i) for each position i."""
    deepest = max(map(judged, cycles), default=0)
    return tuple(
        sum(cycle.accepted >= i for cycle in cycles) / sum(judged(cycle) >= i for cycle in cycles)
        for i in range(1, deepest + 1)
    )


def acceptance_histogram(cycles: Sequence[Cycle]) -> tuple[int, ...]:
    """How many cycles kept 0, 1, 2, … proposals."""
    counts = Counter(cycle.accepted for cycle in cycles)
    return tuple(counts[i] for i in range(max(counts, default=-1) + 1))


def alpha(cycles: Sequence[Cycle]) -> float | None:
    """The mean of Σ min(p, q) over tested positions, beside the observed rate."""
    overlaps = [
        proposal.overlap
        for cycle in cycles
        for proposal in cycle.proposals[: cycle.tested]
        if proposal.overlap is not None
    ]
    return sum(overlaps) / len(overlaps) if overlaps else None


def _acceptance(position: int, accepted: int, tested: int) -> Acceptance:
    if not tested:
        return Acceptance(position=position, accepted=0, tested=0, rate=None, low=None, high=None)
    interval = binomtest(accepted, tested).proportion_ci(0.95, method="wilson")
    return Acceptance(
        position=position,
        accepted=accepted,
        tested=tested,
        rate=accepted / tested,
        low=float(interval.low),
        high=float(interval.high),
    )
