"""What a host allows: read from the environment, checked before any work is done."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from specviz.errors import UserError

PREFIX = "SPECVIZ_"

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


@dataclass(frozen=True)
class Limits:
    """The limits of one server. Each field is also an environment variable, `SPECVIZ_…`."""

    max_prompt_chars: int = 20_000
    max_new_tokens: int = 2048
    queue_length: int = 20
    """Jobs that may wait; the one that runs is not counted."""
    allow_other_models: bool = True
    """Whether a visitor may name a target or a drafter model: an id to download or a folder."""
    viewer_grace_seconds: float = 5.0
    """How long a job outlives its last viewer."""
    connect_grace_seconds: float = 30.0
    """How long a new job waits for its first viewer."""
    max_trace_megabytes: int = 32
    """Of a trace that is opened for replay."""
    keep_runs: int = 200
    """Saved runs that stay on disk."""
    keep_megabytes: int = 1024
    """Size of all saved runs together."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Limits:
        """Read the limits that a host has set.

        Raises:
            UserError: if a variable cannot be read as what it must be.
        """
        environment = os.environ if environment is None else environment
        chosen: dict[str, Any] = {
            field.name: _read(PREFIX + field.name.upper(), text, type(field.default))
            for field in fields(cls)
            if (text := environment.get(PREFIX + field.name.upper()))
        }
        return cls(**chosen)


def _read(name: str, text: str, kind: type) -> Any:
    if kind is bool:
        if text.lower() in _TRUE | _FALSE:
            return text.lower() in _TRUE
        raise UserError(f"{name} is {text!r}: set it to true or false.")
    try:
        value = kind(text)
    except ValueError:
        value = -1
    if not 0 <= value < float("inf"):
        raise UserError(f"{name} is {text!r}: set it to a number that is not negative.")
    return value
