"""Chats that the target invents."""

from __future__ import annotations

import torch
from torch import Tensor

from specviz.distillation.invented import _form, can_invent, invented_chats
from specviz.distillation.texts import Text, TokenDice, state_layers
from specviz.runtime.language_model import LanguageModel
from tests.tiny import target, with_end


def chats(
    model: LanguageModel,
    seed: int = 0,
    *,
    rows: int = 4,
    steps: int = 60,
    openings: tuple[str, ...] = ("",),
) -> list[Text]:
    return invented_chats(
        model,
        rows=rows,
        steps=steps,
        question_tokens=100,
        answer_tokens=12,
        openings=openings,
        seed=seed,
    )


def test_only_a_chat_model_can_invent(chatty: LanguageModel) -> None:
    assert can_invent(chatty)
    assert not can_invent(target())
    before, after = _form(chatty)
    assert (chatty.tokenizer.decode(before), chatty.tokenizer.decode(after)) == ("[u]", "|[a]")


@torch.inference_mode()
def test_states_and_labels_are_what_the_target_says_of_the_chat_alone(
    chatty: LanguageModel,
) -> None:
    """Chats stand behind each other in a row; compared with one pass over each of them."""
    texts = chats(chatty)
    assert len(texts) > 8, "more than one a row"
    for text in texts:
        output = chatty.model(text.tokens.long()[None], output_hidden_states=True)
        states = torch.cat([output.hidden_states[layer][0] for layer in state_layers(3)], -1)
        assert torch.allclose(text.states.float(), states, atol=0.02, rtol=0.01)  # bfloat16
        p = output.logits[0, text.answer :].softmax(-1)
        assert torch.allclose(
            text.label_probabilities.float(), p.gather(1, text.label_ids.long()), atol=1e-3
        )


def test_a_chat_has_its_form_and_no_token_behind_an_end(chatty: LanguageModel) -> None:
    before, after = _form(chatty)
    whole = 0
    for text in chats(chatty):
        ids = text.tokens.tolist()
        assert ids[: len(before)] == before
        assert text.answer == len(before) - 1
        found = str(chatty.tokenizer.decode(ids)).find("|[a]")
        whole += found > 0
        assert not set(ids) & chatty.end_ids, "an end is what the last label tells"
    assert whole > 4
    assert after


def test_a_turn_that_does_not_end_is_ended(chatty: LanguageModel) -> None:
    """At most 100 tokens of a question and 12 of an answer, of a model that never ends."""
    endless = with_end(chatty, ())
    (text, *_) = chats(endless, rows=1, steps=220)
    before, after = _form(chatty)
    # Question and answer are each one token over before it is noticed, and that token is not kept.
    assert len(text.tokens) == len(before) + 100 + len(after) + 12


def test_users_begin_as_they_are_told(chatty: LanguageModel) -> None:
    begun = {
        str(chatty.tokenizer.decode(text.tokens))[:7]
        for text in chats(chatty, openings=("Who", "Where"))
    }
    assert {start[3:6] for start in begun} == {"Who", "Whe"}
    assert {start[:3] for start in begun} == {"[u]"}


def test_the_same_seed_gives_the_same_chats(chatty: LanguageModel) -> None:
    one, again, other = chats(chatty, 1), chats(chatty, 1), chats(chatty, 2)
    assert [text.tokens.tolist() for text in one] == [text.tokens.tolist() for text in again]
    assert [text.tokens.tolist() for text in one] != [text.tokens.tolist() for text in other]


def test_dice_follow_the_distribution_and_zero_takes_the_best() -> None:
    """p = (.2, .3, .5) at temperature 1, squared and scaled at ½: (.04, .09, .25) / .38."""
    logits = torch.tensor([0.2, 0.3, 0.5]).log().expand(30_000, 3)
    dice = TokenDice(target(), seed=0)

    def shares(temperature: float) -> Tensor:
        drawn = dice.throw(logits, torch.full((30_000,), temperature))
        return torch.bincount(drawn, minlength=3) / 30_000

    assert torch.allclose(shares(1.0), torch.tensor([0.2, 0.3, 0.5]), atol=0.015)
    assert torch.allclose(shares(0.5), torch.tensor([0.04, 0.09, 0.25]) / 0.38, atol=0.015)
    assert shares(0.0).tolist() == [0, 0, 1]
