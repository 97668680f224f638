"""Costs: what is counted and measured. No timing is asserted."""

from __future__ import annotations

import pytest

from specviz.costs import CONTEXT, PassCost, Spread, measure_costs, measure_passes
from specviz.errors import UserError
from tests.tiny import target, tiny


def test_quartiles() -> None:
    assert Spread.of([4.0, 1.0, 3.0, 2.0, 5.0]) == Spread(median=3.0, low=2.0, high=4.0)
    assert Spread.of([7.0]) == Spread(median=7.0, low=7.0, high=7.0)


def test_the_pass_over_one_token_is_the_unit() -> None:
    costs = measure_passes(target(), [5, 3])
    assert [cost.tokens for cost in costs] == [1, 3, 5]
    assert costs[0].v == Spread(median=1.0, low=1.0, high=1.0)
    for cost in costs:
        assert cost.v.low <= cost.v.median <= cost.v.high
        assert cost.seconds.median > 0


def of(cost: list[PassCost], tokens: int) -> PassCost:
    return next(one for one in cost if one.tokens == tokens)


def test_bytes_and_operations_by_hand() -> None:
    """Llama, 3 layers, width 32, 4 query and 2 key heads of 8, 48 in between, 257 tokens."""
    layer = 2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 48
    norms = 7 * 32
    embedding = 257 * 32
    cost = of(measure_passes(target(), [3]), 3)
    cached = 3 * 2 * 8  # numbers a token, of keys alone
    parameters = 3 * layer + norms + 2 * embedding
    assert cost.bytes == 4 * (parameters + 2 * cached * (CONTEXT + 3))
    attention = 2 * cached * 2 * (CONTEXT + 3)  # keys and values, two query heads each
    assert cost.operations == 2 * 3 * (parameters - embedding + attention)
    tied = of(measure_passes(tiny(tie_word_embeddings=True), [3]), 3)
    assert tied.operations == cost.operations
    assert tied.bytes == cost.bytes - 4 * embedding


def test_everything_in_one_go() -> None:
    told: list[tuple[int, int]] = []
    costs = measure_costs(
        target(),
        ["early-exit:1"],
        lengths=[2],
        progress=lambda done, total: told.append((done, total)),
    )
    assert [cost.tokens for cost in costs.v] == [1, 2]
    (draft,) = costs.c
    assert draft.drafter == "early-exit:1"
    singles = [seconds / c for (_, seconds), (_, c) in zip(draft.seconds, draft.c, strict=True)]
    assert singles == pytest.approx([singles[0]] * 3), "all in units of the same T(1)"
    assert costs.v[0].v.median == 1.0
    assert costs.bandwidth_bytes_per_s > 1e6
    assert costs.flops_per_s > 1e6
    assert costs.machine.target == target().id
    assert told[-1] == (18, 18)
    assert told == sorted(told)


def test_a_drafter_that_proposes_nothing_has_no_cost() -> None:
    with pytest.raises(UserError, match="none proposes nothing"):
        measure_costs(target(), ["none"], lengths=[1])
