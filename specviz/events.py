"""The events of a run: the one vocabulary that engine, trace, metrics, server and page share.

A run is `run_started`, `prefilled`, any number of `cycle`, then `run_finished` or
`run_failed`. Every event is a pydantic model, told apart by its `type`.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from specviz.settings import Settings

TRACE_VERSION: Literal["specviz.trace/1"] = "specviz.trace/1"

Verdict = Literal["accepted", "rejected", "discarded"]
"""What became of a proposal; a discarded one was never tested."""

Source = Literal["accepted", "resampled", "bonus", "target"]
"""Where an emitted token came from.

`accepted`: a proposal that was kept. `resampled`: drawn from the residual in place of a
rejected one. `bonus`: drawn from p after a cycle whose every proposal was kept. `target`:
drawn from p where nothing had been proposed (the prompt's pass, plain decoding).
"""

FinishReason = Literal["end_of_text", "stop_string", "length", "context_full", "cancelled"]

Candidate = tuple[int, str, float]
"""(token id, its text, its probability)."""


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Proposal(_Event):
    """One proposed token: what the drafter thought, what the target thought, the dice.

    In a greedy run p and q are one-hot, so `p` and `q` are 0 or 1 and no dice are needed
    (`u` is None); the top lists then show the softmax at temperature 1 that the argmax was
    taken from.
    """

    token: int
    text: str
    p: float
    """The target's probability of this token."""
    q: float
    """The drafter's probability of this token, which was drawn from q."""
    accept_probability: float
    """min(1, p/q)."""
    u: float | None
    """The uniform draw it was tested with: accepted if u < p/q. None where it was not."""
    verdict: Verdict
    overlap: float | None = None
    """Σ min(p, q) over the vocabulary: the chance, before the draw, of being kept."""
    confidence: float | None = None
    """The drafter's largest probability at this position, known before the draw."""
    p_top: tuple[Candidate, ...] = ()
    q_top: tuple[Candidate, ...] = ()
    residual_top: tuple[Candidate, ...] = ()
    """The largest of norm(max(0, p − q))."""


class Emitted(_Event):
    """One token that became part of the text."""

    token: int
    text: str
    """What it added to the text: empty while a character or a possible stop string is open."""
    source: Source
    probability: float | None = None
    """Its probability in the distribution that it was drawn from (None if accepted)."""
    top: tuple[Candidate, ...] = ()
    """The largest of that distribution: p, or the residual if resampled."""


class Seconds(_Event):
    """Where a cycle's time went, by the engine's own clock."""

    draft: float = 0.0
    verify: float = 0.0
    sample: float = 0.0
    bookkeeping: float = 0.0

    @property
    def total(self) -> float:
        return self.draft + self.verify + self.sample + self.bookkeeping


class CacheLengths(_Event):
    """Tokens that a cache held before and after it was rolled back to the committed prefix."""

    target_before: int
    target_after: int
    drafter_before: int | None = None
    """None for a drafter that keeps no cache of its own."""
    drafter_after: int | None = None


class RunStarted(_Event):
    type: Literal["run_started"] = "run_started"
    version: Literal["specviz.trace/1"] = TRACE_VERSION
    run_id: str
    started_at: str
    """ISO 8601, UTC."""
    prompt: str
    prompt_tokens: int
    target: str
    drafter: str
    settings: Settings
    device: str
    dtype: str
    versions: dict[str, str]
    tokenizer_fingerprint: str
    vocabulary_size: int


class Prefilled(_Event):
    """The prompt's pass and the first token, which is in no average."""

    type: Literal["prefilled"] = "prefilled"
    emitted: Emitted
    seconds: float


class Cycle(_Event):
    """One draft, one verification pass, one commit."""

    type: Literal["cycle"] = "cycle"
    index: int
    """From 0."""
    gamma: int
    """Tokens asked of the drafter."""
    drafted: int
    """Tokens it proposed: never more."""
    tested: int
    """Of these, how many met the target; the rest were discarded."""
    accepted: int
    proposals: tuple[Proposal, ...] = ()
    """Empty when the run is not recorded."""
    emitted: tuple[Emitted, ...]
    seconds: Seconds
    cache: CacheLengths


class RunFinished(_Event):
    type: Literal["run_finished"] = "run_finished"
    reason: FinishReason
    text: str
    token_ids: tuple[int, ...]
    cycles: int
    drafted: int
    accepted: int
    target_passes: int
    seconds: float
    """Prompt's pass and all cycles, by the engine's clock."""


class RunFailed(_Event):
    type: Literal["run_failed"] = "run_failed"
    message: str
    """What happened and what to do, in one sentence."""


Event = Annotated[
    RunStarted | Prefilled | Cycle | RunFinished | RunFailed, Field(discriminator="type")
]

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""Parses and validates an event of any type."""
