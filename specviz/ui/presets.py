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
        """Rewrite this text. Replace "Anna" with "Maria" and "Oslo" with "Lisbon". \
Change nothing else.

Anna moved to Oslo in the spring, when the trams still ran half empty in the morning. She \
rented a small room above a bakery and worked at the harbour office, where she wrote down the \
names of the ships that came in and the hours at which they left. On Sundays she walked along \
the water to the old lighthouse, bought a cup of coffee from the keeper, and read the \
newspaper from the first page to the last. After a year Anna knew every street in Oslo, and \
every ship by its sound."""
    ),
    "extract": Preset(
        """Copy every line that is about fruit. Copy nothing else.

12 crates of apples from the orchard at Brook Lane, paid in cash
3 hammers and a box of nails from the shop in Mill Street
40 kilograms of pears from the orchard at Brook Lane, to be paid in June
2 ladders and a roll of wire from the shop in Mill Street
25 boxes of plums from the market at Stone Bridge, paid by cheque"""
    ),
    "code": Preset(
        """Rename the variable "data" to "prices" in this code. Print the whole code again.

def average(data):
    if len(data) == 0:
        return 0
    total = 0
    for value in data:
        total = total + value
    return total / len(data)

def highest(data):
    best = data[0]
    for value in data:
        if value > best:
            best = value
    return best"""
    ),
    "list": Preset(
        "List the days of the week, and for each one write a sentence about the weather."
    ),
    "explain": Preset("Why does the Moon show us always the same side? Explain it to a child."),
    "story": Preset("Write a story about a lighthouse keeper who finds a letter in a bottle."),
    "continue": Preset(
        "The night train left the station eleven minutes late, and nobody on board knew yet that",
        raw=True,
    ),
}


def preset_name(key: str) -> str:
    """What a preset is called, for the reader."""
    return {
        "rewrite": _("Rewrite a text"),
        "extract": _("Pick out lines"),
        "code": _("Edit code"),
        "list": _("Make a list"),
        "explain": _("Explain"),
        "story": _("Tell a story"),
        "continue": _("Continue a text"),
    }[key]
