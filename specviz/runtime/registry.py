"""The models that are known by name, and where each lies."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from huggingface_hub import scan_cache_dir
from huggingface_hub.constants import HF_HUB_CACHE
from huggingface_hub.errors import CacheNotFound, HFValidationError
from huggingface_hub.utils import validate_repo_id
from pydantic import BaseModel, ConfigDict

from specviz.errors import UserError
from specviz.runtime import embedded

DEFAULT_TARGET = embedded.MODEL_ID

_CAUSAL = ("ForCausalLM", "LMHeadModel")
"""How transformers' classes for text generation end."""


class KnownModel(BaseModel):
    """A model that can be asked for by its id."""

    model_config = ConfigDict(frozen=True)

    id: str
    kind: Literal["embedded", "hub"]
    """`embedded`: the default model. `hub`: in the cache of the Hugging Face libraries."""
    path: str | None
    """Its folder; None while it is not fetched."""
    fetched: bool


def models() -> list[KnownModel]:
    """The default model, then every causal model that the Hugging Face cache holds.

    A local folder needs no entry: its path is its id.
    """
    fetched = embedded.is_fetched()
    default = KnownModel(
        id=DEFAULT_TARGET,
        kind="embedded",
        path=str(embedded.folder()) if fetched else None,
        fetched=fetched,
    )
    return [default, *_hub_models()]


def resolve(id: str, progress: Callable[[int, int], None] | None = None) -> Path | str:
    """What transformers is to load for `id`: a folder, or the id of a Hugging Face model.

    The default model is fetched first if need be, `progress` as for `embedded.fetch`.

    Raises:
        UserError: if `id` can be no model, or the default one cannot be fetched.
    """
    if id == DEFAULT_TARGET:
        return embedded.fetch(progress)
    path = os.path.expanduser(id)
    if os.path.isdir(path):
        return _checked_folder(Path(path))
    if _looks_like_a_path(id):
        raise UserError(f"There is no folder {path}: check the path to the model.")
    try:
        validate_repo_id(id)
    except HFValidationError as error:
        raise UserError(
            f"“{id}” is no model: write {DEFAULT_TARGET}, the path of a folder, "
            "or a Hugging Face id such as HuggingFaceTB/SmolLM2-360M-Instruct."
        ) from error
    return id


def _checked_folder(path: Path) -> Path:
    if not (path / "config.json").is_file():
        raise UserError(
            f"The folder {path} holds no model (there is no config.json): "
            "choose one that save_pretrained wrote."
        )
    return path.absolute()


def _looks_like_a_path(id: str) -> bool:
    return id.startswith(("/", "./", "../", "~")) or id.count("/") > 1


def _hub_models() -> list[KnownModel]:
    try:
        cache = scan_cache_dir(HF_HUB_CACHE)
    except CacheNotFound:
        return []
    found: list[KnownModel] = []
    for repository in sorted(cache.repos, key=lambda repo: repo.repo_id):
        folders = [
            revision.snapshot_path
            for revision in sorted(repository.revisions, key=lambda rev: rev.last_modified)
            if _is_causal(revision.snapshot_path)
        ]
        if repository.repo_type == "model" and folders:
            found.append(
                KnownModel(id=repository.repo_id, kind="hub", path=str(folders[-1]), fetched=True)
            )
    return found


def _is_causal(snapshot: Path) -> bool:
    try:
        architectures = json.loads((snapshot / "config.json").read_bytes())["architectures"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return any(str(name).endswith(_CAUSAL) for name in architectures or ())
