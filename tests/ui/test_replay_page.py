"""The Replay page: a trace is opened, or refused in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from specviz.server.hub import Hub
from tests.server.test_replay import other_version, recording, wrong_type

Open = Callable[..., AppTest]


def replay(app: AppTest, data: bytes, name: str = "run.jsonl") -> AppTest:
    app.switch_page("../../pages/replay.py").run()
    app.file_uploader[0].set_value((name, data, "application/x-ndjson"))
    return app.run()


def test_a_trace_is_replayed_without_a_model(open_app: Open, hub: Hub) -> None:
    app = replay(open_app(), recording())
    assert not app.exception
    assert not app.error
    address = json.loads(app.get("bidi_component")[0].proto.json)["address"]
    opened = hub.get(address.split("/")[3])
    assert len(list(opened.lane_events("speculative"))) == 8


def test_a_trace_is_read_once(open_app: Open, hub: Hub) -> None:
    app = replay(open_app(), recording())
    before = app.get("bidi_component")[0].proto.json
    app.run()
    assert app.get("bidi_component")[0].proto.json == before
    assert len(hub._jobs) == 1


@pytest.mark.parametrize(
    "data", [other_version(), wrong_type(), b"", b"\x00\xff" * 50, b"\n" * 1_000_001]
)
def test_a_bad_file_is_refused_in_one_sentence(open_app: Open, data: bytes) -> None:
    """Case 26."""
    app = replay(open_app(), data)
    assert not app.exception
    assert len(app.error) == 1
    assert "\n" not in app.error[0].value
    assert not app.get("bidi_component")


@pytest.mark.parametrize("limits", [{"max_trace_megabytes": 1}])
def test_a_file_beyond_the_limit_is_refused(open_app: Open) -> None:
    """Case 26: a file of 200 MB, here with a lower limit."""
    app = replay(open_app(), b"x" * (2 * 2**20))
    assert "2 MiB" in app.error[0].value
