"""Copy from the context: where the last few tokens stood before, propose what followed.

Prompt lookup decoding (Saxena 2023). It costs next to nothing, and shines where the answer
repeats its prompt: rewriting, extracting, editing code.
"""

from __future__ import annotations

import torch
from torch import Tensor

from specviz.drafters.base import Draft, no_draft
from specviz.drafters.repeats import earlier_matches
from specviz.runtime.language_model import Pass
from specviz.sampling import Sampler, one_hot

LONGEST_MATCH = 3
"""Tokens that are looked for first; then fewer, down to one."""


class Lookup:
    """Proposes what followed the latest earlier occurrence of the context's last tokens."""

    name = "lookup"
    reads_hidden_states = False
    cache_length = None

    def begin(self, context: Tensor, prompt_pass: Pass) -> None:
        """Nothing to prepare."""

    def propose(self, context: Tensor, gamma: int, sampler: Sampler) -> Draft:
        start = find_continuation(context, LONGEST_MATCH)
        if start is None:
            return no_draft(sampler, context.device)
        return copied_draft(context, start, gamma, sampler)

    def commit(self, context: Tensor, accepted: int, verify_pass: Pass) -> None:
        """Nothing to remember."""


def copied_draft(context: Tensor, start: int, gamma: int, sampler: Sampler) -> Draft:
    """`gamma` tokens, copied from `context`, [n], from `start` on.

    Behind the context's end it goes on copying its own copy, as LZ77 does: text that repeats
    with a short period can so be proposed at any length.
    """
    steps = torch.arange(gamma, device=context.device) % (len(context) - start)
    tokens = context[start + steps]
    return Draft(tokens, one_hot(tokens, sampler.vocabulary_size))


def find_continuation(context: Tensor, longest: int, shortest: int = 1) -> int | None:
    """Where the latest earlier occurrence of the context's last tokens goes on.

    The longest suffix of `shortest` to `longest` tokens that stands earlier in `context`, [n],
    counts, and of its occurrences the latest; None if there is none.
    """
    size, start = earlier_matches(context, longest, len(context) - 1)
    return int(start) if int(size) >= shortest else None
