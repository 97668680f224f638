"""Copy where the text repeats, ask the trained block elsewhere.

Which of them drafts is decided before anything is drawn, so the rule stays exact.
"""

from __future__ import annotations

from torch import Tensor

from specviz.drafters.base import Draft
from specviz.drafters.lookup import copied_draft, find_continuation
from specviz.drafters.mtp import ECHO_MATCH, Mtp
from specviz.runtime.language_model import Pass
from specviz.sampling import Sampler

SHORTEST_MATCH = 3
"""Tokens that must have stood before for a copy to be worth more than the block's guess."""

LEAST_CHANCE = 0.25
"""That a draft of the block is kept whole, for a further guess to be worth its time."""


class Hybrid:
    """Lookup with long matches only, in front of a block that stops where it is unsure."""

    name = "hybrid"
    reads_hidden_states = True

    def __init__(self, block: Mtp) -> None:
        self._block = block

    @property
    def cache_length(self) -> int:
        return self._block.cache_length

    def begin(self, context: Tensor, prompt_pass: Pass) -> None:
        self._block.begin(context, prompt_pass)

    def propose(self, context: Tensor, gamma: int, sampler: Sampler) -> Draft:
        start = find_continuation(context, ECHO_MATCH, SHORTEST_MATCH)
        if start is not None:
            return copied_draft(context, start, gamma, sampler)
        return self._block.propose(context, gamma, sampler)

    def commit(self, context: Tensor, accepted: int, verify_pass: Pass) -> None:
        self._block.commit(context, accepted, verify_pass)
