"""The same routes without Streamlit: the backend of a separate front end."""

from __future__ import annotations

from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from specviz.server import shared
from specviz.server.hub import Hub
from specviz.server.limits import Limits
from specviz.server.origin import allowed_origins
from specviz.server.routes import routes
from specviz.server.security import SecurityHeaders


def application(hub: Callable[[], Hub] = shared.hub) -> Starlette:
    """The routes as an application of their own."""
    return Starlette(
        routes=routes(hub),
        lifespan=shared.lifespan if hub is shared.hub else None,
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(
                CORSMiddleware,
                allow_origins=sorted(allowed_origins()),
                allow_methods=["GET", "POST"],
                allow_headers=["Content-Type"],
            ),
        ],
    )


def serve(host: str = "127.0.0.1", port: int = 8600) -> None:
    """Serve until interrupted. Front ends elsewhere are named in SPECVIZ_ALLOWED_ORIGINS.

    Raises:
        UserError: at once, if a limit in the environment cannot be read.
    """
    Limits.from_environment()
    uvicorn.run(
        application(),
        host=host,
        port=port,
        ws="websockets-sansio",
        ws_max_size=65_536,
        access_log=False,
    )
