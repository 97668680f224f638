"""The JavaScript asks for the texts that Python has, and for all of them."""

from __future__ import annotations

import re
from pathlib import Path

from specviz.ui.stream_texts import stream_texts

FOLDER = Path("specviz/ui/stream")
KINDS = ("accepted", "rejected", "discarded", "resampled", "bonus", "target")


def sources() -> str:
    return "\n".join(
        path.read_text("utf-8")
        for path in sorted(FOLDER.iterdir())
        if path.suffix in (".js", ".html")
    )


def asked() -> tuple[set[str], set[str]]:
    """Keys that are written out, and the beginnings of those that are put together."""
    quoted = set(re.findall(r'"([a-z]+(?:[._][a-z]+)*)"', sources()))
    built = set(re.findall(r"`([a-z]+(?:\.[a-z]+)*\.)\$\{", sources()))
    return quoted, built


def test_every_text_is_asked_for() -> None:
    quoted, built = asked()
    for key in stream_texts():
        plural = re.sub(r"\.(one|other)$", "", key)
        assert (
            key in quoted
            or plural in quoted
            or any(key.startswith(beginning) for beginning in built)
            or key == "language"
        ), key


def test_every_key_that_is_written_out_exists() -> None:
    known = {re.sub(r"\.(one|other)$", "", key) for key in stream_texts()}
    used = set(re.findall(r'(?:say|nodes|count)\(\s*"([^"]+)"', sources()))
    used |= set(re.findall(r'data-(?:text|label)="([^"]+)"', sources()))
    assert len(used) > 50
    assert used <= known


def test_placeholders_are_those_that_the_browser_fills() -> None:
    for key, text in stream_texts().items():
        if key.startswith("chart.") and key.endswith(".hover"):
            continue
        for name in re.findall(r"\{(\w*)", text):
            assert re.search(rf"\b{name}\b", sources()), (key, name)


def test_every_kind_and_state_has_its_text() -> None:
    texts = stream_texts()
    for kind in KINDS:
        assert f"kind.{kind}" in texts
        assert f"kind.{kind}.help" in texts
    for reason in ("end_of_text", "stop_string", "length", "context_full", "cancelled"):
        assert f"status.finished.{reason}" in texts
    for phase in ("waiting", "loading", "running", "reconnecting", "gone", "unknown", "failed"):
        assert f"status.{phase}" in texts
