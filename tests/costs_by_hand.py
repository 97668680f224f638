"""Costs with round numbers, for tests of what is shown of them."""

from __future__ import annotations

from specviz.costs import Costs, DraftCost, PassCost, Spread
from specviz.machine import Machine


def spread(median: float) -> Spread:
    return Spread(median=median, low=0.9 * median, high=1.2 * median)


def costs(*v: float) -> Costs:
    """v(1), v(2), …; T(1) is 0.1 s, a pass reads 1 GB and does 2 G operations a token."""
    return Costs(
        machine=Machine(
            target="toy",
            device="cpu",
            device_name="abacus",
            dtype="float32",
            threads=2,
            torch="2",
            python="3",
        ),
        v=tuple(
            PassCost(
                tokens=k,
                seconds=spread(0.1 * cost),
                v=spread(cost),
                bytes=1_000_000_000,
                operations=2_000_000_000 * k,
            )
            for k, cost in enumerate(v, start=1)
        ),
        c=(
            DraftCost(drafter="lookup", seconds=spread(0.0001), c=spread(0.001)),
            DraftCost(drafter="early-exit:8", seconds=spread(0.03), c=spread(0.3)),
        ),
        bandwidth_bytes_per_s=20e9,
        flops_per_s=100e9,
    )
