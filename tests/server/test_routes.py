"""The wire, over a real server and real sockets."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

import specviz
from specviz import trace
from specviz.events import EVENT
from specviz.server.hub import Hub
from tests.server.fakes import FakeEngine, finished, request, until

Hubs = Callable[..., Hub]
Serve = Callable[[Hub], str]


def watch(
    host: str, job_id: str, start: int | None = None, **kwargs: Any
) -> AbstractContextManager[ClientConnection]:
    query = "" if start is None else f"?from={start}"
    socket: AbstractContextManager[ClientConnection] = connect(
        f"ws://{host}/api/jobs/{job_id}/ws{query}", max_size=None, **kwargs
    )
    return socket


def messages(client: ClientConnection) -> Iterator[dict[str, Any]]:
    """Every message until the server closes."""
    try:
        while True:
            yield from json.loads(client.recv(timeout=10))
    except ConnectionClosed:
        return


def numbered(received: list[dict[str, Any]]) -> list[int]:
    return [message["seq"] for message in received if "seq" in message]


def submit(host: str, **change: Any) -> str:
    body = {**request(**change).model_dump(mode="json", exclude_none=True)}
    answer = httpx.post(f"http://{host}/api/jobs", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_a_job_from_start_to_end(hubs: Hubs, serve: Serve) -> None:
    host = serve(hubs())
    with watch(host, submit(host, race="alternating", tokens=4)) as client:
        received = list(messages(client))
        assert client.protocol.close_code == 1000
    assert numbered(received) == list(range(len(numbered(received))))
    assert received[-1] == {"state": "finished"}
    for lane in ("speculative", "plain"):
        events = [message["event"] for message in received if message.get("lane") == lane]
        assert [event["type"] for event in events] == [
            "run_started", "prefilled", "cycle", "cycle", "cycle", "run_finished"
        ]  # fmt: skip
        for event in events:
            EVENT.validate_python(event)


def test_the_state_comes_at_once_and_at_each_change(hubs: Hubs, serve: Serve) -> None:
    engine = FakeEngine(open_gate=False)
    host = serve(hubs(engine))
    first, second = submit(host, tokens=1), submit(host, tokens=1)
    with watch(host, first) as running, watch(host, second) as waiting:
        assert json.loads(waiting.recv(timeout=5)) == [{"state": "queued", "position": 1}]
        assert json.loads(running.recv(timeout=5))[0] == {"state": "running"}
        engine.step()
        assert list(messages(running))[-1] == {"state": "finished"}
        states = [json.loads(waiting.recv(timeout=5))[0]["state"]]
        engine.step()
        states += [m["state"] for m in messages(waiting) if "state" in m]
    assert states[-1] == "finished"
    assert states[0] in {"loading", "running"}


def test_reconnecting_loses_and_doubles_nothing(hubs: Hubs, serve: Serve) -> None:
    """Case 24: the network cut again and again, at any place, also in the middle of a frame."""
    engine = FakeEngine(open_gate=False)
    host = serve(hubs(engine))
    job = submit(host, race="alternating", tokens=60)
    received: list[dict[str, Any]] = []
    cuts = 0
    while not received or received[-1] != {"state": "finished"}:
        last = numbered(received)[-1] if numbered(received) else -1
        with watch(host, job, last + 1) as client:
            engine.step(7)
            for message in messages(client):
                received.append(message)
                if "seq" in message and message["seq"] - last >= 5:
                    client.socket.close()  # no closing handshake: a cable that is pulled
                    cuts += 1
                    break
    assert cuts > 10
    assert numbered(received) == list(range(2 * 62))


def test_five_viewers_see_the_same(hubs: Hubs, serve: Serve) -> None:
    """Case 24: five tabs."""
    engine = FakeEngine(open_gate=False)
    host = serve(hubs(engine))
    job = submit(host, tokens=50)
    with ExitStack() as tabs:
        clients = [tabs.enter_context(watch(host, job)) for _ in range(5)]
        engine.open()
        logs = [[m for m in messages(client) if "seq" in m] for client in clients]
    assert len(logs[0]) == 52
    assert all(log == logs[0] for log in logs)


def test_a_slow_viewer_holds_up_nobody(hubs: Hubs, serve: Serve) -> None:
    """A tab that reads nothing: the worker and the others go on, and it can still catch up."""
    hub = hubs(FakeEngine())
    host = serve(hub)
    job_id = submit(host, tokens=15_000)
    with watch(host, job_id, max_queue=1) as slow:
        slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with watch(host, job_id) as quick:
            count = len(numbered(list(messages(quick))))
        assert count == 15_002
        assert finished(hub.get(job_id), 1)
        assert numbered(list(messages(slow))) == list(range(15_002))


def test_many_events_share_a_frame_and_frames_stay_small(hubs: Hubs, serve: Serve) -> None:
    """A finished run that is opened again: whole, in a few frames, and its end comes last."""
    hub = hubs()
    host = serve(hub)
    job_id = submit(host, tokens=3000)
    assert finished(hub.get(job_id), 30)
    frames: list[str] = []
    with watch(host, job_id) as client, suppress(ConnectionClosed):
        while True:
            frames.append(str(client.recv(timeout=10)))
    assert sum(map(len, frames)) > 1_000_000
    assert len(frames) < 20
    assert max(map(len, frames)) < 512 * 1024
    received = [message for frame in frames for message in json.loads(frame)]
    states = [(place, message) for place, message in enumerate(received) if "state" in message]
    assert states == [(3002, {"state": "finished"})]


@pytest.mark.parametrize("by_socket", [True, False])
def test_stop_by_socket_and_by_request(hubs: Hubs, serve: Serve, by_socket: bool) -> None:
    engine = FakeEngine(open_gate=False)
    hub = hubs(engine)
    host = serve(hub)
    job = hub.get(submit(host, tokens=1000))
    with watch(host, job.id) as client:
        engine.step(2)
        if by_socket:
            client.send('{"type": "stop"}')
        else:
            assert httpx.post(f"http://{host}/api/jobs/{job.id}/stop").status_code == 202
        assert until(lambda: job.stopped)
        engine.open()
        events = [m["event"] for m in messages(client) if "event" in m]
    assert events[-1]["reason"] == "cancelled"
    assert len(events) <= 5


@pytest.mark.parametrize("garbage", ["", "stop", "[]", "null", '{"type": "go"}', "[" * 900])
def test_what_a_viewer_may_not_say_is_ignored(hubs: Hubs, serve: Serve, garbage: str) -> None:
    engine = FakeEngine(open_gate=False)
    host = serve(hubs(engine))
    with watch(host, submit(host, tokens=2)) as client:
        client.send(garbage)
        engine.open()
        assert list(messages(client))[-1] == {"state": "finished"}


@pytest.mark.parametrize("flood", ["x" * 5000, b"\x00\x01"])
def test_a_viewer_who_floods_is_closed_and_the_job_goes_on(
    hubs: Hubs, serve: Serve, flood: str | bytes
) -> None:
    engine = FakeEngine(open_gate=False)
    hub = hubs(engine)
    host = serve(hub)
    job = submit(host, tokens=2)
    with watch(host, job) as client:
        client.send(flood)
        list(messages(client))
        assert client.protocol.close_code == 1009
    engine.open()
    assert finished(hub.get(job))


def test_a_viewer_who_leaves_is_counted_out(hubs: Hubs, serve: Serve) -> None:
    """Case 24: a closed tab; the server notices without writing to it."""
    engine = FakeEngine(open_gate=False)
    hub = hubs(engine, viewer_grace_seconds=0.2)
    host = serve(hub)
    job = hub.get(submit(host, tokens=1000))
    with watch(host, job.id) as client:
        client.recv(timeout=5)
        assert job.viewers == 1
    assert until(lambda: job.stopped)
    assert job.viewers == 0


@pytest.mark.parametrize("unknown", ["A" * 24, "short", "a%00b", "é" * 24])
def test_an_unknown_id_is_told(hubs: Hubs, serve: Serve, unknown: str) -> None:
    host = serve(hubs())
    url = f"http://{host}/api/jobs/{unknown}"
    for answer in (
        httpx.post(f"{url}/stop"),
        httpx.get(f"{url}/traces/speculative.jsonl"),
    ):
        assert answer.status_code == 404
        assert answer.json()["message"]
    with watch(host, unknown) as client:
        list(messages(client))
        assert client.protocol.close_code == 4404


@pytest.mark.parametrize("start", ["-1", "x", "1e3", ""])
def test_a_wrong_start_is_refused(hubs: Hubs, serve: Serve, start: str) -> None:
    host = serve(hubs())
    job = submit(host)
    with connect(f"ws://{host}/api/jobs/{job}/ws?from={start}") as client:
        list(messages(client))
        assert client.protocol.close_code == 4400


def test_there_is_no_list_of_jobs(hubs: Hubs, serve: Serve) -> None:
    """Case 25."""
    host = serve(hubs())
    job = submit(host)
    for path in ("/api", "/api/", "/api/jobs", "/api/jobs/", f"/api/jobs/{job}", "/api/runs"):
        answer = httpx.get(f"http://{host}{path}", follow_redirects=True)
        assert answer.status_code in {404, 405}
        assert job not in answer.text


FOREIGN = ["http://evil.example", "null", "http://127.0.0.1", "https://{host}", "http://{host}.x"]


@pytest.mark.parametrize("origin", FOREIGN)
def test_pages_of_other_sites_are_refused(hubs: Hubs, serve: Serve, origin: str) -> None:
    """Case 25: neither starting, nor reading, nor stopping, on no kind of route."""
    engine = FakeEngine(open_gate=False)
    hub = hubs(engine)
    host = serve(hub)
    job = submit(host, tokens=1000)
    headers = {"Origin": origin.format(host=host)}
    body = request().model_dump(mode="json")
    if origin != "https://{host}":  # a proxy may speak https for this host
        assert httpx.post(f"http://{host}/api/jobs", json=body, headers=headers).status_code == 403
        stop = httpx.post(f"http://{host}/api/jobs/{job}/stop", headers=headers)
        assert stop.status_code == 403
        assert stop.json()["message"]
        with pytest.raises(InvalidStatus) as refused:
            watch(host, job, origin=headers["Origin"])
        assert refused.value.response.status_code == 403
    assert not hub.get(job).stopped


def test_own_pages_and_programs_are_let_in(hubs: Hubs, serve: Serve) -> None:
    host = serve(hubs())
    own = {"Origin": f"http://{host}"}
    body = request().model_dump(mode="json")
    answer = httpx.post(f"http://{host}/api/jobs", json=body, headers=own)
    assert answer.status_code == 201
    with watch(host, answer.json()["id"], origin=own["Origin"]) as client:
        assert list(messages(client))[-1] == {"state": "finished"}


def test_a_named_front_end_is_let_in(
    hubs: Hubs, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The backend of a separate front end."""
    monkeypatch.setenv("SPECVIZ_ALLOWED_ORIGINS", "https://front.example, http://b.example/")
    host = serve(hubs())
    theirs = {"Origin": "https://front.example"}
    body = request().model_dump(mode="json")
    answer = httpx.post(f"http://{host}/api/jobs", json=body, headers=theirs)
    assert answer.status_code == 201
    assert answer.headers["access-control-allow-origin"] == "https://front.example"
    refused = httpx.post(
        f"http://{host}/api/jobs", json=body, headers={"Origin": "https://other.example"}
    )
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "JSON"),
        (b"{", "JSON"),
        (b"[]", "request"),
        (b'{"prompt": 5}', "prompt"),
        (b'{"settings": {}}', "prompt"),
        (b'{"prompt": "a", "race": "sideways"}', "race"),
        (b'{"prompt": "a", "settings": {"gamma": 65}}', "settings.gamma"),
        (b'{"prompt": "a", "settings": {"temperature": NaN}}', "temperature"),
        (b'{"prompt": "a", "unheard": 1}', "unheard"),
        (b'{"prompt": "' + b"x" * 5_000_000 + b'"}', "too large"),
        (b'{"prompt": "' + b"x" * 30_000 + b'"}', "30,000 characters"),
        (b'{"prompt": "\\ud800"}', "JSON"),
    ],
)
def test_a_bad_request_gets_one_sentence(hubs: Hubs, serve: Serve, body: bytes, said: str) -> None:
    host = serve(hubs())
    answer = httpx.post(f"http://{host}/api/jobs", content=body)
    assert answer.status_code == 422
    message = answer.json()["message"]
    assert said in message
    assert "\n" not in message
    assert len(message) < 300


HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=1> **b** $x$ </div> \u202e \u0000 " + "W" * 9999
)


def test_hostile_text_arrives_as_it_is(hubs: Hubs, serve: Serve) -> None:
    """Case 23: text is data on the wire, not a character more or less."""
    hub = hubs()
    host = serve(hub)
    job_id = submit(host, prompt=HOSTILE)
    with watch(host, job_id) as client:
        event = next(m["event"] for m in messages(client) if "event" in m)
    assert event["prompt"] == HOSTILE


def test_a_trace_is_a_download_that_can_be_opened(hubs: Hubs, serve: Serve) -> None:
    hub = hubs()
    host = serve(hub)
    job_id = submit(host, race="alternating", tokens=5)
    assert finished(hub.get(job_id))
    for lane in ("speculative", "plain"):
        answer = httpx.get(f"http://{host}/api/jobs/{job_id}/traces/{lane}.jsonl")
        assert answer.status_code == 200
        assert "attachment" in answer.headers["content-disposition"]
        assert job_id not in answer.headers["content-disposition"]
        assert len(trace.parse(answer.content).cycles) == 4
    for lane in ("neither", "..%2frequest", "%00"):
        answer = httpx.get(f"http://{host}/api/jobs/{job_id}/traces/{lane}.jsonl")
        assert answer.status_code == 404


def test_assets_are_served_with_their_types_and_revalidated(hubs: Hubs, serve: Serve) -> None:
    host = serve(hubs())
    plotly = httpx.get(f"http://{host}/api/assets/plotly.min.js")
    assert plotly.status_code == 200
    assert len(plotly.content) > 1_000_000
    assert plotly.headers["content-type"].startswith("text/javascript")
    assert plotly.headers["x-content-type-options"] == "nosniff"
    again = httpx.get(
        f"http://{host}/api/assets/plotly.min.js",
        headers={"If-None-Match": plotly.headers["etag"]},
    )
    assert again.status_code == 304
    assert not again.content
    versioned = httpx.get(f"http://{host}/api/assets/plotly.min.js?v=7")
    assert "immutable" in versioned.headers["cache-control"]


@pytest.mark.parametrize(
    "path",
    [
        "stream/../../server/hub.py",
        "stream/../page.css",
        "stream/..%2ficon.svg",
        "stream/..%2f..%2fserver%2fhub.py",
        "stream/%2e%2e/texts.py",
        "stream//etc/passwd",
        "stream/",
        "stream",
        "",
        "../hub",
        "hub.py",
        "stream/nothing.js",
        "stream/%00",
    ],
)
def test_no_other_file_is_an_asset(hubs: Hubs, serve: Serve, path: str) -> None:
    host = serve(hubs())
    with socket.create_connection(
        ("127.0.0.1", int(host.split(":")[1]))
    ) as raw:  # no client tidies the path up
        raw.sendall(
            f"GET /api/assets/{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        )
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith((b"HTTP/1.1 404", b"HTTP/1.1 307")), answer[:100]


def test_health_says_ok_and_the_version(hubs: Hubs, serve: Serve) -> None:
    host = serve(hubs())
    answer = httpx.get(f"http://{host}/healthz", headers={"Origin": "http://probe.example"})
    assert answer.json() == {"status": "ok", "version": specviz.__version__}


def test_the_first_page_is_found_by_its_name_too(hubs: Hubs, serve: Serve) -> None:
    address = f"http://{serve(hubs())}/live"
    assert httpx.get(address).headers["location"] == "./"
    assert httpx.get(f"{address}?job=abc").headers["location"] == "./?job=abc"


def test_every_answer_has_the_security_headers(hubs: Hubs, serve: Serve) -> None:
    host = serve(hubs())
    for path in ("/healthz", "/api/nothing", "/nothing"):
        headers = httpx.get(f"http://{host}{path}").headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "SAMEORIGIN"
