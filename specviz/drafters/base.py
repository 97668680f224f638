"""What every drafter is: the protocol, and a draft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from specviz.runtime.language_model import Pass
from specviz.sampling import Sampler


@dataclass(frozen=True)
class Draft:
    """d proposed tokens, each following the one before."""

    tokens: Tensor
    """[d] ids."""
    q: Tensor
    """[d, V] the distribution that each was drawn from: one-hot if it was copied."""
    scores: Tensor | None = None
    """[d, V] the processed logits that q was made of, for the record; None if copied."""

    def __len__(self) -> int:
        return len(self.tokens)


def no_draft(sampler: Sampler, device: torch.device) -> Draft:
    """Nothing to propose: the cycle is then a plain step of the target."""
    return Draft(
        tokens=torch.empty(0, dtype=torch.long, device=device),
        q=torch.empty(0, sampler.vocabulary_size, device=device),
    )


class Drafter(Protocol):
    """Proposes tokens. One is made for each run, and it may keep state in between.

    A cycle calls `propose`, lets the target pass over the proposals, then calls `commit`. A
    drafter that reads the target's hidden states finds them in the pass that it is given,
    for every position that the target has seen: row i belongs to the i-th token passed over.
    """

    name: str
    reads_hidden_states: bool
    """Whether the target's passes must carry hidden states."""

    @property
    def cache_length(self) -> int | None:
        """Tokens in the drafter's own cache; None if it keeps none."""

    def begin(self, context: Tensor, prompt_pass: Pass) -> None:
        """The target has passed over the prompt.

        `context`, [n], ends with the first generated token, which it has not seen yet.
        """

    def propose(self, context: Tensor, gamma: int, sampler: Sampler) -> Draft:
        """At most `gamma` tokens, which is at least 1, to follow `context`, [n].

        To stop early, a drafter may use only what it knew before it drew a token; a token
        that has been drawn is never dropped, since that would bias the result.
        """

    def commit(self, context: Tensor, accepted: int, verify_pass: Pass) -> None:
        """The target has spoken.

        `context`, [n], now holds the committed tokens; `verify_pass` is the target's pass over
        the last token before them and all proposals, of which the first `accepted` were kept.
        """
