"""The files that the component loads: its own, and the Plotly that the Python package ships."""

from __future__ import annotations

from pathlib import Path

import plotly

STREAM_FOLDER = Path(__file__).parents[1] / "ui" / "stream"
PLOTLY_FILE = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


def find(path: str) -> tuple[Path, str] | None:
    """The file and the media type of an asset's path, or None if there is no such asset."""
    if path == "plotly.min.js":
        return PLOTLY_FILE, _TYPES[".js"]
    folder, _, name = path.partition("/")
    if folder != "stream" or not name or "\0" in name:
        return None
    file = (STREAM_FOLDER / name).resolve()
    inside = file.is_relative_to(STREAM_FOLDER.resolve())
    if not inside or not file.is_file() or file.suffix not in _TYPES:
        return None
    return file, _TYPES[file.suffix]
