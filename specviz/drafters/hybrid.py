"""Copy where the text repeats, ask the trained block elsewhere.

Which of them drafts is decided before anything is drawn, so the rule stays exact.
"""

from __future__ import annotations

from torch import Tensor

from specviz.drafters.base import Draft
from specviz.drafters.lookup import copied_draft, find_continuation
from specviz.drafters.mtp import Mtp
from specviz.runtime.language_model import Pass
from specviz.sampling import Sampler

SHORTEST_MATCH = 3
"""Tokens that must have stood before for a copy to be worth more than the block's guess."""

LONGEST_GUESS = 2
"""Of the block: a third one in a row is kept too seldom to pay, where a copy goes on for long."""


class Hybrid:
    """Lookup with long matches only, in front of a block that makes short drafts."""

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
        start = find_continuation(context, SHORTEST_MATCH, SHORTEST_MATCH)
        if start is not None:
            return copied_draft(context, start, gamma, sampler)
        return self._block.propose(context, min(gamma, LONGEST_GUESS), sampler)

    def commit(self, context: Tensor, accepted: int, verify_pass: Pass) -> None:
        self._block.commit(context, accepted, verify_pass)
