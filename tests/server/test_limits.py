"""What a host sets in the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from specviz.errors import UserError
from specviz.server.limits import Limits


def test_without_variables_the_defaults_hold() -> None:
    assert Limits.from_environment({}) == Limits()


def test_every_limit_is_a_variable() -> None:
    chosen = Limits.from_environment(
        {
            "SPECVIZ_MAX_PROMPT_CHARS": "7",
            "SPECVIZ_VIEWER_GRACE_SECONDS": "0.5",
            "SPECVIZ_ALLOW_OTHER_MODELS": "No",
            "SPECVIZ_QUEUE_LENGTH": "",
            "SPECVIZ_UNHEARD_OF": "1",
        }
    )
    assert chosen == Limits(max_prompt_chars=7, viewer_grace_seconds=0.5, allow_other_models=False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SPECVIZ_MAX_NEW_TOKENS", "many"),
        ("SPECVIZ_MAX_NEW_TOKENS", "-3"),
        ("SPECVIZ_MAX_NEW_TOKENS", "1.5"),
        ("SPECVIZ_VIEWER_GRACE_SECONDS", "nan"),
        ("SPECVIZ_VIEWER_GRACE_SECONDS", "inf"),
        ("SPECVIZ_ALLOW_OTHER_MODELS", "perhaps"),
    ],
)
def test_a_value_that_cannot_be_read_is_named(name: str, value: str) -> None:
    with pytest.raises(UserError, match=f"{name} is {value!r}"):
        Limits.from_environment({name: value})


@pytest.mark.parametrize(
    "command", [["streamlit", "run", "app.py"], ["specviz", "serve"]], ids=["app", "alone"]
)
def test_a_server_does_not_start_with_it(command: list[str]) -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", *command],
        env={**os.environ, "SPECVIZ_QUEUE_LENGTH": "long"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert outcome.returncode != 0
    said = outcome.stdout + outcome.stderr
    assert "SPECVIZ_QUEUE_LENGTH" in said
    assert "Traceback" not in said
