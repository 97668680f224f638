"""The addresses of `docs/wire.md`, as Starlette routes over a hub."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.websockets import WebSocket

import specviz
from specviz.errors import UserError
from specviz.server import assets
from specviz.server.hub import Hub, UnknownJobError
from specviz.server.job import LANES, JobRequest
from specviz.server.origin import OriginCheck, allowed_origins
from specviz.server.viewer import CLOSED_BAD_REQUEST, CLOSED_UNKNOWN_JOB, serve_viewer

MAX_BODY_BYTES = 4 * 1024 * 1024
_NOT_FOUND = "There is nothing at this address."


def routes(hub: Callable[[], Hub]) -> list[BaseRoute]:
    """All routes; `hub` is asked at each request, so that it may be made later."""
    return [
        Route("/healthz", _health, methods=["GET"]),
        Route("/live", _live, methods=["GET"]),
        Mount(
            "/api",
            routes=_Api(hub).routes(),
            middleware=[Middleware(OriginCheck, allowed=allowed_origins())],
        ),
    ]


async def _health(_: Request) -> Response:
    return JSONResponse({"status": "ok", "version": specviz.__version__})


async def _live(request: Request) -> Response:
    """The page that the app opens with has no address of its own: whoever types it finds it."""
    return RedirectResponse(f"./?{request.url.query}" if request.url.query else "./")


class _Api:
    def __init__(self, hub: Callable[[], Hub]) -> None:
        self._hub = hub

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/jobs", self.submit, methods=["POST"]),
            WebSocketRoute("/jobs/{job_id}/ws", self.watch),
            Route("/jobs/{job_id}/stop", self.stop, methods=["POST"]),
            Route("/jobs/{job_id}/traces/{lane}.jsonl", self.download, methods=["GET"]),
            Route("/assets/{path:path}", self.asset, methods=["GET"]),
            Route("/{rest:path}", self.nothing, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
        ]

    async def submit(self, request: Request) -> Response:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                return _refuse(422, "This request is too large: shorten the prompt.")
        try:
            wanted = JobRequest.model_validate_json(bytes(body))
            job = await run_in_threadpool(self._hub().submit, wanted)
        except ValidationError as error:
            return _refuse(422, _sentence(error))
        except UserError as error:
            return _refuse(422, str(error))
        return JSONResponse({"id": job.id}, status_code=201)

    async def stop(self, request: Request) -> Response:
        try:
            await run_in_threadpool(self._hub().stop, request.path_params["job_id"])
        except UnknownJobError as error:
            return _refuse(404, str(error))
        return Response(status_code=202)

    async def download(self, request: Request) -> Response:
        lane = request.path_params["lane"]
        try:
            job = await run_in_threadpool(self._hub().get, request.path_params["job_id"])
        except UnknownJobError as error:
            return _refuse(404, str(error))
        lines = [f"{event}\n" for event in job.lane_events(lane)] if lane in LANES else []
        if not lines:
            return _refuse(404, "This run has no such lane: choose speculative or plain.")
        return StreamingResponse(
            iter(lines),
            media_type="application/x-ndjson",
            headers={
                # The id of a job is a secret, and file names are passed on: a piece is enough.
                "Content-Disposition": f'attachment; filename="specviz-{job.id[:6]}-{lane}.jsonl"',
                "Cache-Control": "private, no-store",
            },
        )

    async def watch(self, socket: WebSocket) -> None:
        await socket.accept()
        try:
            start = int(socket.query_params.get("from", "0"))
        except ValueError:
            start = -1
        if start < 0:
            await socket.close(CLOSED_BAD_REQUEST, "from must be a sequence number.")
            return
        hub = self._hub()
        try:
            job = await run_in_threadpool(hub.get, socket.path_params["job_id"])
        except UnknownJobError as error:
            await socket.close(CLOSED_UNKNOWN_JOB, str(error))
            return
        await serve_viewer(socket, hub, job, start)

    async def asset(self, request: Request) -> Response:
        found = assets.find(request.path_params["path"])
        if found is None:
            return _refuse(404, _NOT_FOUND)
        file, media_type = found
        versioned = "v" in request.query_params
        caching = "public, max-age=31536000, immutable" if versioned else "no-cache"
        response = FileResponse(
            file,
            media_type=media_type,
            headers={"Cache-Control": caching},
            stat_result=file.stat(),
        )
        if request.headers.get("if-none-match") == response.headers.get("etag"):
            return Response(
                status_code=304,
                headers={"ETag": response.headers["etag"], "Cache-Control": caching},
            )
        return response

    async def nothing(self, _: Request) -> Response:
        return _refuse(404, _NOT_FOUND)


def _refuse(status: int, message: str) -> JSONResponse:
    return JSONResponse({"message": message}, status_code=status)


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "The request"
    return f"{where}: {first['msg']}; correct it and send it again."
