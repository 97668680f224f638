"""No drafter: plain decoding, one token a cycle. The baseline of every comparison."""

from __future__ import annotations

from torch import Tensor

from specviz.drafters.base import Draft, no_draft
from specviz.runtime.language_model import Pass
from specviz.sampling import Sampler


class NoDrafter:
    """Proposes nothing."""

    name = "none"
    reads_hidden_states = False
    cache_length = None

    def begin(self, context: Tensor, prompt_pass: Pass) -> None:
        """Nothing to prepare."""

    def propose(self, context: Tensor, gamma: int, sampler: Sampler) -> Draft:
        return no_draft(sampler, context.device)

    def commit(self, context: Tensor, accepted: int, verify_pass: Pass) -> None:
        """Nothing to remember."""
