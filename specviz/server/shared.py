"""What there is once in a process: its hub, and its default model.

Streamlit may load changed modules anew, and a module's own variable would then be doubled:
both are kept in a module that has no file and so is never loaded again.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

from starlette.concurrency import run_in_threadpool

from specviz.server.default_model import DefaultModel
from specviz.server.hub import Hub
from specviz.server.imports import importing

_kept: dict[str, Any] = sys.modules.setdefault(
    "_specviz_process", ModuleType("_specviz_process")
).__dict__
_making: threading.Lock = _kept.setdefault("making", threading.Lock())


def hub() -> Hub:
    """This process's hub, made and started when it is first asked for.

    Raises:
        UserError: if a limit in the environment cannot be read.
    """
    with _making:
        if "hub" not in _kept:
            _kept["hub"] = Hub(warm_up=_load_default_model)
            _kept["hub"].start()
        running: Hub = _kept["hub"]
        return running


def default_model() -> DefaultModel:
    """This process's default model."""
    model: DefaultModel = _kept.setdefault("default_model", DefaultModel())
    return model


def use(hub: Hub | None = None, model: DefaultModel | None = None) -> None:
    """Put others in their places; without any, forget both. For tests and for the end."""
    with _making:
        for name, value in (("hub", hub), ("default_model", model)):
            _kept.pop(name, None)
            if value is not None:
                _kept[name] = value


@asynccontextmanager
async def lifespan(_: Any) -> AsyncIterator[dict[str, Any]]:
    """Start the hub with the server, and end its run with it."""
    running = await run_in_threadpool(hub)
    try:
        yield {}
    finally:
        await run_in_threadpool(running.close)
        use()


def _load_default_model() -> None:
    """Have the default model ready before the first press of Start, if it is on disk."""
    if default_model().check():
        with importing:
            from specviz.runtime.loading import load
        load()
