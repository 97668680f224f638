"""Runs on disk: written while they happen, found again after a restart, thrown out when old.

A job's folder holds `request.json`, one trace a lane (`speculative.jsonl`, `plain.jsonl`)
and `order.txt`: one letter an event, so that the two lanes interleave again as they did
and a sequence number means the same after a restart.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import string
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import platformdirs
from pydantic import ValidationError

from specviz.events import EVENT, RunFailed, RunFinished
from specviz.server.job import LANES, Job, JobRequest, Lane, Message
from specviz.server.lanes import INTERRUPTED

_LETTERS: dict[Lane, str] = {"speculative": "s", "plain": "p"}
_ALPHABET = string.ascii_letters + string.digits
"""No underscore: Streamlit takes two of them in a component's key for a mark of its own."""
_ID = re.compile(r"[A-Za-z0-9]{24}")

_logger = logging.getLogger(__name__)


def new_id() -> str:
    """An id that nobody can guess: 142 bits, 24 letters and digits."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(24))


def is_id(text: str) -> bool:
    """Whether this has the shape of an id; nothing else may become part of a path."""
    return _ID.fullmatch(text) is not None


def default_folder() -> Path:
    """Where runs are kept: SPECVIZ_RUNS_DIR, or the user's data folder."""
    chosen = os.environ.get("SPECVIZ_RUNS_DIR")
    return Path(chosen) if chosen else Path(platformdirs.user_data_dir("specviz")) / "runs"


class Recording:
    """The open files of one job. Each event is with the operating system before the next."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._traces: dict[Lane, IO[str]] = {}
        self._order = (folder / "order.txt").open("a", encoding="ascii")

    def append(self, lane: Lane, event: str) -> None:
        """Write one event, given as JSON.

        Raises:
            OSError: if it cannot be written.
        """
        if lane not in self._traces:
            path = self._folder / f"{lane}.jsonl"
            self._traces[lane] = path.open("a", encoding="utf-8", newline="\n")
        self._traces[lane].write(event + "\n")
        self._traces[lane].flush()
        self._order.write(_LETTERS[lane])
        self._order.flush()

    def close(self) -> None:
        for file in (self._order, *self._traces.values()):
            try:
                file.close()
            except OSError:
                _logger.exception("A run's file could not be closed.")


class RunsFolder:
    """All saved runs. Readable by their owner alone."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def save(self, job: Job) -> None:
        """Make a job's folder and keep its request.

        Raises:
            OSError: if the disk does not allow it.
        """
        folder = self._of(job.id)
        folder.mkdir(parents=True, mode=0o700)
        (folder / "request.json").write_text(job.request.model_dump_json(), encoding="utf-8")

    def record(self, job_id: str) -> Recording:
        """Open the files that a saved job's events go into.

        Raises:
            OSError: if the disk does not allow it.
        """
        return Recording(self._of(job_id))

    def reopen(self, job_id: str) -> Job | None:
        """The finished job that was saved under this id, or None if there is none.

        A lane that was cut off ends with an event that says so; the files stay as they are.
        """
        if not is_id(job_id):
            return None
        folder = self._of(job_id)
        try:
            request = JobRequest.model_validate_json((folder / "request.json").read_bytes())
            log = _interleave(folder)
        except (OSError, ValidationError):
            return None
        for lane in request.lanes:
            ended = any(message.lane == lane and _is_end(message.event) for message in log)
            begun = any(message.lane == lane for message in log)
            if (begun and not ended) or not log:
                log.append(Message(lane, RunFailed(message=INTERRUPTED).model_dump_json()))
        return Job(job_id, request, log=log)

    def prune(self, *, keep_runs: int, keep_bytes: int, spare: frozenset[str]) -> None:
        """Remove the oldest runs beyond the limits, but none whose id is in `spare`."""
        try:
            folders = sorted(
                (entry for entry in self._path.iterdir() if is_id(entry.name)),
                key=lambda entry: entry.stat().st_mtime,
                reverse=True,
            )
        except OSError:
            return
        total = 0
        for place, folder in enumerate(folders, start=1):
            total += _size(folder)
            if (place > keep_runs or total > keep_bytes) and folder.name not in spare:
                shutil.rmtree(folder, ignore_errors=True)

    def _of(self, job_id: str) -> Path:
        if not is_id(job_id):
            raise ValueError("not an id")
        return self._path / job_id


def _interleave(folder: Path) -> list[Message]:
    """The lanes' events in the order in which they happened.

    What follows a line that cannot be read is left out, as is what was never published.
    """
    lanes = {lane: _valid_lines(folder / f"{lane}.jsonl") for lane in LANES}
    by_letter: dict[str, Lane] = {letter: lane for lane, letter in _LETTERS.items()}
    log: list[Message] = []
    for letter in _order(folder):
        lane = by_letter.get(letter)
        event = next(lanes[lane], None) if lane else None
        if lane is None or event is None:
            break
        log.append(Message(lane, event))
    for lane, rest in lanes.items():
        log.extend(Message(lane, event) for event in rest)
    return log


def _order(folder: Path) -> str:
    try:
        return (folder / "order.txt").read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return ""


def _valid_lines(path: Path) -> Iterator[str]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return
    for text in lines:
        try:
            EVENT.validate_json(text)
        except ValidationError:
            return
        yield text


def _is_end(event: str) -> bool:
    return isinstance(EVENT.validate_json(event), RunFinished | RunFailed)


def _size(folder: Path) -> int:
    try:
        return sum(entry.stat().st_size for entry in folder.iterdir())
    except OSError:
        return 0
