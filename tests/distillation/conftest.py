"""A target that can invent chats."""

from __future__ import annotations

import copy

import pytest

from specviz.runtime.language_model import LanguageModel
from tests.tiny import byte_tokenizer, tiny, with_end

_TEMPLATE = (
    "{% for message in messages %}[{{ message.role[0] }}]{{ message.content }}|{% endfor %}"
    "{% if add_generation_prompt %}[a]{% endif %}"
)


@pytest.fixture
def chatty() -> LanguageModel:
    """It has a chat's form, and many ends, so that turns are short."""
    tokenizer = copy.deepcopy(byte_tokenizer())
    tokenizer.chat_template = _TEMPLATE
    return with_end(LanguageModel("chatty", tiny().model, tokenizer), tuple(range(0, 257, 9)))
