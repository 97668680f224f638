"""Drafters by name, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from specviz.drafters import create
from specviz.errors import UserError
from specviz.runtime.language_model import LanguageModel
from tests.tiny import target, tiny


@pytest.mark.parametrize("name", ["none", "lookup", "early-exit:1", "early-exit:2", "model:S"])
def test_a_drafter_bears_the_name_that_made_it(
    name: str, known_models: Callable[[str, LanguageModel], None]
) -> None:
    known_models("S", tiny(seed=0))
    assert create(name, target(), target().open()).name == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "There is no drafter “”: choose none, lookup, mtp, hybrid"),
        ("magic", "There is no drafter “magic”"),
        ("early-exit", "a number of layers from 1 to 2"),
        ("early-exit:0", "a number of layers from 1 to 2"),
        ("early-exit:3", "a number of layers from 1 to 2"),
        ("early-exit:-1", "a number of layers from 1 to 2"),
        ("early-exit:x", "a number of layers from 1 to 2"),
        ("lookup:4", "write lookup"),
        ("none:1", "write none"),
        ("model:", "needs a model id or folder"),
    ],
)
def test_what_names_no_drafter_is_refused_in_one_sentence(name: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        create(name, target(), target().open())
