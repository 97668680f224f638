"""A recorded trace as a finished job."""

from __future__ import annotations

from specviz import trace
from specviz.events import EVENT, RunFailed
from specviz.server.job import Job, JobRequest, Lane, Message

CUT_OFF = "This recording was cut off here: what came before is complete."


def lane_trace(job: Job, lane: Lane) -> trace.Trace:
    """What has happened in a lane so far.

    Raises:
        UserError: if the lane has not begun.
    """
    return trace.collect(map(EVENT.validate_json, job.lane_events(lane)))


def finished_job(job_id: str, data: bytes) -> Job:
    """Read a trace file into a job that replays it.

    Raises:
        UserError: if the trace is too large, of another version or malformed.
    """
    recorded = trace.parse(data)
    started = recorded.started
    lane: Lane = "plain" if started.settings.drafter == "none" else "speculative"
    events = recorded.events
    if recorded.ended is None:
        events.append(RunFailed(message=CUT_OFF))
    return Job(
        job_id,
        JobRequest(
            prompt=started.prompt, target=started.target, race="off", settings=started.settings
        ),
        log=[Message(lane, event.model_dump_json()) for event in events],
    )
