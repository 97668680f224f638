"""How a drafter is trained."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Recipe(BaseModel):
    """Every setting of a training; stored with its result."""

    model_config = ConfigDict(frozen=True)

    prompts: int = Field(default=2880, ge=48)
    """Texts of the corpus, about: answers to so many prompts, half of which it invents itself."""
    max_new_tokens: int = Field(default=128, ge=2)
    """Tokens of an answer, at most."""
    vocabulary: int = Field(default=8192, ge=16)
    """Tokens that the drafter may propose."""
    steps: int = Field(default=2000, ge=1)
    batch_tokens: int = Field(default=2048, ge=64)
    learning_rate: float = Field(default=1e-3, gt=0)
    unroll: int = Field(default=3, ge=1)
    """Drafting steps that an mtp block is trained on."""
    single_steps: int = Field(default=1000, ge=0)
    """Steps of the optimizer, from the first, on the first drafting step alone: they take a third
    of the time, and what they teach all others need."""
    seed: int = 0

    def drafting_steps(self, step: int) -> int:
        """How many drafting steps the optimizer's step trains."""
        return 1 if step < self.single_steps else self.unroll
