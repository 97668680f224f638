"""The default model, as pages see it: whether it is on disk, and fetching it once for all.

Fetching runs in a thread of its own, so that a reader who reloads, leaves or clicks does
not interrupt it, and a second one sees the same progress.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from specviz.errors import UserError
from specviz.server.imports import importing

Phase = Literal["unknown", "missing", "fetching", "failed", "ready"]
Progress = Callable[[int, int], None]

_logger = logging.getLogger(__name__)


class ModelState(NamedTuple):
    """Where the default model stands."""

    phase: Phase
    fraction: float = 0.0
    """Of the fetching, 0 to 1."""
    message: str = ""
    """Why it failed, in one sentence."""


def _is_fetched() -> bool:
    with importing:
        from specviz.runtime import embedded

    return embedded.is_fetched()


def _fetch(progress: Progress) -> Path:
    with importing:
        from specviz.runtime import embedded

    return embedded.fetch(progress)


class DefaultModel:
    """Checks for the model and fetches it, at most once at a time. Safe from any thread."""

    def __init__(
        self,
        is_fetched: Callable[[], bool] = _is_fetched,
        fetch: Callable[[Progress], Path] = _fetch,
    ) -> None:
        self._is_fetched = is_fetched
        self._fetch = fetch
        self._lock = threading.Lock()
        self._state = ModelState("unknown")

    @property
    def state(self) -> ModelState:
        return self._state

    def check(self) -> bool:
        """Look whether the model is on disk; slow at first, since torch is imported."""
        fetched = self._is_fetched()
        with self._lock:
            if self._state.phase in {"unknown", "missing"}:
                self._state = ModelState("ready" if fetched else "missing")
        return fetched

    def fetch(self) -> None:
        """Begin to fetch the model, unless that is under way or done."""
        with self._lock:
            if self._state.phase in {"fetching", "ready"}:
                return
            self._state = ModelState("fetching")
        threading.Thread(target=self._work, name="specviz-fetch", daemon=True).start()

    def _work(self) -> None:
        try:
            self._fetch(self._report)
        except UserError as error:
            self._state = ModelState("failed", message=str(error))
        except Exception as error:
            _logger.exception("The default model could not be fetched.")
            self._state = ModelState(
                "failed",
                message=f"The model could not be fetched ({type(error).__name__}): "
                "try again, or see the server's log.",
            )
        else:
            self._state = ModelState("ready", 1.0)

    def _report(self, done: int, total: int) -> None:
        self._state = ModelState("fetching", min(1.0, done / total) if total else 0.0)
