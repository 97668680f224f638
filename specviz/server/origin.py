"""Only pages of this server, or of hosts that were named, may use the API.

Browsers send `Origin` with every request that another site's page could have made; Streamlit
does not look at it for routes that an app adds. Programs that send none are let through.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

_DEFAULT_PORTS = {"http": 80, "https": 443}
_REFUSAL = "This address is not for pages of another site: open specviz itself."


def allowed_origins() -> frozenset[str]:
    """Further origins that a host has named in SPECVIZ_ALLOWED_ORIGINS, separated by commas."""
    text = os.environ.get("SPECVIZ_ALLOWED_ORIGINS", "")
    return frozenset(part.strip().rstrip("/").lower() for part in text.split(",") if part.strip())


def same_origin(origin: str, host: str) -> bool:
    """Whether an `Origin` header names the host and port that `Host` does."""
    try:
        theirs = urlsplit(origin)
        ours = urlsplit(f"{theirs.scheme}://{host}")
        default = _DEFAULT_PORTS[theirs.scheme]
        return (theirs.hostname, theirs.port or default) == (
            ours.hostname,
            ours.port or default,
        ) and theirs.hostname is not None
    except (KeyError, ValueError):
        return False


class OriginCheck:
    """Middleware: 403 for a request or a WebSocket from another site's page."""

    def __init__(self, app: ASGIApp, allowed: Iterable[str] = ()) -> None:
        self._app = app
        self._allowed = frozenset(allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in {"http", "websocket"}:
            headers = Headers(scope=scope)
            origin = headers.get("origin")
            foreign = (
                origin is not None
                and origin.lower() not in self._allowed
                and not same_origin(origin, headers.get("host", ""))
            )
            if foreign and scope["type"] == "websocket":
                await WebSocketClose(code=1008, reason=_REFUSAL)(scope, receive, send)
                return
            if foreign:
                refusal = JSONResponse({"message": _REFUSAL}, status_code=403)
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)
