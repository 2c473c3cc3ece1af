"""Jobs: long work that continues after its call was answered, and can be watched and stopped.

The list of jobs is in this process only and is lost when the server stops; their writes stay.
To continue work that was stopped, start it again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from pydantic_core import to_json

from hades.domain.plain import plain
from hades.errors import Conflict, HadesError, NotFound, Unavailable
from hades.memory import Memory
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor, Work
from hades.serve.pool import STOPPING, Overloaded
from hades.serve.problems import FAILED_INSIDE, code_of
from hades.store.records import Progress

Kind = Literal[
    "ingest",
    "triples",
    "import-node-link",
    "resolve",
    "consolidate",
    "distil",
    "extract",
    "organise",
]
Status = Literal["waiting", "running", "done", "failed", "cancelled"]

UNFINISHED_AT_MOST = 16
UNFINISHED_OF_ONE_AT_MOST = 8
"""The most unfinished jobs of one caller, so that there is room for others."""
KEPT_AT_MOST = 200
WATCHERS_AT_MOST = 64
WATCHERS_OF_ONE_AT_MOST = 32
PROGRESS_EVERY_S = 0.1
HEARTBEAT_S = 15.0
LOOK_EVERY_S = 0.05
"""How often a watcher checks for a new event."""

_log = logging.getLogger("hades.serve")


class Cancelled(Exception):
    """The job was cancelled. Not a HadesError: ingestion skips a file that raises one."""


@dataclass(frozen=True, slots=True)
class JobProgress:
    """The current phase of a job, and how much of it is done; a `total` of 0 is unknown."""

    what: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class JobProblem:
    """Why a job failed."""

    code: str
    detail: str


@dataclass(slots=True, kw_only=True)
class JobStatus:
    """A job as callers see it."""

    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    kind: Kind
    space: str
    source: str | None
    by: str
    status: Status = "waiting"
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    ended_at: datetime | None = None
    progress: JobProgress | None = None
    result: Any = None
    problem: JobProblem | None = None


class JobKey(NamedTuple):
    """An idempotency key and a digest of its request, without the files that were sent."""

    key: str
    request: bytes

    @classmethod
    def of(cls, key: str | None, *request: object) -> JobKey | None:
        """Return the key with the parts of its request; None if the client sent no key."""
        return None if key is None else cls(key, sha256(repr(request).encode()).digest())


@dataclass(slots=True, kw_only=True)
class Job(JobStatus):
    """One piece of long work. Its own thread updates the progress."""

    last_event: int = 0
    """The number of the job's last event, from 1; 0 before the first."""
    key: JobKey | None = None
    """The idempotency key it was started with."""
    stopping: bool = False
    progress_at: float = 0.0
    """When `progress` was last updated, by the monotonic clock."""

    @property
    def ended(self) -> bool:
        return self.status in ("done", "failed", "cancelled")

    def shown(self) -> dict[str, Any]:
        """Return the fields of `JobStatus` as plain values."""
        return {shown.name: plain(getattr(self, shown.name)) for shown in fields(JobStatus)}

    def event(self) -> bytes:
        """Return the last event: `progress`, or after the end `done`, `failed`, `cancelled`."""
        ends = {"done": {"result": self.result}, "failed": self.problem, "cancelled": {}}
        name = self.status if self.ended else "progress"
        shown = to_json(plain(ends.get(self.status, self.progress)))
        return f"id: {self.last_event}\nevent: {name}\ndata: ".encode() + shown + b"\n\n"

    def progressed(self, what: str, done: int, total: int) -> None:
        """Record the progress of the work; raise Cancelled if the job is to stop."""
        if self.stopping:
            raise Cancelled
        now = time.monotonic()
        changed = self.progress is None or self.progress.what != what or done == total
        if changed or now - self.progress_at >= PROGRESS_EVERY_S:
            self.progress_at = now
            self.progress = JobProgress(what, done, total)
            self.last_event += 1

    def end(self, status: Status) -> None:
        """Set the final status; only the first call counts."""
        if not self.ended:
            self.ended_at = datetime.now(UTC)
            self.status = status
            self.last_event += 1

    def finished(self, future: Future[Any]) -> None:
        """Record the result or the error of the work, and end the job."""
        error = Unavailable(STOPPING) if future.cancelled() else future.exception()
        if isinstance(error, Cancelled):
            self.end("cancelled")
        elif error is not None:
            if not (is_ours := isinstance(error, HadesError)):
                _log.error("The job %s (%s) failed", self.id, self.kind, exc_info=error)
            self.problem = JobProblem(code_of(error), str(error) if is_ours else FAILED_INSIDE)
            self.end("failed")
        else:
            self.result = future.result()
            self.end("done")


class Jobs:
    """The jobs of one executor."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._jobs: dict[str, Job] = {}
        self._watching: Counter[str] = Counter()
        self.heartbeat_s = HEARTBEAT_S

    def refuse_more(self, who: str, space: str | None = None, source: str | None = None) -> None:
        """Raise Overloaded if too many jobs are unfinished, Conflict if one ingests this source."""
        unfinished = [job for job in self._jobs.values() if not job.ended]
        theirs = sum(job.by == who for job in unfinished)
        if theirs >= UNFINISHED_OF_ONE_AT_MOST or len(unfinished) >= UNFINISHED_AT_MOST:
            raise Overloaded("Too many jobs are unfinished: try again when one is done.")
        if source is not None and (space, source) in {
            (job.space, job.source) for job in unfinished
        }:
            raise Conflict(f"The source {source!r} is already being ingested: wait for that job.")

    def start(
        self,
        caller: Caller,
        space: str,
        kind: Kind,
        work: Work[Any],
        *,
        source: str | None = None,
        key: JobKey | None = None,
        role: Role = Role.WRITER,
        afterwards: Callable[[], None] = lambda: None,
    ) -> Job:
        """Start a job. `afterwards` is called in a thread when it ends, also after an error.

        Raise as `refuse_more` does; then nothing is started, and `afterwards` is not called.
        """
        self.refuse_more(caller.name, space, source)
        job = Job(kind=kind, space=space, source=source, by=caller.name, key=key)

        def run(memory: Memory, progress: Progress) -> Any:
            try:
                if job.stopping:
                    raise Cancelled
                job.status = "running"
                return plain(work(memory, progress))
            finally:
                afterwards()

        future = self._executor.begin(caller, space, run, job.progressed, role=role)
        # When the server stops, a waiting job is cancelled and `run` is never called.
        future.add_done_callback(lambda future: afterwards() if future.cancelled() else None)
        future.add_done_callback(job.finished)
        self._jobs[job.id] = job
        ended = [kept.id for kept in self._jobs.values() if kept.ended]
        for id in ended[: max(0, len(self._jobs) - KEPT_AT_MOST)]:
            del self._jobs[id]
        return job

    def of_space(self, space: str) -> list[Job]:
        """Return all jobs of a space, newest first."""
        return [job for job in reversed(self._jobs.values()) if job.space == space]

    def seen_by(self, caller: Caller, space: str) -> list[Job]:
        """Return the jobs of a space that a caller may see and cancel: their own; all for an admin.

        Others stay hidden because a job shows the names of files, sources and its caller.
        """
        jobs = self.of_space(space)
        return [job for job in jobs if job.by == caller.name or caller.role >= Role.ADMIN]

    def forget(self, space: str) -> None:
        """Forget the jobs of a space that was dropped, and stop the running ones."""
        for job in self.of_space(space):
            self.cancel(job)
            del self._jobs[job.id]

    def begun_with(self, key: JobKey | None, caller: Caller, space: str) -> Job | None:
        """Return the job that this caller started with this idempotency key, if any.

        Raise Conflict if the key was used for a different request.
        """
        for job in self.of_space(space):
            if key and job.key and job.by == caller.name and job.key.key == key.key:
                if job.key != key:
                    raise Conflict(
                        f"The key {key.key!r} was used for a different request: choose a new key."
                    )
                return job
        return None

    def get(self, caller: Caller, space: str, id: str) -> Job:
        """Return a job that the caller may see; else raise NotFound."""
        for job in self.seen_by(caller, space):
            if job.id == id:
                return job
        raise NotFound(
            f"You have no job {id!r}. It may have ended long ago, or before the last server start."
        )

    def cancel(self, job: Job) -> None:
        """Stop a job at its next step; a job that has ended keeps its status."""
        job.stopping = True
        if job.status == "waiting":
            job.end("cancelled")

    def counted(self) -> dict[str, int]:
        """Return the number of jobs by status."""
        return dict(Counter(job.status for job in list(self._jobs.values())))

    def watch(self, job: Job, after: int, who: str) -> AsyncIterator[bytes]:
        """Stream a job's latest event whenever its number exceeds `after`; may raise Overloaded."""
        watching = self._watching
        if watching[who] >= WATCHERS_OF_ONE_AT_MOST or watching.total() >= WATCHERS_AT_MOST:
            raise Overloaded("Too many jobs are being watched: try again when one is done.")
        return self._events(job, after, who)

    async def _events(self, job: Job, after: int, who: str) -> AsyncIterator[bytes]:
        """Yield the latest event if it is new, else a heartbeat now and then; end with the job."""
        self._watching[who] += 1
        quiet_since = time.monotonic()
        try:
            yield b": here\n\n"
            while True:
                is_last = job.ended or self._executor.leaving
                if job.last_event > after:
                    after = job.last_event
                    quiet_since = time.monotonic()
                    yield job.event()
                if is_last:
                    return
                await asyncio.sleep(LOOK_EVERY_S)
                if time.monotonic() - quiet_since >= self.heartbeat_s:
                    quiet_since = time.monotonic()
                    yield b": still here\n\n"
        finally:
            self._watching[who] -= 1
