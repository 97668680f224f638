"""Runs on disk: found after a restart, whole after a crash, closed to hostile names."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from specviz import trace
from specviz.server.hub import Hub, UnknownJobError
from specviz.server.job import Job
from specviz.server.lanes import INTERRUPTED
from specviz.server.runs_folder import RunsFolder, is_id, new_id
from tests.server.fakes import FakeEngine, finished, make_hub, request

Hubs = Callable[..., Hub]


def log(job: Job) -> list[str]:
    messages = job.read(0, 10**9)[0]
    return [message.envelope(seq) for seq, message in enumerate(messages)]


def test_a_run_is_the_same_after_a_restart(hubs: Hubs) -> None:
    """Case 24: every message has the sequence number that it had, over both lanes."""
    before = hubs(FakeEngine(seconds={"lookup": 0.02, "none": 0.01}))
    job = before.submit(request(race="alternating", tokens=12))
    assert finished(job)
    before.close()
    again = hubs().get(job.id)
    assert again is not job
    assert log(again) == log(job)
    assert again.finished
    assert again.request == job.request


def test_each_lane_is_a_trace_of_its_own(hubs: Hubs, tmp_path: Path) -> None:
    job = hubs().submit(request(race="alternating", tokens=6))
    assert finished(job)
    for lane in job.request.lanes:
        recorded = trace.read(tmp_path / "runs" / job.id / f"{lane}.jsonl")
        assert len(recorded.cycles) == 5
        assert recorded.started.drafter == ("none" if lane == "plain" else "lookup")


def test_a_run_that_was_cut_off_says_so(hubs: Hubs, tmp_path: Path) -> None:
    """Case 24: after a crash the end of the recording is stated, the files stay as they are."""
    hub = hubs()
    job = hub.submit(request(tokens=8))
    assert finished(job)
    hub.close()
    file = tmp_path / "runs" / job.id / "speculative.jsonl"
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:4]) + lines[4][:20])
    cut = file.read_bytes()
    again = hubs().get(job.id)
    messages = log(again)
    assert messages[:4] == log(job)[:4]
    assert json.loads(messages[4])["event"] == {"type": "run_failed", "message": INTERRUPTED}
    assert len(messages) == 5
    assert again.finished
    assert file.read_bytes() == cut


def test_a_job_that_waited_at_the_restart_says_so(hubs: Hubs) -> None:
    hub = hubs(FakeEngine(open_gate=False))
    hub.submit(request())
    waiting = hub.submit(request("waits"))
    again = hubs().get(waiting.id)
    assert again.finished
    assert again.request.prompt == "waits"
    assert json.loads(log(again)[0])["event"]["message"] == INTERRUPTED


def test_a_killed_server_loses_at_most_the_running_cycle(tmp_path: Path) -> None:
    """A kill -9 between two cycles: every event that a viewer saw is on disk, and readable."""
    script = textwrap.dedent(
        """
        import sys, time
        from pathlib import Path
        from tests.server.fakes import FakeEngine, make_hub, request

        hub = make_hub(FakeEngine(), Path(sys.argv[1]))
        job = hub.submit(request(race="alternating", tokens=100_000))
        print(job.id, flush=True)
        seen = 0
        while True:
            messages, _, _ = job.read(seen, 10**6)
            seen += len(messages)
            print(seen, flush=True)
            time.sleep(0.001)
        """
    )
    server = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert server.stdout is not None
    job_id = server.stdout.readline().strip()
    shown = 0
    deadline = time.monotonic() + 30
    while shown < 500 and time.monotonic() < deadline:
        shown = int(server.stdout.readline())
    os.kill(server.pid, signal.SIGKILL)
    rest = server.stdout.read().split()
    server.wait()
    shown = int(rest[-1]) if rest and rest[-1].isdigit() else shown
    assert shown >= 500
    job = RunsFolder(tmp_path).reopen(job_id)
    assert job is not None
    messages = [json.loads(message) for message in log(job)]
    assert [message["seq"] for message in messages] == list(range(len(messages)))
    kept = [message for message in messages if message["event"]["type"] != "run_failed"]
    assert len(kept) >= shown
    for lane in job.request.lanes:
        indices = [
            message["event"]["index"]
            for message in kept
            if message["lane"] == lane and message["event"]["type"] == "cycle"
        ]
        assert indices == list(range(len(indices)))
    assert {message["lane"] for message in messages[-2:]} == {"speculative", "plain"}


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        ".",
        "..",
        "../../../../etc/passwd",
        "..%2f..%2fetc",
        "/etc/passwd",
        "a" * 23,
        "a" * 25,
        "a" * 23 + "/",
        "a" * 23 + "_",
        "a" * 23 + "\n",
        "a" * 24 + "\n",
        "a" * 23 + "\0",
        "a" * 23 + "é",
        "a" * 10_000,
    ],
)
def test_a_hostile_id_never_becomes_a_path(
    hubs: Hubs, monkeypatch: pytest.MonkeyPatch, hostile: str
) -> None:
    hub = hubs()

    def touched(*_: object) -> None:
        raise AssertionError("the disk was asked for a hostile id")

    monkeypatch.setattr(Path, "read_bytes", touched)
    assert not is_id(hostile)
    with pytest.raises(UnknownJobError):
        hub.get(hostile)
    with pytest.raises(UnknownJobError):
        hub.stop(hostile)


def test_runs_are_readable_by_their_owner_alone(hubs: Hubs, tmp_path: Path) -> None:
    """Case 25, on a machine that others use too."""
    job = hubs().submit(request())
    assert finished(job)
    mode = (tmp_path / "runs" / job.id).stat().st_mode
    assert stat.S_IMODE(mode) == 0o700


def test_old_runs_are_thrown_out_but_none_that_is_active(tmp_path: Path) -> None:
    runs = RunsFolder(tmp_path)
    jobs = [Job(new_id(), request()) for _ in range(6)]
    for age, job in enumerate(jobs):
        runs.save(job)
        (tmp_path / job.id / "plain.jsonl").write_bytes(b"x" * 1000)
        os.utime(tmp_path / job.id, (1000 - age, 1000 - age))
    (tmp_path / "somebody else's").mkdir()

    runs.prune(keep_runs=3, keep_bytes=10**9, spare=frozenset({jobs[5].id}))
    left = {job.id for job in jobs if (tmp_path / job.id).exists()}
    assert left == {job.id for job in [*jobs[:3], jobs[5]]}

    runs.prune(keep_runs=100, keep_bytes=2500, spare=frozenset())
    left = {job.id for job in jobs if (tmp_path / job.id).exists()}
    assert left == {jobs[0].id}
    assert (tmp_path / "somebody else's").exists()


def test_the_hub_keeps_to_its_number_of_runs(tmp_path: Path) -> None:
    hub = make_hub(FakeEngine(), tmp_path, keep_runs=2)
    for _ in range(5):
        assert finished(hub.submit(request(tokens=1)))
    hub.close()
    assert len(list(tmp_path.iterdir())) == 2
