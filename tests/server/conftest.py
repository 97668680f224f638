"""A real server, on a free port, over a hub whose engine needs no model."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn

from specviz.server.alone import application
from specviz.server.hub import Hub
from tests.server.fakes import FakeEngine, make_hub


@pytest.fixture
def hubs(tmp_path: Path) -> Iterator[Callable[..., Hub]]:
    """Makes hubs over fake engines, all in one folder, and closes them in the end."""
    made: list[Hub] = []
    engines: list[FakeEngine] = []

    def make(engine: FakeEngine | None = None, **limits: object) -> Hub:
        engine = engine or FakeEngine()
        engines.append(engine)
        made.append(make_hub(engine, tmp_path / "runs", **limits))
        return made[-1]

    yield make
    for engine in engines:
        engine.open()
    for hub in made:
        hub.close()


@pytest.fixture
def serve() -> Iterator[Callable[[Hub], str]]:
    """Serves a hub with uvicorn and gives its host and port."""
    servers: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(hub: Hub) -> str:
        config = uvicorn.Config(
            application(lambda: hub), port=0, ws="websockets-sansio", log_level="warning"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        servers.append((server, thread))
        return f"127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"

    yield start
    for server, thread in servers:
        server.should_exit = True
        server.force_exit = True
        thread.join(10)
