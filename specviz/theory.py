"""Closed forms and the cost model: what a drafter should gain.

Costs are in units of T(1), the target's pass over a single token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scipy.optimize import brentq


def expected_tokens(conditional_acceptance: Sequence[float]) -> float:
    """Tokens that a cycle emits: 1 + Σᵢ Πⱼ≤ᵢ cⱼ, with cⱼ the chance that the j-th is kept.

    One number a proposed position; none proposed gives 1.
    """
    tokens, survival = 1.0, 1.0
    for kept in conditional_acceptance:
        survival *= kept
        tokens += survival
    return tokens


def textbook_tokens(alpha: float, gamma: int) -> float:
    """(1 − α^(γ+1)) / (1 − α): the same, if every position is kept with probability α.

    Equation (1) of Leviathan et al. α is the mean of Σ min(p, q) over tested positions. The
    draft acceptance rate is not: it counts proposals that were never tested.
    """
    return expected_tokens([alpha] * gamma)


def textbook_speedup(alpha: float, gamma: int, draft_cost: float, pass_cost: float) -> float:
    """`textbook_tokens` ÷ (γ·c + the cost of a pass over γ + 1 tokens).

    With a pass that costs 1 it is theorem 3.8 of Leviathan et al.
    """
    return textbook_tokens(alpha, gamma) / (gamma * draft_cost + pass_cost)


def alpha_of(tokens: float, gamma: int) -> float:
    """The α for which `textbook_tokens` gives so many tokens a cycle: 1 gives 0, γ + 1 gives 1."""
    within = min(max(tokens, 1.0), gamma + 1.0)
    return float(brentq(lambda alpha: textbook_tokens(alpha, gamma) - within, 0.0, 1.0))


def best_gamma(
    alpha: float, gammas: Sequence[int], draft_cost: float, pass_cost: Mapping[int, float]
) -> int:
    """The γ that a constant α, c and v make the fastest.

    With v(k) = 1 for every k it is that of Leviathan et al., section 3.5.
    """
    return max(
        gammas,
        key=lambda gamma: textbook_speedup(alpha, gamma, draft_cost, pass_cost[gamma + 1]),
    )


def predicted_speedup(
    tokens: float,
    drafted: Mapping[int, int],
    *,
    draft_cost: float,
    pass_cost: Mapping[int, float],
    overhead: float,
) -> float:
    """Tokens a cycle ÷ the mean of d·c + v(d + 1) + overhead over cycles that drafted d tokens.

    Args:
        tokens: τ, as it was seen. Where every cycle drafts γ it is `expected_tokens` of the
            conditional acceptances; where the sure drafts are the long ones it is more.
        drafted: how many cycles drafted how many tokens. A drafter that always proposes γ has
            one entry, which gives the formula of the literature.
        draft_cost: c, of one draft step.
        pass_cost: v(k), of a target pass over k tokens; v(1) = 1.
        overhead: what a cycle spends on sampling and bookkeeping beyond plain decoding's.
    """
    cost = sum(n * (d * draft_cost + pass_cost[d + 1] + overhead) for d, n in drafted.items())
    return tokens * sum(drafted.values()) / cost
