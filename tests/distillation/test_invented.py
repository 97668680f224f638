"""Prompts that the target invents."""

from __future__ import annotations

import copy

import pytest
import torch

from specviz.distillation import invented
from specviz.distillation.invented import can_invent, invented_prompts
from specviz.runtime.language_model import LanguageModel
from tests.tiny import END, byte_tokenizer, target, tiny

TEMPLATE = "{% for message in messages %}[{{ message.role }}]{{ message.content }}|{% endfor %}"


@pytest.fixture
def chatty() -> LanguageModel:
    """A target with a chat's form."""
    tokenizer = copy.deepcopy(byte_tokenizer())
    tokenizer.chat_template = TEMPLATE
    return LanguageModel("chatty", tiny().model, tokenizer)


def test_only_a_chat_model_can_invent(chatty: LanguageModel) -> None:
    assert can_invent(chatty)
    assert not can_invent(target())


def test_a_user_s_turn_begins_where_the_template_says(chatty: LanguageModel) -> None:
    assert chatty.tokenizer.decode(invented._user_s_beginning(chatty)) == "[user]"


def test_they_are_many_and_the_same_for_the_same_seed(chatty: LanguageModel) -> None:
    prompts = invented_prompts(chatty, 6, seed=1)
    assert len(prompts) == 6
    assert len(set(prompts)) > 1
    assert prompts == invented_prompts(chatty, 6, seed=1)
    assert prompts != invented_prompts(chatty, 6, seed=2)


def test_a_prompt_stops_at_an_end(chatty: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the end is nearly certain, prompts are short; where it is impossible, they are not."""
    monkeypatch.setattr(invented, "_LONGEST", 20)
    head = chatty.model.get_output_embeddings()
    with torch.no_grad():
        head.bias = torch.nn.Parameter(torch.zeros(head.out_features))
        head.bias[END] = -1e9
        long = invented_prompts(chatty, 4, seed=0)
        head.bias[END] = 1e9
        short = invented_prompts(chatty, 4, seed=0)
    assert set(short) == {""}
    assert min(map(len, long)) > 5
