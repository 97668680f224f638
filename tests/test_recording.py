"""Top lists: the same as topk."""

from __future__ import annotations

import pytest
import torch

from specviz.recording import largest


@pytest.mark.parametrize("size", [3, 257, 1024, 1025, 49_152, 50_257])
def test_the_largest_are_those_of_topk(size: int) -> None:
    torch.manual_seed(size)
    distribution = torch.randn(5, size)
    values, ids = largest(distribution, 8)
    expected = distribution.topk(min(8, size))
    assert torch.equal(values, expected.values)
    assert torch.equal(ids, expected.indices)


def test_also_where_all_of_them_lie_in_one_chunk_or_at_the_very_end() -> None:
    distribution = torch.zeros(2, 2_050)
    distribution[0, 640:648] = torch.arange(8) + 1.0
    distribution[1, 2_049] = 1.0
    values, ids = largest(distribution, 8)
    assert ids[0].tolist() == list(range(647, 639, -1))
    assert ids[1, 0] == 2_049
    assert values[1].tolist() == [1.0] + [0.0] * 7
