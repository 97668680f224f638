"""A server that speaks `docs/wire.md` with synthetic events, for tests of the page.

No model has made these numbers: the distributions are random, the texts are word salad, and
every run says so in its target's name.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import threading
import time
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from specviz.events import (
    CacheLengths,
    Candidate,
    Cycle,
    Emitted,
    Event,
    FinishReason,
    Prefilled,
    Proposal,
    RunFinished,
    RunStarted,
    Seconds,
)
from specviz.server.assets import find as find_asset
from specviz.settings import Settings
from specviz.ui.stream_texts import stream_texts

# The texts are asked for outside of a Streamlit session, as `specviz serve` does: in English.
logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").disabled = True

LaneName = Literal["speculative", "plain"]
Message = dict[str, Any]

WORDS = """
the a of to and in that is was it for on with as at by an be this from river light stone over
under small bright slowly morning water wind green blue hills birds sang quiet road house window
long old new who what when never always almost
"""
VOCABULARY = [f" {word}" for word in WORDS.split()] + [",", ".", ".\n\n", " 🌊", " été", " 光"]

Distribution = list[float]


@dataclass
class SyntheticRun:
    """How a synthetic run is made."""

    tokens: int = 64
    gamma: int = 4
    greedy: bool = False
    drafter: str = "model:synthetic-drafter"
    likeness: float = 0.75
    """How much the drafter's distribution is the target's; 1 accepts everything."""
    seed: int = 0
    draft_ms: float = 3.0
    verify_ms: float = 30.0
    reason: FinishReason = "length"

    def events(self, lane: LaneName) -> list[Event]:
        """The run's events, in order; the greedy texts of both lanes are the same."""
        drafter = self.drafter if lane == "speculative" else "none"
        dice = random.Random(f"{self.seed} {lane}")
        emitted = [self._drawn(0, "target", dice)]
        events: list[Event] = [
            self._started(lane, drafter),
            Prefilled(emitted=emitted[0], seconds=0.05),
        ]
        cycles: list[Cycle] = []
        while len(emitted) < self.tokens:
            gamma = self.gamma if lane == "speculative" else 0
            cycles.append(self._cycle(len(cycles), len(emitted), gamma, dice))
            emitted += cycles[-1].emitted
        events += cycles
        events.append(
            RunFinished(
                reason=self.reason,
                text="".join(e.text for e in emitted),
                token_ids=tuple(e.token for e in emitted),
                cycles=len(cycles),
                drafted=sum(c.drafted for c in cycles),
                accepted=sum(c.accepted for c in cycles),
                target_passes=len(cycles) + 1,
                seconds=0.05 + sum(c.seconds.total for c in cycles),
            )
        )
        return events

    def _started(self, lane: LaneName, drafter: str) -> RunStarted:
        return RunStarted(
            run_id=f"synthetic-{lane}",
            started_at="2026-01-01T00:00:00Z",
            prompt="A synthetic prompt",
            prompt_tokens=4,
            target="synthetic-target",
            drafter=drafter,
            settings=Settings(
                drafter=drafter, gamma=self.gamma, temperature=0.0 if self.greedy else 1.0
            ),
            device="cpu",
            dtype="float32",
            versions={"torch": "0", "transformers": "0"},
            tokenizer_fingerprint="synthetic",
            vocabulary_size=len(VOCABULARY),
        )

    def _cycle(self, index: int, at: int, gamma: int, dice: random.Random) -> Cycle:
        room = self.tokens - at
        drafted = min(gamma, room - 1)
        proposals: list[Proposal] = []
        refused = False
        for slot in range(drafted):
            proposal = self._proposal(at + slot, refused, dice)
            proposals.append(proposal)
            refused = refused or proposal.verdict == "rejected"
        kept = [p for p in proposals if p.verdict == "accepted"]
        emitted = [Emitted(token=p.token, text=p.text, source="accepted") for p in kept]
        if refused:
            emitted.append(self._resampled(at + len(kept), dice))
        else:
            emitted.append(self._drawn(at + len(kept), "bonus" if drafted else "target", dice))
        return Cycle(
            index=index,
            gamma=gamma,
            drafted=drafted,
            tested=len(kept) + refused,
            accepted=len(kept),
            proposals=tuple(proposals),
            emitted=tuple(emitted),
            seconds=Seconds(
                draft=drafted * self.draft_ms / 1000 * dice.uniform(0.9, 1.1),
                verify=self.verify_ms / 1000 * dice.uniform(0.95, 1.15),
                sample=0.001,
                bookkeeping=0.0005,
            ),
            cache=CacheLengths(target_before=at + drafted, target_after=at + len(kept)),
        )

    def _proposal(self, position: int, refused: bool, dice: random.Random) -> Proposal:
        p, q = self._target(position), self._drafter(position)
        shown_p, shown_q = p, q
        u: float | None = dice.random()
        if self.greedy:
            p, q, u = _one_hot(p), _one_hot(q), None
        token = _draw(q, dice)
        accept = min(1.0, p[token] / q[token])
        accepted = accept == 1.0 if u is None else u < accept
        verdict: Literal["accepted", "rejected", "discarded"] = (
            "discarded" if refused else "accepted" if accepted else "rejected"
        )
        return Proposal(
            token=token,
            text=VOCABULARY[token],
            p=p[token],
            q=q[token],
            accept_probability=accept,
            u=None if refused else u,
            verdict=verdict,
            confidence=max(shown_q),
            p_top=_top(shown_p),
            q_top=_top(shown_q),
            residual_top=_top(_residual(p, q)) if verdict == "rejected" else (),
        )

    def _resampled(self, position: int, dice: random.Random) -> Emitted:
        p, q = self._target(position), self._drafter(position)
        if self.greedy:
            p, q = _one_hot(p), _one_hot(q)
        residual = _residual(p, q)
        token = _draw(residual, dice)
        return Emitted(
            token=token,
            text=VOCABULARY[token],
            source="resampled",
            probability=residual[token],
            top=_top(residual),
        )

    def _drawn(
        self, position: int, source: Literal["bonus", "target"], dice: random.Random
    ) -> Emitted:
        p = self._target(position)
        token = _draw(_one_hot(p) if self.greedy else p, dice)
        return Emitted(
            token=token,
            text=VOCABULARY[token],
            source=source,
            probability=1.0 if self.greedy else p[token],
            top=_top(p),
        )

    def _target(self, position: int) -> Distribution:
        return _random_distribution(f"{self.seed} target {position}")

    def _drafter(self, position: int) -> Distribution:
        p, other = self._target(position), _random_distribution(f"{self.seed} drafter {position}")
        return [self.likeness * a + (1 - self.likeness) * b for a, b in zip(p, other, strict=True)]


def _random_distribution(seed: str) -> Distribution:
    source = random.Random(seed)
    weights = [source.expovariate(1) ** 4 for _ in VOCABULARY]
    return [w / sum(weights) for w in weights]


def _one_hot(distribution: Distribution) -> Distribution:
    best = max(range(len(distribution)), key=distribution.__getitem__)
    return [float(i == best) for i in range(len(distribution))]


def _residual(p: Distribution, q: Distribution) -> Distribution:
    left = [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
    return [x / sum(left) for x in left]


def _draw(distribution: Distribution, dice: random.Random) -> int:
    return dice.choices(range(len(distribution)), distribution)[0]


def _top(distribution: Distribution, count: int = 8) -> tuple[Candidate, ...]:
    best = sorted(range(len(distribution)), key=distribution.__getitem__, reverse=True)[:count]
    return tuple((i, VOCABULARY[i], distribution[i]) for i in best if distribution[i] > 0)


def numbered(lanes: dict[LaneName, list[Event]], *, finished: bool = True) -> list[Message]:
    """The messages of a job whose lanes alternate by model time, as the wire has them."""
    waiting = {lane: list(events) for lane, events in lanes.items()}
    used = dict.fromkeys(lanes, 0.0)
    messages: list[Message] = [{"state": "running"}]
    sequence = 0
    while any(waiting.values()):
        lane = min((lane for lane in waiting if waiting[lane]), key=used.__getitem__)
        event = waiting[lane].pop(0)
        used[lane] += event.seconds.total if isinstance(event, Cycle) else 0
        messages.append({"seq": sequence, "lane": lane, "event": event.model_dump(mode="json")})
        sequence += 1
    return [*messages, {"state": "finished"}] if finished else messages


def race(run: SyntheticRun) -> list[Message]:
    """The messages of a job with both lanes."""
    return numbered({"speculative": run.events("speculative"), "plain": run.events("plain")})


@dataclass
class SyntheticJob:
    """A script of messages, let go at a rate or by hand."""

    messages: list[Message]
    rate: float | None = None
    """Messages a second from the first viewer on; None leaves them to `released`."""
    released: int = 0
    """How many messages may be sent, where there is no rate."""
    stopped: bool = False
    connections: list[int] = field(default_factory=list)
    """The `from` of every connection."""
    sent_at: dict[int, float] = field(default_factory=dict)
    """When each numbered message was first sent, by `time.time()`."""
    bytes_sent: list[int] = field(default_factory=list)
    _started: float | None = None

    def release_all(self) -> None:
        self.released = len(self.messages)

    def available(self) -> int:
        if self.rate is None:
            return self.released
        self._started = self._started or time.monotonic()
        due = int((time.monotonic() - self._started) * self.rate) + 1
        return min(due, len(self.messages))


class SyntheticServer:
    """Serves jobs, the component's files and a bare page; its line can be cut."""

    def __init__(self) -> None:
        self.jobs: dict[str, SyntheticJob] = {}
        self.refusing = False
        self.url = ""
        self._sockets: set[WebSocket] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, name: str, job: SyntheticJob) -> SyntheticJob:
        self.jobs[name] = job
        return job

    @property
    def open_lines(self) -> int:
        return len(self._sockets)

    def cut(self) -> None:
        """Break every line, as a lost network does."""
        assert self._loop is not None
        for socket in list(self._sockets):
            asyncio.run_coroutine_threadsafe(socket.close(1012), self._loop).result(5)

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/", self._page),
            Route("/api/assets/{path:path}", self._asset),
            WebSocketRoute("/api/jobs/{name}/ws", self._watch),
        ]

    async def _page(self, request: Request) -> Response:
        data = {"address": f"/api/jobs/{request.query_params['job']}/ws", "texts": stream_texts()}
        theme = request.query_params.get("theme", "light")
        page = _PAGE.replace("VARIABLES", _theme_variables(theme)).replace("DATA", json.dumps(data))
        return HTMLResponse(page)

    async def _asset(self, request: Request) -> Response:
        found = find_asset(request.path_params["path"])
        if found is None:
            return Response(status_code=404)
        file, media_type = found
        return FileResponse(file, media_type=media_type, headers={"Cache-Control": "no-cache"})

    async def _watch(self, socket: WebSocket) -> None:
        self._loop = asyncio.get_running_loop()
        if self.refusing:
            await socket.close(1013)
            return
        await socket.accept()
        job = self.jobs.get(socket.path_params["name"])
        if job is None:
            await socket.close(4404)
            return
        start = int(socket.query_params["from"])
        job.connections.append(start)
        self._sockets.add(socket)
        tasks = [
            asyncio.create_task(_listen(socket, job)),
            asyncio.create_task(_send(socket, job, start)),
        ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        self._sockets.discard(socket)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)  # the line may have been cut


async def _send(socket: WebSocket, job: SyntheticJob, start: int) -> None:
    """The state at hand, then every event from `start` on as it is let go."""
    sent = 0
    known = False
    while sent < len(job.messages):
        available = job.available()
        if available == sent:
            await asyncio.sleep(0.004)
            continue
        frame: list[Message] = []
        for message in job.messages[sent:available]:
            if "seq" in message and message["seq"] < start:
                continue
            if "seq" in message:
                job.sent_at.setdefault(message["seq"], time.time())
            elif not known and available > sent + 1 and message["state"] != "finished":
                # A viewer who comes late hears only the last state.
                frame = [m for m in frame if "state" not in m]
            frame.append(message)
        known = True
        sent = available
        if frame:
            text = json.dumps(frame, ensure_ascii=False)
            job.bytes_sent.append(len(text.encode()))
            await socket.send_text(text)
    await socket.close(1000)


async def _listen(socket: WebSocket, job: SyntheticJob) -> None:
    while True:
        received = await socket.receive()
        if received["type"] == "websocket.disconnect":
            return
        if json.loads(received["text"]) == {"type": "stop"}:
            job.stopped = True


@contextmanager
def serving() -> Iterator[SyntheticServer]:
    """A server on a free port, in a thread of its own."""
    synthetic = SyntheticServer()
    config = uvicorn.Config(
        Starlette(routes=synthetic.routes()),
        port=0,
        lifespan="off",
        log_config=None,
        ws="websockets-sansio",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    synthetic.url = f"http://127.0.0.1:{port}"
    try:
        yield synthetic
    finally:
        server.should_exit = True
        server.force_exit = True
        thread.join(5)


def with_texts(run: SyntheticRun, texts: Iterable[str]) -> list[Message]:
    """A speculative lane whose emitted tokens have these texts, whatever they hold."""
    events = run.events("speculative")
    started, prefilled = events[0], events[1]
    cycles = [
        Cycle(
            index=index,
            gamma=1,
            drafted=1,
            tested=1,
            accepted=0,
            proposals=(
                Proposal(
                    token=0,
                    text=text,
                    p=0.1,
                    q=0.9,
                    accept_probability=1 / 9,
                    u=0.5,
                    verdict="rejected",
                    p_top=((0, text, 0.1),),
                    q_top=((0, text, 0.9),),
                    residual_top=((1, text, 1.0),),
                ),
            ),
            emitted=(
                Emitted(
                    token=1, text=text, source="resampled", probability=1.0, top=((1, text, 1.0),)
                ),
            ),
            seconds=Seconds(draft=0.001, verify=0.01),
            cache=CacheLengths(target_before=1, target_after=1),
        )
        for index, text in enumerate(texts)
    ]
    return numbered({"speculative": [started, prefilled, *cycles]}, finished=False)


def _theme_variables(theme: str) -> str:
    """The app's own colours, as Streamlit hands them to a component."""
    config = tomllib.loads(Path(".streamlit/config.toml").read_text("utf-8"))["theme"][theme]
    names = {
        "backgroundColor": "background-color",
        "secondaryBackgroundColor": "secondary-background-color",
        "textColor": "text-color",
        "borderColor": "border-color",
        "primaryColor": "primary-color",
    }
    return "".join(f"--st-{name}: {config[key]}; " for key, name in names.items())


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Synthetic run</title>
<link rel="icon" href="data:,">
<style>
  :root { VARIABLES }
  body { margin: 0; padding: 16px; background: var(--st-background-color); }
  h1, h2 { position: absolute; clip-path: inset(50%); }
</style>
</head>
<body>
<main>
<h1>Synthetic run</h1>
<h2>Lanes</h2>
<div id="host"></div>
</main>
<script type="module">
  import { mountOn } from "/api/assets/stream/standalone.js";
  window.told = [];
  window.closeStream = await mountOn(
    document.getElementById("host"), DATA, (name, value) => window.told.push([name, value]));
  document.body.dataset.mounted = "";
</script>
</body>
</html>
"""
