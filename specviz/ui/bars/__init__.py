"""Two distributions as bars that are dragged: a Streamlit component."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from specviz.ui.texts import _

_FOLDER = Path(__file__).parent


def _read(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")


_mount = st.components.v2.component(
    "specviz.bars", html=_read("bars.html"), css=_read("bars.css"), js=_read("bars.js")
)

Shares = dict[str, list[float]]
"""`target` and `drafter`, a share for each token."""


def bars(tokens: Sequence[str], shares: Shares, smallest: float, *, key: str) -> Shares:
    """Show both distributions; gives them as they were when a bar was last let go.

    They outlive a change of page.

    Args:
        tokens: what each bar is called.
        shares: where they stand at first.
        smallest: no share becomes less.
        key: what tells one editor from another.
    """
    outliving = f"{key}.shares"
    kept = st.session_state.get(key)
    held = kept["shares"] if kept else st.session_state.get(outliving, shares)
    result = _mount(
        key=key,
        data={
            "tokens": list(tokens),
            "shares": held,
            "smallest": smallest,
            "texts": {
                "language": _("en"),
                "chart": _("Drag a bar, or focus it and press ↑ and ↓"),
                "target": _("target, p"),
                "drafter": _("drafter, q"),
                "residual": _("residual: drawn from after a refusal"),
                "summary": _(
                    "By the rule, a guess is accepted {share} of the time: the sum of min(p, q)."
                ),
            },
        },
        default={"shares": held},
        on_shares_change=lambda: None,
    )
    chosen: Shares = dict(result.shares)
    st.session_state[outliving] = chosen
    return chosen
