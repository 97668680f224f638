"""The parameters of a decoding: what a person may choose, with the limits of each."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

GREEDY_TEMPERATURE = 1e-5
"""At or below this temperature a distribution is the one-hot of its argmax, as in vLLM."""

MAX_GAMMA = 64

PLAIN = "none"
"""The drafter that proposes nothing: plain decoding."""

TRAINED_DRAFTERS = ("hybrid", "mtp", "small-2", "small-4")
"""Drafters that are trained for one target, and draft for no other."""

DraftLength = Literal["fixed", "auto", "schedule", "confidence"]
"""How γ is chosen, cycle by cycle (see `specviz.draft_length`).

`fixed`: always γ. `auto`: what pays, at most γ. `schedule`: transformers' heuristic, from γ on.
`confidence`: until the drafter is less sure than `confidence`, at most γ.
"""


class Settings(BaseModel):
    """Every parameter of one decoding. Frozen, so that a trace can trust it.

    The same sampling parameters shape the target's p and the drafter's q.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    drafter: str = "lookup"
    """Which drafter (see `specviz.drafters`); lookup fits every target."""
    gamma: Annotated[int, Field(ge=0, le=MAX_GAMMA)] = 4
    """γ, `num_speculative_tokens`: tokens proposed in a cycle."""
    draft_length: DraftLength = "fixed"
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.4
    """The least that a drafter's first choice may weigh, if `draft_length` says so."""
    temperature: Annotated[float, Field(ge=0, le=100)] = 0.0
    """0 is greedy."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Field(ge=0)] = 0
    """0 keeps the whole vocabulary."""
    min_p: Annotated[float, Field(ge=0, le=1)] = 0.0
    repetition_penalty: Annotated[float, Field(gt=0)] = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    no_repeat_ngram_size: Annotated[int, Field(ge=0)] = 0
    min_new_tokens: Annotated[int, Field(ge=0)] = 0
    allowed_token_ids: tuple[int, ...] | None = None
    max_new_tokens: Annotated[int, Field(ge=0)] = 128
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """The text ends before the first of these strings."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    raw: bool = False
    """Complete the prompt as it stands instead of answering it through the chat template."""

    @property
    def least_confidence(self) -> float:
        """Where a draft ends early; 0 is nowhere."""
        return self.confidence if self.draft_length == "confidence" else 0.0

    @property
    def greedy(self) -> bool:
        """Whether the target's first choice always wins."""
        return self.temperature <= GREEDY_TEMPERATURE
