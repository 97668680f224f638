"""Earlier places of the last tokens, against a search that is written out."""

from __future__ import annotations

import pytest
import torch

from specviz.drafters import repeats
from specviz.drafters.repeats import earlier_matches


def search(tokens: list[int], longest: int) -> tuple[int, int]:
    """The same for the last position, by going through all earlier ones."""
    for size in range(min(longest, len(tokens) - 1), 0, -1):
        for end in range(len(tokens) - 1, size - 1, -1):
            if tokens[end - size : end] == tokens[-size:]:
                return size, end
    return 0, 0


@pytest.mark.parametrize("rows", [3, 512])
@pytest.mark.parametrize("longest", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 60])
def test_every_position_finds_its_longest_and_latest_match(
    count: int, longest: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeats, "_ROWS", rows)
    tokens = torch.randint(0, 4, (count,), generator=torch.Generator().manual_seed(longest))
    sizes, starts = earlier_matches(tokens, longest)
    found = list(zip(sizes.tolist(), starts.tolist(), strict=True))
    assert found == [search(tokens[: end + 1].tolist(), longest) for end in range(count)]
    last_sizes, last_starts = earlier_matches(tokens, longest, count // 2)
    assert last_sizes.tolist() == sizes[count // 2 :].tolist()
    assert last_starts.tolist() == starts[count // 2 :].tolist()
