"""Texts come from a catalogue, and what pages import is light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from specviz.ui import texts

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "pages").glob("*.py")), *sorted((ROOT / "specviz" / "ui").glob("*.py"))]


def test_a_catalogue_in_the_readers_language_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from babel.messages.catalog import Catalog
    from babel.messages.mofile import write_mo

    catalogue = Catalog(locale="fr")
    catalogue.add("Start", "Démarrer")
    folder = tmp_path / "fr" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    with (folder / "specviz.mo").open("wb") as file:
        write_mo(file, catalogue)
    monkeypatch.setattr(texts, "LOCALES", tmp_path)
    texts._catalogue.cache_clear()
    monkeypatch.setattr(texts, "_language", lambda: "fr-CA")
    assert texts._("Start") == "Démarrer"
    assert texts._("Not there") == "Not there"
    monkeypatch.setattr(texts, "_language", lambda: "de")
    assert texts._("Start") == "Start"
    texts._catalogue.cache_clear()


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.name)
def test_no_text_bypasses_the_catalogue(file: Path) -> None:
    """What Streamlit is given to show is never a plain string with words in it."""
    shows = {
        "title", "header", "subheader", "markdown", "caption", "write", "text", "info", "warning",
        "error", "success", "button", "selectbox", "slider", "number_input", "text_input",
        "text_area", "pills", "segmented_control", "radio", "expander", "file_uploader",
        "multiselect", "download_button", "spinner", "progress",
    }  # fmt: skip
    named = {"label", "help", "placeholder", "text", "title"}
    for call in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr not in shows or ast.unparse(call.func.value) != "st":
            continue
        keywords = [keyword.value for keyword in call.keywords if keyword.arg in named]
        for value in [*call.args[:2], *keywords]:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                assert " " not in value.value, f"{file.name}:{value.lineno} {value.value!r}"
            assert not isinstance(value, ast.JoinedStr), f"{file.name}:{value.lineno}"


def test_pages_do_not_import_torch() -> None:
    """The first page must not wait for torch, nor know of it."""
    code = (
        "import sys\n"
        "from streamlit.testing.v1 import AppTest\n"
        "from specviz.server import shared\n"
        "from specviz.server.default_model import DefaultModel\n"
        "from specviz.server.hub import Hub\n"
        "shared.use(Hub(), DefaultModel(is_fetched=lambda: True))\n"
        "app = AppTest.from_file(sys.argv[1], default_timeout=60).run()\n"
        "assert not app.exception, app.exception\n"
        "app.switch_page('../../pages/replay.py').run()\n"
        "assert not app.exception, app.exception\n"
        "print([name for name in ('torch', 'transformers') if name in sys.modules])\n"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", code, str(ROOT / "specviz" / "ui" / "navigation.py")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.strip() == "[]"
