"""Logits to distributions: the same as transformers', position by position."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor
from transformers import (
    GenerationConfig,
    LogitsProcessorList,
    MinNewTokensLengthLogitsProcessor,
    MinPLogitsWarper,
    NoRepeatNGramLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from specviz.sampling import Sampler, draw, one_hot
from specviz.settings import Settings
from tests.tiny import target

V = 11
CONTEXT = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5])
PROMPT = 4


def sampler(**settings: Any) -> Sampler:
    return Sampler(
        Settings(**settings),
        vocabulary_size=V,
        prompt_length=PROMPT,
        end_ids=frozenset({7}),
        device=torch.device("cpu"),
    )


def logits(rows: int = 4) -> Tensor:
    torch.manual_seed(0)
    return torch.randn(rows, V) * 3


PROCESSORS = [
    ({"temperature": 0.7}, [TemperatureLogitsWarper(0.7)]),
    ({"temperature": 1.0, "top_k": 3}, [TopKLogitsWarper(3)]),
    ({"temperature": 1.0, "top_k": 99}, []),
    ({"temperature": 1.0, "top_p": 0.6}, [TopPLogitsWarper(0.6)]),
    ({"temperature": 1.0, "top_p": 1e-6}, [TopPLogitsWarper(1e-6)]),
    ({"temperature": 1.0, "min_p": 0.2}, [MinPLogitsWarper(0.2)]),
    ({"temperature": 1.0, "repetition_penalty": 1.5}, [RepetitionPenaltyLogitsProcessor(1.5)]),
    ({"temperature": 1.0, "no_repeat_ngram_size": 2}, [NoRepeatNGramLogitsProcessor(2)]),
    (
        {"temperature": 1.0, "min_new_tokens": 6},
        [MinNewTokensLengthLogitsProcessor(PROMPT, 6, [7])],
    ),
    (
        {"temperature": 0.5, "repetition_penalty": 1.3, "top_k": 5, "top_p": 0.8},
        [
            RepetitionPenaltyLogitsProcessor(1.3),
            TemperatureLogitsWarper(0.5),
            TopKLogitsWarper(5),
            TopPLogitsWarper(0.8),
        ],
    ),
]


@pytest.mark.parametrize(("settings", "processors"), PROCESSORS, ids=lambda x: str(x)[:60])
def test_every_position_is_processed_with_the_context_up_to_it(
    settings: dict[str, Any], processors: list[Any]
) -> None:
    """Cases 6 and 7: four rows at once equal transformers' processors row by row."""
    rows = logits()
    ours = sampler(**settings)
    scores = ours.scores(CONTEXT, rows)
    for i in range(4):
        context = CONTEXT[: len(CONTEXT) - 3 + i][None]
        everything: Any = LogitsProcessorList(processors)
        theirs = everything(context, rows[i : i + 1].clone())
        assert torch.equal(scores[i : i + 1], theirs)
        assert torch.equal(ours.distribution(scores)[i], theirs[0].softmax(-1))


def test_min_new_tokens_counts_behind_the_prompt() -> None:
    """Of rows with 4, 5, 6 and 7 new tokens, the first two may not end."""
    scores = sampler(temperature=1.0, min_new_tokens=6).scores(CONTEXT, logits())
    assert scores[:, 7].isinf().tolist() == [True, True, False, False]


def test_penalties_count_what_was_written_behind_the_prompt() -> None:
    """Case 6, by hand: behind the prompt 5 stands 3 times, 9, 2, 6 and 3 once, 1 and 4 never."""
    flat = torch.zeros(1, V)
    scores = sampler(temperature=1.0, frequency_penalty=0.5, presence_penalty=0.25).scores(
        CONTEXT, flat
    )
    assert scores[0].tolist() == [0, 0, -0.75, -0.75, 0, -1.75, -0.75, 0, 0, -0.75, 0]


def test_only_allowed_tokens_remain() -> None:
    """Case 6."""
    s = sampler(temperature=1.0, allowed_token_ids=(2, 8))
    distribution = s.distribution(s.scores(CONTEXT, logits()))
    assert distribution[:, [2, 8]].sum(-1).tolist() == pytest.approx([1.0] * 4)


@pytest.mark.parametrize("temperature", [0.0, 1e-5])
def test_greedy_is_the_argmax_and_divides_by_nothing(temperature: float) -> None:
    """Case 7."""
    rows = logits()
    s = sampler(temperature=temperature, top_p=0.1, top_k=2)
    distribution = s.distribution(s.scores(CONTEXT, rows))
    assert torch.equal(distribution, one_hot(rows.argmax(-1), V))


def test_greedy_still_applies_penalties_as_transformers_does() -> None:
    row = one_hot(torch.tensor([5]), V) * 3 + one_hot(torch.tensor([8]), V) * 2
    scores = sampler(temperature=0.0, repetition_penalty=5.0).scores(CONTEXT, row)
    assert row.argmax() == 5, "which stands in the context"
    assert scores.argmax() == 8, "which does not"


@pytest.mark.parametrize("surplus", [5, -3])
def test_a_head_of_another_size_is_fitted_to_the_vocabulary(surplus: int) -> None:
    """Case 13: surplus ids are cut off, missing ones get no mass."""
    torch.manual_seed(0)
    rows = torch.randn(2, V + surplus)
    s = sampler(temperature=1.0)
    distribution = s.distribution(s.scores(CONTEXT, rows))
    assert distribution.shape == (2, V)
    assert torch.allclose(distribution[:, : V + surplus], rows[:, :V].softmax(-1))
    if surplus < 0:
        assert distribution[:, surplus:].sum() == 0


def test_draws_follow_the_distribution_and_never_find_an_empty_token() -> None:
    p = torch.tensor([0.0, 0.5, 0.0, 0.2, 0.3, 0.0])
    drawn = draw(p.expand(60_000, -1), torch.Generator().manual_seed(1))
    counts = torch.bincount(drawn, minlength=6)
    assert counts[[0, 2, 5]].sum() == 0
    assert chisquare(counts[[1, 3, 4]], [30_000, 12_000, 18_000]).pvalue > 1e-3


def test_draws_keep_the_leading_shape() -> None:
    tokens = torch.arange(6).reshape(2, 3)
    assert torch.equal(draw(one_hot(tokens, 6), torch.Generator()), tokens)


def test_the_order_of_processors_is_that_of_transformers() -> None:
    """With everything switched on, equal to the list that `generate` itself would build."""
    config = GenerationConfig(
        do_sample=True,
        temperature=0.6,
        top_k=6,
        top_p=0.7,
        min_p=0.05,
        repetition_penalty=1.4,
        no_repeat_ngram_size=2,
    )
    model: Any = target().model
    theirs = model._get_logits_processor(
        config, input_ids_seq_length=PROMPT, encoder_input_ids=None, device="cpu"
    )
    settings = {
        key: getattr(config, key)
        for key in (
            "temperature",
            "top_k",
            "top_p",
            "min_p",
            "repetition_penalty",
            "no_repeat_ngram_size",
        )
    }
    rows = logits(1)
    assert torch.equal(
        sampler(**settings).scores(CONTEXT, rows), theirs(CONTEXT[None], rows.clone())
    )
