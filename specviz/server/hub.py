"""The hub: a queue of jobs and the one worker that runs them, first in, first out.

One run is on the device at a time. The worker is a plain thread that knows nothing of
pages; it looks at a job's stop flag before every pass.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from specviz.errors import UserError
from specviz.events import Event, RunFailed
from specviz.server.imports import importing
from specviz.server.job import Job, JobRequest, Lane
from specviz.server.lanes import run_lanes
from specviz.server.limits import Limits
from specviz.server.measurement import Measurement, Report, Result
from specviz.server.replay import finished_job
from specviz.server.runs_folder import Recording, RunsFolder, default_folder, is_id, new_id
from specviz.settings import Settings

JOBS_IN_MEMORY = 64
MEASUREMENTS_IN_MEMORY = 64
CHARS_IN_MEMORY = 256 * 1024 * 1024

_JANITOR_SECONDS = 0.25
_CLOSE_SECONDS = 10.0

_logger = logging.getLogger(__name__)


class Decode(Protocol):
    """`specviz.engine.decode`."""

    def __call__(
        self, target: Any, prompt: str, settings: Settings, *, cancelled: Callable[[], bool]
    ) -> Iterator[Event]: ...


_Task = Job | Measurement[Any]

Load = Callable[..., Any]
"""`specviz.runtime.loading.load`: target and dtype to a model."""


def _decode(
    target: Any, prompt: str, settings: Settings, *, cancelled: Callable[[], bool]
) -> Iterator[Event]:
    with importing:
        from specviz.engine import decode

    return decode(target, prompt, settings, cancelled=cancelled)


def _load(**choice: str) -> Any:
    with importing:
        from specviz.runtime.loading import load

    return load(**choice)


class UnknownJobError(UserError):
    """There is no job of this id, or there is none any more."""

    def __init__(self) -> None:
        super().__init__(
            "This run is not here: its link is incomplete or it was removed; start a new one."
        )


class Hub:
    """Takes jobs, runs them, remembers them. Safe to use from any thread."""

    def __init__(
        self,
        limits: Limits | None = None,
        folder: Path | None = None,
        *,
        decode: Decode = _decode,
        load: Load = _load,
        warm_up: Callable[[], None] = lambda: None,
    ) -> None:
        """Make a hub that is not started.

        Args:
            limits: what the host allows; by default from the environment.
            folder: where runs are saved; by default the user's data folder.
            decode: the engine.
            load: makes a model of a target and a dtype.
            warm_up: what the worker does before the first job.
        """
        self.limits = limits or Limits.from_environment()
        self._runs = RunsFolder(folder or default_folder())
        self._decode = decode
        self._load = load
        self._warm_up = warm_up
        self._changed = threading.Condition()
        self._waiting: deque[_Task] = deque()
        self._running: _Task | None = None
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._measurements: OrderedDict[str, Measurement[Any]] = OrderedDict()
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []

    # The life of a hub

    def start(self) -> None:
        """Start the worker, once in a hub's life."""
        with self._changed:
            if self._threads or self._closing.is_set():
                return
            self._threads = [
                threading.Thread(target=self._work, name="specviz-worker", daemon=True),
                threading.Thread(target=self._tidy, name="specviz-janitor", daemon=True),
            ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End the running job at its next pass and stop the worker."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
            threads, self._threads = self._threads, []
        for thread in threads:
            thread.join(_CLOSE_SECONDS)

    # What people do

    def submit(self, request: JobRequest) -> Job:
        """Put a job in the queue.

        Raises:
            UserError: if the request is beyond the limits or the queue is full.
        """
        self._check(request)
        job = Job(new_id(), request)
        with self._changed:
            self._check_room()
            self._save(job)
            self._jobs[job.id] = job
            self._enqueue(job)
        return job

    def measure(
        self, name: str, work: Callable[[Any, Report[Result]], Result], *, dtype: str = "auto"
    ) -> Measurement[Result]:
        """Put a measurement of the default model in the queue.

        Args:
            name: of what it measures, as “cost”.
            work: is given the model and the report to call after every step.
            dtype: as for `load`.

        Raises:
            UserError: if the queue is full.
        """
        measurement = Measurement(
            new_id(), name, lambda report: work(self._load(dtype=dtype), report)
        )
        with self._changed:
            self._check_room()
            self._measurements[measurement.id] = measurement
            self._forget_measurements()
            self._enqueue(measurement)
        return measurement

    def measurement(self, id: str) -> Measurement[Any] | None:
        """The measurement of this id, if it is still remembered."""
        with self._changed:
            return self._measurements.get(id)

    def get(self, job_id: str) -> Job:
        """The job of this id, from memory or from disk.

        Raises:
            UnknownJobError: if there is none.
        """
        with self._changed:
            job = self._jobs.get(job_id)
            if job is not None:
                self._jobs.move_to_end(job_id)
                return job
        reopened = self._runs.reopen(job_id) if is_id(job_id) else None
        if reopened is None:
            raise UnknownJobError
        return self._remember(reopened)

    def stop(self, job_id: str) -> None:
        """Stop a job: within one pass if it runs, at once if it waits.

        Raises:
            UnknownJobError: if there is none of this id.
        """
        job = self.get(job_id)
        job.stop()
        self._drop_stopped()

    def open_trace(self, data: bytes) -> Job:
        """Make a finished job of a recorded trace, to be replayed without a model.

        Raises:
            UserError: if it is too large, of another version or malformed.
        """
        if len(data) > self.limits.max_trace_megabytes * 2**20:
            raise UserError(
                f"This trace has {len(data) / 2**20:,.0f} MiB and at most "
                f"{self.limits.max_trace_megabytes} are opened here: record a shorter run."
            )
        return self._remember(finished_job(new_id(), data))

    def _check(self, request: JobRequest) -> None:
        limits = self.limits
        if len(request.prompt) > limits.max_prompt_chars:
            raise UserError(
                f"The prompt has {len(request.prompt):,} characters and at most "
                f"{limits.max_prompt_chars:,} are taken here: shorten it."
            )
        if request.settings.max_new_tokens > limits.max_new_tokens:
            raise UserError(
                f"{request.settings.max_new_tokens:,} new tokens are asked for and at most "
                f"{limits.max_new_tokens:,} are made here: ask for fewer."
            )
        drafter, _, argument = request.settings.drafter.partition(":")
        names_a_file = drafter == "model" or (argument != "" and drafter != "early-exit")
        names_a_model = request.target is not None or names_a_file
        if names_a_model and not limits.allow_other_models:
            raise UserError(
                "This server runs its own model only: leave the model field empty "
                "and choose another drafter."
            )

    # The queue

    def _check_room(self) -> None:
        if len(self._waiting) >= self.limits.queue_length:
            raise UserError(
                f"{len(self._waiting)} runs are waiting already: try again in a few minutes."
            )

    def _enqueue(self, task: _Task) -> None:
        self._waiting.append(task)
        self._number()
        self._changed.notify_all()

    def _number(self) -> None:
        for place, job in enumerate(self._waiting, start=1):
            job.move_to("queued", place)

    def _drop_stopped(self) -> None:
        """Take the stopped jobs out of the queue."""
        with self._changed:
            dropped = [job for job in self._waiting if job.stopped]
            if not dropped:
                return
            self._waiting = deque(job for job in self._waiting if not job.stopped)
            self._number()
        for job in dropped:
            self._finish(job)

    def _tidy(self) -> None:
        """Stop the jobs that nobody watches any more."""
        while not self._closing.wait(_JANITOR_SECONDS):
            with self._changed:
                active = [*self._waiting, *([self._running] if self._running else [])]
            for job in active:
                if job.abandoned(
                    self.limits.viewer_grace_seconds, self.limits.connect_grace_seconds
                ):
                    job.stop()
            self._drop_stopped()

    # The worker

    def _work(self) -> None:
        try:
            self._warm_up()
        except Exception:
            _logger.exception("The worker could not prepare itself; it takes jobs all the same.")
        while (job := self._next()) is not None:
            try:
                self._run(job)
            except Exception:
                _logger.exception("A job ended unexpectedly.")
            finally:
                with self._changed:
                    self._running = None
                self._finish(job)
                self._clean_up()

    def _next(self) -> _Task | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closing.is_set() or bool(self._waiting))
            if self._closing.is_set():
                return None
            self._running = self._waiting.popleft()
            self._running.move_to("loading")
            self._number()
            return self._running

    def _run(self, task: _Task) -> None:
        if isinstance(task, Measurement):
            if not task.stopped:
                task.run()
        else:
            self._publish(task, self._events(task))

    def _finish(self, job: _Task) -> None:
        """The end of a job; one that made nothing says so."""
        if isinstance(job, Job) and not job.size:
            message = "Stopped before the first pass: nothing was made."
            self._publish(job, [(job.request.lanes[0], RunFailed(message=message))])
        job.move_to("finished")

    def _publish(self, job: Job, events: Iterable[tuple[Lane, Event]]) -> None:
        """Save each event, then show it."""
        recording = self._open_recording(job)
        try:
            for lane, event in events:
                text = event.model_dump_json()
                recording = _record(recording, lane, text)
                job.append(lane, text)
        finally:
            if recording is not None:
                recording.close()

    def _events(self, job: Job) -> Iterator[tuple[Lane, Event]]:
        request = job.request
        lanes = request.lanes
        if job.stopped:
            return
        try:
            choice = {"target": request.target} if request.target else {}
            model = self._load(**choice, dtype=request.dtype)
        except UserError as error:
            yield lanes[0], RunFailed(message=str(error))
            return
        except Exception as error:
            _logger.exception("A model could not be loaded.")
            yield (
                lanes[0],
                RunFailed(
                    message=f"The model could not be loaded ({type(error).__name__}): "
                    "check its name, and if it comes again, see the server's log."
                ),
            )
            return
        job.move_to("running")
        starts = {
            lane: partial(
                self._decode,
                model,
                request.prompt,
                request.lane_settings(lane),
                cancelled=lambda: job.stopped,
            )
            for lane in lanes
        }
        yield from run_lanes(
            starts,
            alternating=request.race == "alternating",
            stop=job.stop,
            stopped=lambda: job.stopped,
            interrupted=self._closing.is_set,
        )

    def _save(self, job: Job) -> None:
        try:
            self._runs.save(job)
        except OSError:
            _logger.exception("This run is not saved: its folder cannot be made.")

    def _open_recording(self, job: Job) -> Recording | None:
        try:
            return self._runs.record(job.id)
        except OSError:
            _logger.exception("This run is not saved: its files cannot be made.")
            return None

    # Memory

    def _remember(self, job: Job) -> Job:
        with self._changed:
            job = self._jobs.setdefault(job.id, job)
            self._jobs.move_to_end(job.id)
        self._forget()
        return job

    def _forget_measurements(self) -> None:
        finished = [id for id, one in self._measurements.items() if one.finished]
        for id in finished[: max(0, len(self._measurements) - MEASUREMENTS_IN_MEMORY)]:
            del self._measurements[id]

    def _forget(self) -> None:
        """Drop the finished jobs that were not asked for the longest, beyond the limits."""
        with self._changed:
            total = sum(job.size for job in self._jobs.values())
            for job in list(self._jobs.values())[:-1]:
                if len(self._jobs) <= JOBS_IN_MEMORY and total <= CHARS_IN_MEMORY:
                    return
                if job.finished and not job.viewers:
                    del self._jobs[job.id]
                    total -= job.size

    def _clean_up(self) -> None:
        self._forget()
        with self._changed:
            active = [*self._waiting, *([self._running] if self._running else [])]
        self._runs.prune(
            keep_runs=self.limits.keep_runs,
            keep_bytes=self.limits.keep_megabytes * 2**20,
            spare=frozenset(job.id for job in active),
        )


def _record(recording: Recording | None, lane: Lane, event: str) -> Recording | None:
    """Save an event; a full disk ends the saving, not the run."""
    if recording is None:
        return None
    try:
        recording.append(lane, event)
    except OSError:
        _logger.exception("The rest of this run is not saved: the disk does not take it.")
        recording.close()
        return None
    return recording
