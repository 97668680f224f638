"""The queue and its worker."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

import pytest

from specviz.errors import UserError
from specviz.server.hub import Hub, UnknownJobError
from specviz.server.job import Job, Status
from tests.server.fakes import FakeEngine, finished, request, until

Hubs = Callable[..., Hub]


def events(job: Job) -> list[dict[str, object]]:
    return [json.loads(message.event) for message in job.read(0, 10**9)[0]]


def last(job: Job) -> dict[str, object]:
    return events(job)[-1]


def test_jobs_run_one_at_a_time_in_the_order_they_came(hubs: Hubs) -> None:
    engine = FakeEngine()
    hub = hubs(engine)
    jobs = [hub.submit(request(f"prompt {i}", tokens=3)) for i in range(4)]
    assert all(finished(job) for job in jobs)
    assert [prompt for prompt, _ in engine.passes] == [
        f"prompt {i}" for i in range(4) for _ in range(3)
    ]
    assert engine.most_at_once == 1


def test_those_who_wait_see_their_place_move_up(hubs: Hubs) -> None:
    engine = FakeEngine(open_gate=False)
    hub = hubs(engine)
    first, second, third = (hub.submit(request(f"{i}", tokens=1)) for i in range(3))
    assert first.wait_until(lambda job: job.status.state == "running", 5)
    assert (second.status, third.status) == (Status("queued", 1), Status("queued", 2))
    engine.step()
    assert second.wait_until(lambda job: job.status.state == "running", 5)
    assert third.status == Status("queued", 1)


def test_stop_takes_effect_before_the_next_pass(hubs: Hubs) -> None:
    """Within one pass: the pass that runs ends, no other begins."""
    engine = FakeEngine(open_gate=False)
    hub = hubs(engine)
    job = hub.submit(request(tokens=50))
    engine.step(3)
    assert job.wait_until(lambda job: len(events(job)) == 4, 5)
    hub.stop(job.id)
    engine.open()
    assert finished(job)
    assert len(engine.passes) <= 4
    assert last(job)["reason"] == "cancelled"


def test_stopping_a_job_that_waits_takes_it_out_of_the_queue_at_once(hubs: Hubs) -> None:
    engine = FakeEngine(open_gate=False)
    hub = hubs(engine)
    first = hub.submit(request("runs"))
    assert first.wait_until(lambda job: job.status.state == "running", 5)
    waiting, behind = hub.submit(request("waits")), hub.submit(request("behind"))
    hub.stop(waiting.id)
    assert waiting.finished
    assert "nothing was made" in str(last(waiting)["message"])
    assert behind.status == Status("queued", 1)
    engine.open()
    assert finished(behind)
    assert not any(prompt == "waits" for prompt, _ in engine.passes)


def test_a_job_is_cancelled_when_its_last_viewer_has_gone(hubs: Hubs) -> None:
    """Case 24: a closed tab leaves no orphan run; one of two closed tabs changes nothing."""
    engine = FakeEngine(open_gate=False)
    hub = hubs(engine, viewer_grace_seconds=0.3)
    job = hub.submit(request(tokens=1000))
    with job.watched(lambda: None):
        with job.watched(lambda: None):
            engine.step()
        time.sleep(0.8)
        assert not job.stopped
    left = time.monotonic()
    assert until(lambda: job.stopped)
    assert 0.25 < time.monotonic() - left < 2
    engine.open()
    assert finished(job)
    assert last(job)["reason"] == "cancelled"


def test_a_short_absence_does_not_cancel(hubs: Hubs) -> None:
    """Case 24: the network cut for less than the grace."""
    engine = FakeEngine(open_gate=False)
    hub = hubs(engine, viewer_grace_seconds=0.6)
    job = hub.submit(request(tokens=3))
    for _ in range(3):
        with job.watched(lambda: None):
            time.sleep(0.3)
        time.sleep(0.3)
    with job.watched(lambda: None):
        time.sleep(0.3)
        assert not job.stopped
        engine.open()
        assert finished(job)
    assert last(job)["reason"] == "length"


def test_a_waiting_job_without_viewers_makes_room(hubs: Hubs) -> None:
    """Case 24: no orphan in the queue either."""
    engine = FakeEngine(open_gate=False)
    hub = hubs(engine, viewer_grace_seconds=0.1)
    running, gone, behind = (hub.submit(request(str(i))) for i in range(3))
    with running.watched(lambda: None), behind.watched(lambda: None):
        with gone.watched(lambda: None):
            pass
        assert until(lambda: gone.finished)
        assert behind.status == Status("queued", 1)


def test_a_job_that_nobody_ever_watched_is_dropped(hubs: Hubs) -> None:
    hub = hubs(FakeEngine(open_gate=False), connect_grace_seconds=0.2)
    job = hub.submit(request(tokens=100))
    assert until(lambda: job.stopped)


def test_the_engine_is_the_same_for_any_number_of_viewers(hubs: Hubs) -> None:
    """Case 8: no draw depends on how many viewers there are; a log is made once."""
    hub = hubs(FakeEngine(open_gate=True))
    alone = hub.submit(request(tokens=20))
    assert finished(alone)
    crowd = hub.submit(request(tokens=20))
    with crowd.watched(lambda: None), crowd.watched(lambda: None):
        assert finished(crowd)
    assert events(alone) == events(crowd)


def test_a_refusal_of_the_engine_is_shown_and_the_next_job_runs(hubs: Hubs) -> None:
    def refuse(drafter: str, index: int) -> None:
        if drafter == "model:other":
            raise UserError("The tokenizers differ: choose another drafter.")

    hub = hubs(FakeEngine(fail=refuse))
    refused = hub.submit(request(drafter="model:other", race="alternating"))
    after = hub.submit(request())
    assert finished(refused)
    assert finished(after)
    assert [event["type"] for event in events(refused)] == ["run_failed"]
    assert last(refused)["message"] == "The tokenizers differ: choose another drafter."
    assert last(after)["reason"] == "length"


def test_a_crash_of_the_engine_keeps_what_was_made(hubs: Hubs) -> None:
    def crash(drafter: str, index: int) -> None:
        if index == 2:
            raise RuntimeError("CUDA out of memory. " + "x" * 5000)

    hub = hubs(FakeEngine(fail=crash))
    job = hub.submit(request())
    assert finished(job)
    assert [event["type"] for event in events(job)] == [
        "run_started",
        "prefilled",
        "cycle",
        "run_failed",
    ]
    message = str(last(job)["message"])
    assert "RuntimeError" in message
    assert len(message) < 200


def test_a_model_that_cannot_be_loaded_fails_the_job_alone(hubs: Hubs) -> None:
    engine = FakeEngine()
    hub = hubs(engine)

    def load(**choice: object) -> object:
        if choice.get("target") == "nowhere":
            raise UserError("The model nowhere cannot be loaded: check its name.")
        return "a model"

    hub._load = load
    job = hub.submit(request().model_copy(update={"target": "nowhere"}))
    after = hub.submit(request())
    assert finished(job)
    assert finished(after)
    assert last(job)["message"] == "The model nowhere cannot be loaded: check its name."
    assert last(after)["reason"] == "length"


@pytest.mark.parametrize(
    ("limits", "change", "said"),
    [
        ({"max_prompt_chars": 5}, {"prompt": "123456"}, "6 characters and at most 5"),
        ({"max_new_tokens": 4}, {}, "5 new tokens are asked for and at most 4"),
        ({"allow_other_models": False}, {"target": "gpt2"}, "its own model only"),
        ({"queue_length": 0}, {}, "0 runs are waiting already"),
    ],
)
def test_limits_are_told_in_one_sentence_before_any_work(
    hubs: Hubs, limits: dict[str, object], change: dict[str, object], said: str
) -> None:
    engine = FakeEngine()
    hub = hubs(engine, **limits)
    with pytest.raises(UserError, match=said):
        hub.submit(request().model_copy(update=change))
    time.sleep(0.05)
    assert not engine.passes
    assert not engine.loaded


def test_a_drafter_model_counts_as_another_model(hubs: Hubs) -> None:
    hub = hubs(allow_other_models=False)
    for drafter in ("model:gpt2", "mtp:/etc/passwd", "hybrid:x", "small-2:x", "small-4:x"):
        with pytest.raises(UserError, match="its own model only"):
            hub.submit(request(drafter=drafter))
    assert finished(hub.submit(request(drafter="lookup")))
    assert finished(hub.submit(request(drafter="early-exit:4")))


def test_a_full_queue_takes_jobs_again_when_it_has_moved(hubs: Hubs) -> None:
    engine = FakeEngine(open_gate=False)
    hub = hubs(engine, queue_length=1)
    first = hub.submit(request())
    assert first.wait_until(lambda job: job.status.state == "running", 5)
    second = hub.submit(request())
    with pytest.raises(UserError, match="waiting already"):
        hub.submit(request())
    engine.open()
    assert finished(second)
    assert finished(hub.submit(request()))


def test_ids_cannot_be_guessed_and_do_not_repeat(hubs: Hubs) -> None:
    """Case 25: whoever was not given an id has no way to one."""
    hub = hubs(queue_length=1000)
    ids = {hub.submit(request(tokens=0)).id for _ in range(200)}
    assert len(ids) == 200
    assert all(len(id) == 24 for id in ids)
    assert all(id.isalnum() for id in ids)  # two underscores break a component's key
    assert len({id[:4] for id in ids}) > 150
    with pytest.raises(UnknownJobError):
        hub.get("A" * 24)


def test_the_id_of_a_job_is_in_no_trace(hubs: Hubs) -> None:
    """Case 25: traces are passed on; the id would open the run itself."""
    hub = hubs()
    job = hub.submit(request())
    assert finished(job)
    assert job.id not in json.dumps(events(job))


def test_jobs_beside_each_other_do_not_mix(hubs: Hubs) -> None:
    """Cases 24 and 25: every event is in the log of the job that asked for it."""
    hub = hubs()
    jobs = [hub.submit(request(f"secret {i}", tokens=4, race="alternating")) for i in range(5)]
    for i, job in enumerate(jobs):
        assert finished(job)
        prompts = {event["prompt"] for event in events(job) if event["type"] == "run_started"}
        assert prompts == {f"secret {i}"}


def test_finished_jobs_leave_memory_and_come_back_from_disk(
    hubs: Hubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specviz.server.hub.JOBS_IN_MEMORY", 3)
    hub = hubs()
    jobs = [hub.submit(request(str(i), tokens=2)) for i in range(8)]
    assert all(finished(job) for job in jobs)
    hub.submit(request())
    assert until(lambda: len(hub._jobs) <= 4)
    back = hub.get(jobs[0].id)
    assert back is not jobs[0]
    assert events(back) == events(jobs[0])


def test_a_job_that_is_watched_stays_in_memory(hubs: Hubs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specviz.server.hub.JOBS_IN_MEMORY", 1)
    hub = hubs()
    job = hub.submit(request())
    with job.watched(lambda: None):
        for _ in range(4):
            assert finished(hub.submit(request()))
        assert hub.get(job.id) is job


def test_closing_the_hub_says_that_the_run_was_interrupted(hubs: Hubs) -> None:
    """Case 24: the server is shut down in mid-run; the end is stated."""
    engine = FakeEngine(open_gate=False)
    hub = hubs(engine)
    job = hub.submit(request(tokens=100, race="alternating"))
    engine.step(6)
    assert job.wait_until(lambda job: len(events(job)) == 8, 5)
    closing = threading.Thread(target=hub.close)
    closing.start()
    time.sleep(0.1)
    engine.open()
    closing.join(5)
    assert not closing.is_alive()
    assert job.finished
    ends = [event for event in events(job) if event["type"] == "run_failed"]
    assert len(ends) == 2
    assert all("restarted" in str(end["message"]) for end in ends)


def test_a_disk_that_takes_nothing_ends_the_saving_not_the_run(
    hubs: Hubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("specviz.server.runs_folder.Recording.append", full)
    job = hubs().submit(request())
    assert finished(job)
    assert last(job)["reason"] == "length"


def test_the_worker_prepares_itself_before_the_first_job(tmp_path: object) -> None:
    engine = FakeEngine()
    order: list[str] = []
    hub = Hub(
        folder=tmp_path,  # type: ignore[arg-type]
        decode=engine.decode,
        load=lambda **_: order.append("load"),
        warm_up=lambda: order.append("warm up"),
    )
    hub.start()
    assert finished(hub.submit(request()))
    hub.close()
    assert order == ["warm up", "load"]
