"""Chats that the target invents: shown where a user would begin to write, it goes on.

What it has learned to be asked comes out in great variety, as in Magpie (arXiv 2406.08464), and
its own answer follows. Given a user's first words, it asks what begins with them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch

from specviz.distillation.texts import TEMPERATURES, Text, TokenDice, joined, look, state_layers
from specviz.runtime.cache import rollback_cache
from specviz.runtime.language_model import LanguageModel

_MARK = "\N{WHITE MEDIUM STAR}"
"""Stands for the user's text while the chat's form around it is looked at."""


def can_invent(target: LanguageModel) -> bool:
    """Whether it has a chat's form, in which users' turns begin."""
    return bool(target.tokenizer.chat_template)


class _Row:
    """One place of the batch: chat after chat is written in it."""

    def __init__(
        self, beginnings: Sequence[Sequence[int]], after: Sequence[int], dice: random.Random
    ) -> None:
        self._beginnings = beginnings
        self._after = after
        self._dice = dice
        self.begin(0)

    def begin(self, step: int) -> None:
        """A new chat, from this step on."""
        self.start = step
        self.given = list(self._dice.choice(self._beginnings))
        self.written = 0
        self.answering = False

    def answer(self) -> None:
        """The user has ended: what stands between question and answer is given."""
        self.given = list(self._after)
        self.written = 0
        self.answering = True


@torch.inference_mode()
def invented_chats(
    target: LanguageModel,
    *,
    rows: int,
    steps: int,
    question_tokens: int,
    answer_tokens: int,
    openings: Sequence[str],
    seed: int,
) -> list[Text]:
    """As many chats as `rows` places write in `steps` passes; the last of each may be cut off.

    A user's turn begins with one of `openings`, is drawn at temperature 1 and stops after
    `question_tokens`; an answer is drawn at its row's temperature. What stands in front of a
    user's turn, the same in all of them, has no labels.
    """
    device = target.device
    before, after = _form(target)
    beginnings = [[*before, *_ids(target, opening)] for opening in openings]
    openers = random.Random(seed)
    places = [_Row(beginnings, after, openers) for _ in range(rows)]
    answer_temperature = torch.tensor(TEMPERATURES, device=device).repeat(rows)[:rows]
    dice = TokenDice(target, seed)
    cache, layers = rollback_cache(target.model.config), state_layers(target.layers)
    mask = torch.zeros(rows, 0, dtype=torch.long, device=device)
    new = torch.zeros(rows, 1, dtype=torch.long, device=device)
    fed, glimpses, texts = [], [], []
    for step in range(steps):
        for row, place in enumerate(places):
            if place.given:
                new[row, 0] = place.given.pop(0)
        mask = torch.cat([mask, mask.new_ones(rows, 1)], 1)
        output = target.model(
            input_ids=new,
            attention_mask=mask,
            position_ids=(mask.cumsum(1) - 1)[:, -1:],
            cache=cache,
            use_cache=True,
            output_hidden_states=True,
        )
        logits = output.logits[:, -1, : target.vocabulary_size].float()
        fed.append(new[:, 0].int().cpu())
        glimpses.append(look(output, logits, layers))
        answering = torch.tensor([place.answering for place in places], device=device)
        temperature = torch.where(answering, answer_temperature, 1.0)
        following = dice.throw(logits, temperature)
        for row, (place, token) in enumerate(zip(places, following.tolist(), strict=True)):
            if place.given:
                continue
            place.written += 1
            ended = token in target.end_ids
            if not place.answering and (ended or place.written > question_tokens):
                place.answer()
            elif place.answering and (ended or place.written > answer_tokens):
                texts.append((row, place.start, step + 1))
                place.begin(step + 1)
                mask[row] = 0  # what stood before is another chat's
        new = following[:, None].clone()
    texts += [(row, place.start, steps) for row, place in enumerate(places)]

    tokens = torch.stack(fed, 1)
    whole = joined(glimpses)
    first = len(before) - 1
    return [
        Text(
            tokens[row, start:end],
            whole.states[row, start:end],
            whole.label_ids[row, start + first : end],
            whole.label_probabilities[row, start + first : end],
        )
        for row, start, end in texts
        if end - start > first
    ]


def _form(target: LanguageModel) -> tuple[list[int], list[int]]:
    """The ids of a chat before its user's text, and from there to the answer."""
    form = target.tokenizer.apply_chat_template(
        [{"role": "user", "content": _MARK}], add_generation_prompt=True, tokenize=False
    )
    before, _, after = str(form).partition(_MARK)
    return _ids(target, before), _ids(target, after)


def _ids(target: LanguageModel, text: str) -> list[int]:
    """Of a part of a chat, with nothing added."""
    ids: list[int] = target.tokenizer.encode(text, add_special_tokens=False)
    return ids
