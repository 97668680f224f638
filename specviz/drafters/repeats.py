"""Where the last few tokens stood before: what copying drafters copy from."""

from __future__ import annotations

import torch
from torch import Tensor

_ROWS = 512
"""Positions that are compared with all others at once: bounds the memory of a long prompt."""


def earlier_matches(tokens: Tensor, longest: int, first: int = 0) -> tuple[Tensor, Tensor]:
    """For each position from `first` on, what ends there and stood before.

    Of `tokens`, [n], the longest run of up to `longest` tokens that ends at the position and also
    ends at an earlier one, and of its earlier places the latest.

    Returns:
        (sizes, starts), [n − first] each: the run's length, and where its earlier place goes on,
        always at or before the position itself. Both are 0 where nothing stood before.
    """
    count = len(tokens)
    columns = torch.arange(count, device=tokens.device)
    # In front of the first token stand ids that are all different, and no token's.
    padded = torch.cat([torch.arange(-longest, -1, device=tokens.device), tokens])
    sizes, starts = [], []
    for rows in torch.split(columns[first:], _ROWS):
        match = columns < rows[:, None]
        size = torch.zeros_like(match, dtype=torch.long)
        for back in range(longest):
            shifted = padded[longest - 1 - back :][:count]
            match = match & (shifted[rows, None] == shifted)
            size += match
        best = torch.where(size > 0, size * count + columns + 1, 0).amax(-1)
        # A run that goes on at c has score size · n + c, and 0 < c < n.
        sizes.append(best // count)
        starts.append(best % count)
    return torch.cat(sizes), torch.cat(starts)
