"""The server part: who may run what, when, and how its events reach the browsers.

`hub` holds the queue and the one worker, `job` one person's run and its message log,
`runs_folder` what is kept on disk, `routes` the addresses of `docs/wire.md`. Nothing here
calls Streamlit, so that the same routes are served beside a page or `alone`.
"""
