"""Figures with the numbers behind them."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def _page() -> None:
    import pandas as pd

    from specviz.ui.figures import save_as_csv

    save_as_csv(pd.DataFrame({"k": [1, 2], "ms": [3.5, 4.0]}), "passes.csv")


def test_a_table_becomes_a_file_only_when_it_is_asked_for() -> None:
    """A page draws often while it measures.

    A file made at once would be gone at the next drawing, under a browser that has just been told
    its address.
    """
    app = AppTest.from_function(_page).run()
    (button,) = app.get("download_button")
    assert button.proto.deferred_file_id
    assert not button.proto.url
