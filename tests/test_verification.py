"""The rule, against mathematics and by hand."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from specviz.sampling import draw, one_hot
from specviz.verification import accept_probability, residual, verify


def judge(p: list[list[float]], q: list[list[float]], x: list[int], u: list[float]):
    return verify(
        torch.tensor([p]),
        torch.tensor([q]).reshape(1, len(x), len(p[0])),
        torch.tensor([x], dtype=torch.long).reshape(1, len(x)),
        torch.tensor([u]).reshape(1, len(x)),
        torch.Generator().manual_seed(0),
    )


def test_a_draft_worked_by_hand() -> None:
    """p/q = .5/.25 → 1, kept; .2/.8 → .25 < u = .3, refused; the residual is then one token."""
    verdict = judge(
        p=[[0.5, 0.5, 0.0], [0.2, 0.8, 0.0], [0.1, 0.2, 0.7]],
        q=[[0.25, 0.25, 0.5], [0.8, 0.1, 0.1]],
        x=[0, 0],
        u=[0.99, 0.3],
    )
    assert verdict.accepted.tolist() == [1]
    assert verdict.accept_probability[0].tolist() == pytest.approx([1.0, 0.25])
    assert verdict.source[0].tolist() == pytest.approx([0.0, 1.0, 0.0])
    assert verdict.token.tolist() == [1]


def test_when_all_are_kept_the_bonus_is_drawn_from_p_behind_them() -> None:
    verdict = judge(p=[[1.0, 0.0], [0.0, 1.0]], q=[[0.5, 0.5]], x=[0], u=[0.5])
    assert verdict.accepted.tolist() == [1]
    assert verdict.source[0].tolist() == [0.0, 1.0]
    assert verdict.token.tolist() == [1]


def test_nothing_proposed_is_a_draw_from_p() -> None:
    verdict = judge(p=[[0.0, 0.0, 1.0]], q=[], x=[], u=[])
    assert verdict.accepted.tolist() == [0]
    assert verdict.token.tolist() == [2]


def test_equal_distributions_with_a_forced_rejection_stay_finite() -> None:
    """Case 4: the residual of p = q is empty; p itself is drawn from."""
    verdict = judge(p=[[0.3, 0.7], [0.5, 0.5]], q=[[0.3, 0.7]], x=[0], u=[1.0])
    assert verdict.accepted.tolist() == [0]
    assert verdict.source[0].tolist() == pytest.approx([0.3, 0.7])


@pytest.mark.parametrize("u", [0.0, 1 - 2**-24])
def test_what_the_target_excludes_is_never_accepted(u: float) -> None:
    """Case 4: u = 0 and u → 1 with p(x) = 0."""
    verdict = judge(p=[[0.0, 1.0], [0.5, 0.5]], q=[[0.5, 0.5]], x=[0], u=[u])
    assert verdict.accepted.tolist() == [0]
    assert verdict.token.tolist() == [1]


def test_a_tiny_q_does_not_overflow() -> None:
    """Case 4."""
    verdict = judge(p=[[0.5, 0.5], [0.5, 0.5]], q=[[1e-45, 1.0]], x=[0], u=[0.999])
    assert verdict.accepted.tolist() == [1]
    assert verdict.accept_probability.tolist() == [[1.0]]
    assert accept_probability(torch.tensor(0.0), torch.tensor(0.0)).item() == 0.0


def test_rows_with_ragged_acceptance_are_each_judged_alone() -> None:
    """Case 17: each row of a batch comes out as if it were the only one."""
    torch.manual_seed(1)
    p, q = torch.randn(64, 4, 7).softmax(-1), torch.randn(64, 3, 7).softmax(-1)
    x = torch.multinomial(q.flatten(0, 1), 1).view(64, 3)
    u = torch.rand(64, 3)
    together = verify(p, q, x, u, torch.Generator().manual_seed(0))
    assert set(together.accepted.tolist()) == {0, 1, 2, 3}
    for i in range(64):
        row = slice(i, i + 1)
        alone = verify(p[row], q[row], x[row], u[row], torch.Generator().manual_seed(0))
        assert alone.accepted[0] == together.accepted[i]
        assert torch.equal(alone.source[0], together.source[i])


def output_of_one_position(p: Tensor, q: Tensor) -> Tensor:
    """What the rule emits at the first position, by total probability instead of by draws."""
    kept = q * accept_probability(p, q)
    refused = 1 - kept.sum()
    return kept + refused * residual(p, q)


@pytest.mark.parametrize("seed", range(20))
def test_the_first_token_is_distributed_as_p(seed: int) -> None:
    """Σ over x of q(x)·accept(x), plus the refused mass times the residual, is p."""
    torch.manual_seed(seed)
    p, q = (torch.randn(12, dtype=torch.float64).mul(3).softmax(0) for _ in range(2))
    assert torch.allclose(output_of_one_position(p, q), p, atol=1e-12)


def test_a_copied_proposal_is_distributed_as_p() -> None:
    """Case 5: q is one-hot, the test is u < p(x), and the residual is p without x."""
    p = torch.tensor([0.5, 0.2, 0.3], dtype=torch.float64)
    q = one_hot(torch.tensor(1), 3).double()
    assert residual(p, q).tolist() == pytest.approx([0.625, 0.0, 0.375])
    assert torch.allclose(output_of_one_position(p, q), p)


@pytest.mark.parametrize(("keeps_the_token", "expected"), [(True, 0.5), (False, 0.55)])
def test_a_draft_cut_by_the_value_just_drawn_keeps_that_token(
    keeps_the_token: bool, expected: float
) -> None:
    """Case 5: p = (.5, .5), q = (.9, .1), cut at q < .5; dropping what was drawn gives .55."""
    rows = 200_000
    generator = torch.Generator().manual_seed(0)
    p = torch.tensor([0.5, 0.5]).expand(rows, 2, 2)
    q = torch.tensor([0.9, 0.1]).expand(rows, 1, 2)
    x = draw(q, generator)
    u = torch.rand(rows, 1, generator=generator)
    verdict = verify(p, q, x, u, generator)
    first = torch.where(verdict.accepted == 1, x[:, 0], verdict.token)
    if not keeps_the_token:
        cut = x[:, 0] == 1
        first = torch.where(cut, draw(p[:, 0], generator), first)
    share = float((first == 0).double().mean())
    assert share == pytest.approx(expected, abs=4 * (0.25 / rows) ** 0.5)
