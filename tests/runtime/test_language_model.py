"""Passes with a cache equal passes without one; prompts become tokens once."""

from __future__ import annotations

import pytest
import torch

from specviz.errors import UserError
from specviz.runtime.language_model import LanguageModel
from tests.tiny import END, FAMILIES, byte_tokenizer, target, tiny

TOKENS = torch.arange(40) * 7 % 256


@torch.inference_mode()
@pytest.mark.parametrize("family", FAMILIES)
def test_passes_in_pieces_with_rollbacks_equal_one_pass(family: str) -> None:
    """Case 16: also where a sliding window of 12 has moved on."""
    model = tiny(family)
    whole = model.model(TOKENS[None]).logits[0]
    cached = model.open()
    cached.forward(TOKENS[:20])
    cached.forward(torch.tensor([1, 2, 3, 4, 5]))
    cached.roll_back(20)
    pieces = [cached.forward(TOKENS[a:b]).logits for a, b in ((20, 21), (21, 26), (26, 40))]
    assert cached.length == 40
    assert torch.allclose(torch.cat(pieces), whole[20:], atol=2e-3)


@torch.inference_mode()
def test_hidden_states_are_given_for_every_token_when_asked_for() -> None:
    """The last, through the head, gives the logits: what a trained drafter will read."""
    model = target()
    cached = model.open()
    assert cached.forward(TOKENS[:5]).hidden_states is None
    output = cached.forward(TOKENS[5:9], hidden_states=True, keep=1)
    assert output.hidden_states is not None
    assert [tuple(h.shape) for h in output.hidden_states] == [(4, 32)] * 4
    head = model.model.get_output_embeddings()
    assert torch.allclose(head(output.hidden_states[-1])[-1:], output.logits, atol=1e-4)


def test_what_is_raised_before_a_pass_prevents_it() -> None:
    def stop() -> None:
        raise InterruptedError

    cached = target().open(before_pass=stop)
    with pytest.raises(InterruptedError):
        cached.forward(TOKENS[:3])
    assert cached.length == 0


CHAT = "{% for m in messages %}<end>{{ m['content'] }}<end>{% endfor %}"


def chatting() -> LanguageModel:
    tokenizer = byte_tokenizer()
    tokenizer = type(tokenizer)(tokenizer_object=tokenizer.backend_tokenizer, eos_token="<end>")
    tokenizer.chat_template = CHAT
    return LanguageModel("chat", target().model, tokenizer)


def test_the_chat_template_is_applied_once_unless_raw() -> None:
    """Case 13."""
    model = chatting()
    assert model.encode("hi", raw=False) == [END, *byte_tokenizer().encode("hi"), END]
    assert model.encode("hi", raw=True) == byte_tokenizer().encode("hi")


def test_an_empty_prompt_starts_from_begin_of_text_where_there_is_one() -> None:
    """Case 14."""
    with pytest.raises(UserError, match="empty"):
        target().encode("", raw=True)
    tokenizer = byte_tokenizer()
    tokenizer = type(tokenizer)(tokenizer_object=tokenizer.backend_tokenizer, bos_token="<end>")
    assert LanguageModel("b", target().model, tokenizer).encode("", raw=True) == [END]


def test_fingerprints_tell_tokenizers_apart() -> None:
    assert tiny(seed=0).tokenizer_fingerprint == tiny(seed=1).tokenizer_fingerprint
    other = LanguageModel("o", target().model, byte_tokenizer(reverse=True))
    assert other.tokenizer_fingerprint != target().tokenizer_fingerprint
