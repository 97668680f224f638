"""One viewer's WebSocket: the job's log from where they were, batched, at their own pace."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from specviz.server.hub import Hub
from specviz.server.job import Job, Status

MAX_FRAME_CHARS = 256 * 1024
"""A frame holds at least one message and then as many as fit in this."""
MAX_RECEIVED_CHARS = 1000

CLOSED_UNKNOWN_JOB = 4404
CLOSED_BAD_REQUEST = 4400
_CLOSED_TOO_BIG = 1009


class _Wakeup:
    """Lets the worker's thread wake a coroutine, many calls at the price of one."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._asked = False

    def __call__(self) -> None:
        if self._asked:
            return
        self._asked = True
        with suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._asked = False
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()
        self._event.clear()


async def serve_viewer(socket: WebSocket, hub: Hub, job: Job, start: int) -> None:
    """Send the job's messages from `start` on, until it has ended or the viewer has left."""
    wakeup = _Wakeup()
    with job.watched(wakeup):
        sending = asyncio.create_task(_send(socket, job, start, wakeup))
        receiving = asyncio.create_task(_receive(socket, hub, job))
        try:
            await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, receiving):
                task.cancel()
            outcomes = await asyncio.gather(sending, receiving, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, Exception) and not isinstance(outcome, WebSocketDisconnect):
            raise outcome


async def _send(socket: WebSocket, job: Job, start: int, wakeup: _Wakeup) -> None:
    shown: Status | None = None
    while True:
        messages, status, complete = job.read(start, MAX_FRAME_CHARS)
        parts = [message.envelope(seq) for seq, message in enumerate(messages, start)]
        start += len(messages)
        ended = complete and status.state == "finished"
        if status != shown and (ended or status.state != "finished"):
            parts.insert(len(parts) if ended else 0, _state(status))
            shown = status
        if parts:
            await socket.send_text(f"[{','.join(parts)}]")
        if ended:
            await socket.close()
            return
        if complete:
            await wakeup.wait()


async def _receive(socket: WebSocket, hub: Hub, job: Job) -> None:
    while True:
        received = await socket.receive()
        if received["type"] == "websocket.disconnect":
            return
        text = received.get("text") or ""
        if len(text) > MAX_RECEIVED_CHARS or received.get("bytes"):
            if socket.application_state is WebSocketState.CONNECTED:
                await socket.close(_CLOSED_TOO_BIG)
            return
        try:
            message = json.loads(text)
        except ValueError:
            continue
        if isinstance(message, dict) and message.get("type") == "stop":
            hub.stop(job.id)


def _state(status: Status) -> str:
    message: dict[str, str | int] = {"state": status.state}
    if status.position is not None:
        message["position"] = status.position
    return json.dumps(message, separators=(",", ":"))
