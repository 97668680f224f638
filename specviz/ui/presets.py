"""Prompts to begin with, one of each kind: what a drafter gains depends on the text.

Their names are for the reader and are translated; the prompts are for the model and are not.
"""

from __future__ import annotations

from dataclasses import dataclass

from specviz.ui.texts import _


@dataclass(frozen=True)
class Preset:
    """A prompt, and how it is meant."""

    prompt: str
    raw: bool = False
    """Whether the model is to go on with the text rather than to answer it."""


PRESETS: dict[str, Preset] = {
    "rewrite": Preset(
        """Rewrite this text. Replace "Anna" with "Maria". Change nothing else.

Anna moved to Oslo in the spring, when the trams still ran half empty in the morning. She \
rented a small room above a bakery and worked at the harbour office, where she wrote down the \
names of the ships that came in and the hours at which they left. On Sundays she walked along \
the water to the old lighthouse, bought a cup of coffee from the keeper, and read the \
newspaper from the first page to the last. After a year Anna knew every ship by its sound, \
and the keeper called Anna his best customer."""
    ),
    "correct": Preset(
        """Correct the spelling mistakes in this text.

Yesterday we went to the libary to return three books. The door was closd, so we walked to \
the park and sat on a bench. Two childen were flying a red kite, and an old man was feeding \
the ducks. When it began to rain we ran home and made a large pot of tea."""
    ),
    "code": Preset(
        """Rename the function "average" to "mean" and print the code again.

def average(values):
    if len(values) == 0:
        return 0
    total = 0
    for value in values:
        total = total + value
    return total / len(values)"""
    ),
    "list": Preset("List the planets of the solar system, and say one thing about each of them."),
    "explain": Preset(
        "Why does the Moon always show us the same side? Explain it in simple words."
    ),
    "story": Preset("Write a story about a lighthouse keeper who finds a letter in a bottle."),
    "continue": Preset(
        """Country: France. Capital: Paris. Language: French.
Country: Italy. Capital: Rome. Language: Italian.
Country: Spain. Capital: Madrid. Language:""",
        raw=True,
    ),
}


def preset_name(key: str) -> str:
    """What a preset is called, for the reader."""
    return {
        "rewrite": _("Rewrite a text"),
        "correct": _("Correct a text"),
        "code": _("Edit code"),
        "list": _("Make a list"),
        "explain": _("Explain"),
        "story": _("Tell a story"),
        "continue": _("Continue a pattern"),
    }[key]
