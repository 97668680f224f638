"""What a drafter's card says."""

from __future__ import annotations

import pytest

from specviz.distillation.model_card import model_card
from specviz.distillation.recipe import Recipe
from specviz.drafters.trained import Card


@pytest.mark.parametrize("kind", ["mtp", "small-2", "small-4"])
def test_a_card_says_what_it_is_made_of_and_how_to_make_it_again(kind: str) -> None:
    card = Card(
        kind=kind,
        target="a-model",
        fingerprint="0123",
        state_layers=(),
        training={
            **Recipe(steps=700, learning_rate=0.002).model_dump(),
            "texts": 2800,
            "tokens": 301234,
            "held_out_overlap": [0.4, 0.3],
            "held_out_agreement": [0.512, 0.4],
        },
    )
    said = model_card(card, "Apache-2.0", note="Said in passing.")
    assert "Apache-2.0" in said
    assert "301,234 tokens" in said
    assert "kept 51.2 %, 40.0 %" in said
    assert "Said in passing." in said
    assert (
        f"`python -m specviz distill {kind} --target a-model --steps 700 --learning-rate 0.002`"
        in said
    )
    assert ("guesses in a row" in said) == (kind == "mtp")
