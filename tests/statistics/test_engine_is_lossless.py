"""The whole engine, sampled: what comes out is distributed as the target says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from specviz.proof import chi_square, critical_value
from specviz.runtime.language_model import LanguageModel
from specviz.sampling import Sampler
from specviz.settings import Settings
from tests.tiny import VOCABULARY, run, target, tiny, without_end
from tests.trained import write_trained

ALLOWED = (97, 98, 99, 100, 101)
PAIRS = 1_500
PROMPT = "abcab"


@torch.inference_mode()
def exact_joint(settings: Settings) -> torch.Tensor:
    """[5, 5] the probability of the first two tokens behind the prompt's own first token.

    The first token comes from the prompt's pass, where nothing is tested; it is held to one
    value by taking the joint of the second and third behind each, weighted.
    """
    prompt = target().encode(PROMPT, raw=True)
    sampler = Sampler(
        settings,
        vocabulary_size=VOCABULARY,
        prompt_length=len(prompt),
        end_ids=frozenset(),
        device=torch.device("cpu"),
    )

    def following(*tokens: int) -> torch.Tensor:
        context = torch.tensor([*prompt, *tokens])
        logits = target().model(context[None]).logits[0, -1:]
        return sampler.distribution(sampler.scores(context, logits))[0, list(ALLOWED)].double()

    joint = torch.zeros(5, 5, dtype=torch.float64)
    for p_first, first in zip(following(), ALLOWED, strict=True):
        for i, (p_second, second) in enumerate(zip(following(first), ALLOWED, strict=True)):
            joint[i] += p_first * p_second * following(first, second)
    return joint


@pytest.mark.slow
@pytest.mark.statistics
@pytest.mark.parametrize(
    ("drafter", "settings"),
    [
        ("model:D", {"temperature": 4.0}),
        ("early-exit:1", {"temperature": 6.0, "top_p": 0.9, "repetition_penalty": 1.2}),
        ("mtp", {"temperature": 4.0}),
    ],
)
def test_pairs_out_of_the_engine_follow_the_target_s_joint(
    drafter: str,
    settings: dict[str, Any],
    known_models: Callable[[str, LanguageModel], None],
    tmp_path: Path,
) -> None:
    """Cases 3, 6 and 21: acceptance, rejection and residual were all reached.

    The block of mtp can propose two of the five tokens only.
    """
    known_models("D", tiny(seed=1))
    if drafter == "mtp":
        drafter = write_trained("mtp", target(), tmp_path, torch.tensor(ALLOWED[1:3]))
    everything: dict[str, Any] = {**settings, "allowed_token_ids": ALLOWED}
    counts = torch.zeros(5, 5, dtype=torch.long)
    kept = refused = 0
    model = without_end(target())
    for seed in range(PAIRS):
        trace = run(
            model, PROMPT, drafter=drafter, gamma=2, max_new_tokens=4, seed=seed, **everything
        )
        second, third = (ALLOWED.index(token) for token in trace.token_ids[1:3])
        counts[second, third] += 1
        kept += sum(cycle.accepted for cycle in trace.cycles)
        refused += sum(cycle.tested - cycle.accepted for cycle in trace.cycles)
    assert kept > PAIRS / 10
    assert refused > PAIRS / 10
    joint = exact_joint(Settings(**everything))
    possible = joint > 0
    assert counts[~possible].sum() == 0
    statistic = chi_square(counts[possible], joint[possible])
    assert statistic < critical_value(int(possible.sum()) - 1)

    uniform = torch.full_like(joint[possible], 1 / int(possible.sum()))
    assert chi_square(counts[possible], uniform) > critical_value(24), "else it could not fail"
