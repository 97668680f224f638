"""A copy where three tokens stood before, the block elsewhere."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
import torch
from torch import Tensor

from specviz.drafters.base import Draft
from specviz.drafters.hybrid import Hybrid
from specviz.drafters.mtp import Mtp
from specviz.sampling import one_hot
from tests.tiny import sampler

GUESS = 9


def propose(context: list[int], gamma: int) -> Tensor:
    guess = torch.full((1,), GUESS)
    block = Mock(Mtp, propose=Mock(return_value=Draft(guess, one_hot(guess, 10), None)))
    return Hybrid(block).propose(torch.tensor(context), gamma, sampler(10)).tokens


@pytest.mark.parametrize(
    ("context", "proposed"),
    [
        ([1, 2, 3, 4, 5, 1, 2, 3], [4, 5]),
        ([8, 1, 2, 3, 4, 5, 1, 2, 3, 6, 8, 1, 2, 3], [4, 5]),  # four from far beat three from near
        ([1, 2, 4, 5, 1, 2], [GUESS]),  # two are too few
        ([1, 2], [GUESS]),
    ],
)
def test_who_drafts_is_decided_by_what_stood_before(
    context: list[int], proposed: list[int]
) -> None:
    assert propose(context, 2).tolist() == proposed
