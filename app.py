"""specviz: `streamlit run app.py` serves the pages and, on the same port, the API."""

import sys
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from specviz.errors import UserError
from specviz.server import shared
from specviz.server.limits import Limits
from specviz.server.routes import routes
from specviz.server.security import SecurityHeaders
from specviz.ui.mistakes import show_mistake

try:
    Limits.from_environment()
except UserError as error:
    sys.exit(str(error))

app = st.App(
    Path(__file__).parent / "specviz" / "ui" / "navigation.py",
    routes=routes(shared.hub),
    middleware=[Middleware(SecurityHeaders)],
    lifespan=shared.lifespan,
    on_script_error=show_mistake,
)
