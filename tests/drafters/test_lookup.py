"""Copying from the context, by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from specviz.drafters.lookup import Lookup, find_continuation
from tests.tiny import sampler


@pytest.mark.parametrize(
    ("context", "start"),
    [
        ([1, 2, 3, 9, 1, 2, 3], 3),  # three tokens match
        ([1, 2, 3, 8, 5, 2, 3, 9, 1, 2, 3], 3),  # three from far beat two from near
        ([7, 3, 8, 3, 9, 3], 4),  # one token matches: the latest place
        ([4, 4, 4, 4], 3),  # overlapping with itself
        ([1, 2, 3, 4], None),
        ([1], None),
    ],
)
def test_where_the_context_s_last_tokens_stood_before(
    context: list[int], start: int | None
) -> None:
    assert find_continuation(torch.tensor(context), 3) == start


def propose(context: list[int], gamma: int) -> Any:
    return Lookup().propose(torch.tensor(context), gamma, sampler(10))


def test_it_copies_what_followed() -> None:
    draft = propose([1, 2, 3, 4, 5, 1, 2], 2)
    assert draft.tokens.tolist() == [3, 4]


def test_behind_the_end_it_copies_its_own_copy() -> None:
    assert propose([1, 2, 3, 1, 2, 3], 8).tokens.tolist() == [1, 2, 3, 1, 2, 3, 1, 2]


def test_a_copy_has_a_one_hot_q() -> None:
    """Case 5."""
    draft = propose([1, 2, 3, 4, 5, 1, 2], 2)
    assert draft.q.tolist() == [[0, 0, 0, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]]
    assert draft.scores is None


def test_new_text_gets_no_proposal() -> None:
    assert len(propose([1, 2, 3], 4)) == 0
