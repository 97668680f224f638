"""The default model itself: real weights, real text, against transformers' own `generate`."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from specviz.drafters import best_for
from specviz.engine import decode
from specviz.events import RunFinished
from specviz.metrics import summarize
from specviz.runtime.language_model import LanguageModel
from specviz.runtime.loading import load
from specviz.settings import Settings
from specviz.trace import Trace, collect
from tests.tiny import target

pytestmark = [pytest.mark.model, pytest.mark.slow]

PROMPTS = [
    "Which planet is the largest?",
    "Repeat after me: one two three four five, one two three four five.",
    "Écris le mot “forêt” 🌲 deux fois.",
]
TOKENS = 14


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return load(dtype="float32")


def answer(model: LanguageModel, prompt: str, **settings: object) -> Trace:
    merged = {"max_new_tokens": TOKENS, **settings}
    return collect(decode(model, prompt, Settings.model_validate(merged)))


@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_ids_equal_those_of_transformers(model: LanguageModel, prompt: str) -> None:
    """Case 1 on real weights, in float32."""
    ids = torch.tensor([model.encode(prompt, raw=False)])
    generate: Any = model.model.generate
    made = generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=TOKENS
    )
    expected = made[0, ids.shape[1] :].tolist()
    for drafter in ("none", "hybrid", "small-4", "early-exit:8"):
        trace = answer(model, prompt, drafter=drafter)
        assert trace.token_ids == expected, drafter
        assert trace.text == model.tokenizer.decode(expected, skip_special_tokens=True)


def test_copying_shines_where_text_repeats(model: LanguageModel) -> None:
    trace = answer(model, PROMPTS[1], drafter="lookup", gamma=8, max_new_tokens=48)
    ended = trace.ended
    assert isinstance(ended, RunFinished)
    assert ended.accepted > ended.cycles, "more than one copied token kept a cycle"


def test_hybrid_is_taken_where_none_is_named(model: LanguageModel) -> None:
    """Its block ships for this model, and for no other."""
    assert best_for(model) == "hybrid"
    assert best_for(target()) == "lookup"


def test_what_ships_has_learned_to_guess(model: LanguageModel) -> None:
    """Σ min(p, q): random weights have next to nothing of it over 8,192 tokens."""
    overlap = {
        drafter: summarize(
            answer(
                model,
                "Write a news article about museums.",
                drafter=drafter,
                gamma=1,
                temperature=1.0,
            )
        ).alpha
        for drafter in ("mtp", "small-2", "small-4")
    }
    assert (overlap["mtp"] or 0) > 0.2, overlap
    assert min(share or 0.0 for share in overlap.values()) > 0.05, overlap


def test_the_chat_template_is_that_of_the_model(model: LanguageModel) -> None:
    """Case 13: one begin-of-text token a turn, and the answer's turn is opened."""
    text = str(model.tokenizer.decode(model.encode("Hi", raw=False)))
    assert text.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    assert not text.startswith("<|im_start|><|im_start|>")
    assert model.end_ids == {2}
