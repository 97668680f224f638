"""The synthetic server inside Streamlit's own: `streamlit run tests/browser/streamlit_app.py`.

`/release/N` lets go of the first N messages of its one job.
"""

from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.browser.synthetic import SyntheticJob, SyntheticRun, SyntheticServer, race

synthetic = SyntheticServer()
job = synthetic.add("run", SyntheticJob(race(SyntheticRun(tokens=40))))


async def release(request: Request) -> Response:
    job.released = min(int(request.path_params["count"]), len(job.messages))
    return JSONResponse({"connections": job.connections, "open": synthetic.open_lines})


routes = [route for route in synthetic.routes() if getattr(route, "path", "") != "/"]
app = st.App(
    str(Path(__file__).with_name("streamlit_page.py")),
    routes=[*routes, Route("/release/{count:int}", release)],
)
