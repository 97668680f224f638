"""The token stream as a Streamlit component: what a reader sees of a job."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import streamlit as st

if TYPE_CHECKING:
    from streamlit.components.v2.bidi_component import ComponentResult

FOLDER = Path(__file__).parent / "stream"

_PARTS = json.loads((FOLDER / "parts.json").read_text("utf-8"))

# The component's own code is a blob, so the address must be made absolute here.
_LOADER = """
export default async function (component) {
  const address = new URL("/api/assets/stream/index.js", document.baseURI);
  const { default: mount } = await import(address.href);
  return mount(component);
}
"""


def _read(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


_mount = st.components.v2.component(
    "specviz.token_stream",
    html=_read(_PARTS["html"]),
    css="\n".join(map(_read, _PARTS["css"])),
    js=_LOADER,
)


def token_stream(
    job_id: str,
    *,
    texts: dict[str, str],
    key: str,
    view: Literal["whole", "lane"] = "whole",
    on_finished_change: Callable[[], None] = lambda: None,
) -> ComponentResult:
    """Show a job from its first message to its last, and for as long as the page is open.

    Args:
        job_id: the job, as the hub named it.
        texts: what `specviz.ui.stream_texts.stream_texts` gives.
        key: one for each job, so that a new job gets a new instrument.
        view: the whole instrument, or the speculative lane with its numbers, to stand beside
            others of its kind.
        on_finished_change: called once the browser has the job's last message; the result's
            `finished` is then True.
    """
    return _mount(
        key=key,
        data={"address": f"/api/jobs/{job_id}/ws", "texts": texts, "view": view},
        default={"finished": False},
        on_finished_change=on_finished_change,
    )
