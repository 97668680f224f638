"""What the target is asked, so that it writes the text that drafters are trained on.

Written for this project. Of two stages: questions of many kinds about many subjects, then
tasks over what the target has answered (summarize it, translate it, answer from it).
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

_WORDING: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("wording.json").read_text(encoding="utf-8")
)
"""Subjects, names, things, languages; and what is asked about a subject (`about`), what is to be
reckoned (`sums`), what is to be done with an answer (`over`), and how a user's turn begins."""

OPENINGS = _WORDING["openings"]
"""First words of users whose turns the target goes on with; the empty ones leave all to it."""

LONG_OPENINGS = _WORDING["long_openings"]
"""The same, of turns that hold a long text."""

_LONGEST_TEXT = 600
"""Characters of an answer that a second-stage task is given."""


def first_prompts(count: int, seed: int) -> list[str]:
    """`count` questions of all kinds, without a repetition, the same for the same seed."""
    dice = random.Random(seed)
    prompts: dict[str, None] = {}
    while len(prompts) < count:
        prompts[_sum(dice) if dice.random() < 0.15 else _about(dice)] = None
    return list(prompts)


def second_prompts(count: int, seed: int, answers: Sequence[tuple[str, str]]) -> list[str]:
    """`count` tasks over (question, answer) pairs of the first stage."""
    dice = random.Random(seed)
    prompts = []
    for _ in range(count):
        question, text = _some_of(dice.choice(answers))
        sentences = [part.strip() for part in text.replace("\n", " ").split(". ") if part.strip()]
        prompts.append(
            dice.choice(_WORDING["over"]).format(
                text=text,
                question=question,
                other_text=_some_of(dice.choice(answers))[1],
                sentence=dice.choice(sentences or [question]),
                language=dice.choice(_WORDING["languages"]),
            )
        )
    return prompts


def _some_of(answer: tuple[str, str]) -> tuple[str, str]:
    question, text = answer
    return question, text[:_LONGEST_TEXT]


def _about(dice: random.Random) -> str:
    subject, other = dice.sample(_WORDING["subjects"], 2)
    return dice.choice(_WORDING["about"]).format(
        subject=subject, other=other, language=dice.choice(_WORDING["languages"])
    )


def _sum(dice: random.Random) -> str:
    name, friend = dice.sample(_WORDING["names"], 2)
    return dice.choice(_WORDING["sums"]).format(
        name=name,
        friend=friend,
        thing=dice.choice(_WORDING["things"]),
        a=dice.randint(2, 19),
        b=dice.randint(2, 12),
        c=dice.randint(20, 240),
        d=dice.randint(2, 6),
    )
