"""Model ids become places."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specviz.errors import UserError
from specviz.runtime import embedded, registry
from specviz.runtime.conversion import CONVERTED_FILES


def test_default_is_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[object] = []

    def fetch(progress: object) -> Path:
        asked.append(progress)
        return tmp_path

    def progress(done: int, total: int) -> None:
        """Never called here."""

    monkeypatch.setattr(embedded, "fetch", fetch)

    assert registry.resolve("smollm2-135m-instruct", progress) == tmp_path
    assert asked == [progress]


def test_local_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for id in (str(tmp_path / "model"), "./model", "model", "~/model"):
        assert registry.resolve(id) == tmp_path / "model"


@pytest.mark.parametrize("id", ["gpt2", "HuggingFaceTB/SmolLM2-360M-Instruct"])
def test_hugging_face_id(id: str) -> None:
    assert registry.resolve(id) == id


@pytest.mark.parametrize(
    ("id", "complaint"),
    [
        ("/no/such/folder", "There is no folder /no/such/folder"),
        ("./nowhere", "There is no folder ./nowhere"),
        ("a/b/c", "There is no folder a/b/c"),
        ("/" + "x" * 5000, "There is no folder"),
        ("", "“” is no model"),
        ("two words", "“two words” is no model"),
        ("<script>", "is no model"),
        ("nul\0", "is no model"),
    ],
)
def test_impossible_id(id: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as told:
        registry.resolve(id)
    assert "\n" not in str(told.value)


def test_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no model \(there is no config.json\)"):
        registry.resolve(str(tmp_path))


def test_models_before_and_after_fetching(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path))
    monkeypatch.setattr("specviz.runtime.registry.HF_HUB_CACHE", str(tmp_path / "none"))
    (before,) = registry.models()
    assert before.model_dump() == {
        "id": "smollm2-135m-instruct",
        "kind": "embedded",
        "path": None,
        "fetched": False,
    }
    embedded.folder().mkdir(parents=True)
    for name in CONVERTED_FILES:
        (embedded.folder() / name).write_text("")
    (after,) = registry.models()
    assert (after.path, after.fetched) == (str(embedded.folder()), True)


def test_hugging_face_cache_is_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path))
    monkeypatch.setattr("specviz.runtime.registry.HF_HUB_CACHE", str(tmp_path))
    for name, architecture in [
        ("b", "GPT2LMHeadModel"),
        ("a", "LlamaForCausalLM"),
        ("c", "BertModel"),
    ]:
        snapshot = tmp_path / f"models--someone--{name}" / "snapshots" / "0123"
        snapshot.mkdir(parents=True)
        (snapshot / "config.json").write_text(json.dumps({"architectures": [architecture]}))
        (tmp_path / f"models--someone--{name}" / "refs").mkdir()
        (tmp_path / f"models--someone--{name}" / "refs" / "main").write_text("0123")
    _, *found = registry.models()
    assert [(model.id, model.kind, model.fetched) for model in found] == [
        ("someone/a", "hub", True),
        ("someone/b", "hub", True),
    ]
    assert found[0].path == str(tmp_path / "models--someone--a" / "snapshots" / "0123")
