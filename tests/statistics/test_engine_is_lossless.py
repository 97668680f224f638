"""The whole engine, sampled: what comes out is distributed as the target says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from specviz import real_proof
from specviz.engine import decode
from specviz.errors import UserError
from specviz.proof import critical_value
from specviz.real_proof import exact_joint, likeliest, prove_real
from specviz.runtime.language_model import LanguageModel
from specviz.settings import Settings
from tests.tiny import END, target, tiny, without_end
from tests.trained import write_trained

ALLOWED = (97, 98, 99, 100, 101)
RUNS = 500
PROMPT = "abcab"


def prove(runs: int = RUNS, **settings: Any) -> real_proof.RealProof:
    return prove_real(
        without_end(target()), Settings(**settings), runs=runs, prompt=PROMPT, allowed=ALLOWED
    )


@pytest.mark.slow
@pytest.mark.statistics
@pytest.mark.parametrize(
    ("drafter", "settings"),
    [
        ("model:D", {"temperature": 4.0}),
        ("early-exit:1", {"temperature": 6.0, "top_p": 0.9, "repetition_penalty": 1.2}),
        ("mtp", {"temperature": 4.0, "draft_length": "auto"}),
        ("hybrid", {"temperature": 4.0}),
        ("early-exit:2", {"temperature": 4.0, "draft_length": "confidence", "confidence": 0.3}),
    ],
)
def test_pairs_out_of_the_engine_follow_the_target_s_joint(
    drafter: str,
    settings: dict[str, Any],
    known_models: Callable[[str, LanguageModel], None],
    tmp_path: Path,
) -> None:
    """Cases 3, 5, 6 and 21: acceptance, rejection and residual were all reached.

    The block of mtp can propose three of the five tokens only: two frequent ones, and those of
    its context, of which one more is in the prompt. Drafts that end early, by what was known
    before a draw, lose nothing either.
    """
    known_models("D", tiny(seed=1))
    if drafter in {"mtp", "hybrid"}:
        file = write_trained("mtp", target(), tmp_path, torch.tensor(ALLOWED[1:3]))
        drafter = file.replace("mtp:", f"{drafter}:")
    proof = prove(drafter=drafter, **settings)
    assert proof.passed
    assert proof.statistic < critical_value(proof.degrees_of_freedom)
    assert proof.degrees_of_freedom >= 10
    assert min(proof.exercised.accepted, proof.exercised.rejected) > RUNS / 10
    assert proof.control_statistic > proof.critical_value
    assert proof.noise_floor < proof.critical_value


@pytest.mark.slow
@pytest.mark.statistics
def test_an_engine_that_tests_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 3: the same proof, with every proposal kept."""
    from specviz import engine, verification

    def keep_all(p: Any, q: Any, proposals: Any, u: Any, generator: Any) -> Any:
        return verification.verify(p, q, proposals, torch.zeros_like(u), generator)

    monkeypatch.setattr(engine, "verify", keep_all)
    proof = prove(300, drafter="early-exit:1", temperature=4.0)
    assert not proof.passed
    assert proof.statistic > proof.critical_value


@torch.inference_mode()
def test_the_joint_is_that_of_the_model_s_own_passes() -> None:
    """P(b, c) = Σₐ P(a) P(b | a) P(c | a, b), one entry of it worked out without a cache."""
    settings = Settings(temperature=3.0, allowed_token_ids=ALLOWED)
    joint = exact_joint(target(), settings, PROMPT)
    assert float(joint.sum()) == pytest.approx(1)
    prompt = target().encode(PROMPT, raw=True)

    def probability(*tokens: int) -> float:
        logits = target().model(torch.tensor([[*prompt, *tokens[:-1]]])).logits[0, -1]
        few = logits[list(ALLOWED)].double() / 3.0
        return float(few.softmax(-1)[ALLOWED.index(tokens[-1])])

    expected = sum(probability(a) * probability(a, 98) * probability(a, 98, 100) for a in ALLOWED)
    assert float(joint[1, 3]) == pytest.approx(expected, rel=1e-5)


def test_the_likeliest_tokens_are_the_model_s_own_and_end_nothing() -> None:
    found = likeliest(target(), PROMPT)
    assert len(set(found)) == 5
    assert END not in found
    first = next(
        event
        for event in decode(without_end(target()), PROMPT, Settings(raw=True, max_new_tokens=1))
        if event.type == "prefilled"
    )
    assert found[0] == first.emitted.token


def test_copied_guesses_may_be_none_of_the_allowed_tokens() -> None:
    letters = tuple(target().encode("abcde", raw=True))
    proof = prove_real(  # behind each letter comes an x
        without_end(target()),
        Settings(drafter="lookup", temperature=4.0),
        runs=100,
        prompt="exdxcxbxax",
        allowed=letters,
    )
    assert proof.exercised.rejected > 0
    assert proof.control_statistic == float("inf")


@pytest.mark.parametrize(
    ("runs", "settings", "message"),
    [
        (200, {"temperature": 0.0}, "above 0"),
        (20, {"temperature": 1.0}, "at least 100"),
        (100, {"temperature": 1.0, "drafter": "none"}, "nothing was tested"),
    ],
)
def test_what_proves_nothing_is_refused(runs: int, settings: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        prove(runs, **settings)


def test_rare_cells_count_together_and_impossible_ones_at_once() -> None:
    """Expected 50, 48, 1 and 1: the last two are one cell of 2; then a cell of probability 0."""
    joint = torch.tensor([[0.5, 0.48], [0.01, 0.01]])
    statistic, degrees = real_proof._test(torch.tensor([[50, 46], [3, 1]]), joint)
    assert degrees == 2
    assert statistic == pytest.approx(0 + 4 / 48 + 4 / 2)
    joint = torch.tensor([[0.5, 0.5], [0.0, 0.0]])
    assert real_proof._test(torch.tensor([[1, 1], [1, 0]]), joint)[0] == float("inf")
