"""Jobs: long work that goes on after its call was answered, and can be watched and stopped.

They live in memory: a server that stops takes its list of jobs along, but nothing that was
written. Work that was stopped is continued when it is asked for again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Literal

from hades.domain.plain import plain
from hades.errors import Conflict, HadesError, NotFound, Unavailable
from hades.memory import Memory
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor, Overloaded, Work
from hades.serve.problems import FAILED_INSIDE, code_of
from hades.store.records import Progress

Kind = Literal["ingest", "triples", "import-node-link", "resolve"]
Status = Literal["waiting", "running", "done", "failed", "cancelled"]

UNFINISHED_AT_MOST = 16
KEPT_AT_MOST = 200
EVENTS_KEPT = 256
WATCHERS_AT_MOST = 64
PROGRESS_EVERY_S = 0.1
HEARTBEAT_S = 15.0
LOOK_EVERY_S = 0.05
"""How often a watcher looks for news."""

_log = logging.getLogger("hades.serve")


class Cancelled(Exception):
    """Raised inside the work of a job that somebody cancelled. No HadesError: work goes on
    past those where only a part of it failed."""


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something a job told: `progress`, and at last `done`, `failed` or `cancelled`."""

    number: int
    name: str
    data: Any


@dataclass(frozen=True, slots=True)
class JobProgress:
    """What a job does, how much of it is done, and how much there is (0: not known)."""

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
    """A piece of long work, as callers see it."""

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


@dataclass(slots=True, kw_only=True)
class Job(JobStatus):
    """One piece of long work."""

    events: deque[JobEvent] = field(default_factory=lambda: deque(maxlen=EVENTS_KEPT))
    told: int = 0
    stopping: bool = False
    forgotten: bool = False
    """Its space is gone: nobody is told of it."""
    last_told: float = 0.0

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.status in ("done", "failed", "cancelled")

    def tell(self, name: str, data: Any) -> None:
        """Add an event."""
        self.told += 1
        self.events.append(JobEvent(self.told, name, data))

    def end(self, status: Status, data: Any) -> None:
        """Say how it ended; only the first end counts."""
        if not self.ended:
            self.ended_at = datetime.now(UTC)
            self.status = status
            self.tell(status, data)

    def shown(self) -> dict[str, Any]:
        """As it is told to callers."""
        return {one.name: plain(getattr(self, one.name)) for one in fields(JobStatus)}


class Jobs:
    """The jobs of one executor. Work tells its progress from its own thread; the rest happens in
    the event loop."""

    def __init__(self, executor: Executor, *, heartbeat_s: float = HEARTBEAT_S) -> None:
        self._executor = executor
        self._jobs: dict[str, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._watching = 0
        self.heartbeat_s = heartbeat_s

    def refuse_more(self, space: str | None = None, source: str | None = None) -> None:
        """Overloaded when too many are unfinished; Conflict when this source is among them."""
        unfinished = [job for job in self._jobs.values() if not job.ended]
        if len(unfinished) >= UNFINISHED_AT_MOST:
            raise Overloaded("Too many jobs are unfinished: come back when one is done.")
        if source is not None and any(
            job.space == space and job.source == source for job in unfinished
        ):
            raise Conflict(f"The source {source!r} is being taken in already: wait for that job.")

    def start(
        self,
        caller: Caller,
        space: str,
        kind: Kind,
        work: Work[Any],
        *,
        source: str | None = None,
        role: Role = Role.WRITER,
        afterwards: Callable[[], None] = lambda: None,
    ) -> Job:
        """Begin work; `afterwards` is called in a thread when it ended, however it did.

        Where there is no room for it nothing is begun: Overloaded.
        """
        caller.require(role, space)
        if self._executor.read_only:
            raise Unavailable("This server only reads.")
        self.refuse_more(space, source)
        job = Job(kind=kind, space=space, source=source, by=caller.name)
        begun = self._queued(job, caller, work, role, afterwards)
        self._jobs[job.id] = job
        self._forget_old()
        task = asyncio.create_task(self._follow(job, begun))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job

    def of_space(self, space: str) -> list[Job]:
        """The jobs of a space, newest first."""
        return [job for job in reversed(self._jobs.values()) if _is_of(job, space)]

    def forget(self, space: str) -> None:
        """Forget the jobs of a space that is gone, and stop those that run."""
        for job in [job for job in self._jobs.values() if job.space == space]:
            job.forgotten = True
            self.cancel(job)
            if job.ended:
                del self._jobs[job.id]

    def get(self, space: str, id: str) -> Job:
        """One job of a space."""
        job = self._jobs.get(id)
        if job is None or not _is_of(job, space):
            raise NotFound(f"There is no job {id!r}: it ended long ago, or before the last start.")
        return job

    def cancel(self, job: Job) -> None:
        """Let a job stop at its next step; one that ended stays as it is."""
        job.stopping = True
        if job.status == "waiting":
            job.end("cancelled", {})

    def counted(self) -> dict[str, int]:
        """How many jobs there are, by status."""
        return dict(Counter(job.status for job in list(self._jobs.values())))

    def refuse_watchers(self) -> None:
        """Overloaded when too many watch already."""
        if self._watching >= WATCHERS_AT_MOST:
            raise Overloaded("Too many watch jobs: come back when one is done.")

    async def events(self, job: Job, after: int) -> AsyncIterator[JobEvent | None]:
        """What a job tells, from the event after `after` on; None now and then: still here."""
        self._watching += 1
        quiet_since = time.monotonic()
        try:
            while True:
                is_last = job.ended or self._executor.leaving
                for event in [event for event in list(job.events) if event.number > after]:
                    after, quiet_since = event.number, time.monotonic()
                    yield event
                if is_last:
                    return
                await asyncio.sleep(LOOK_EVERY_S)
                if time.monotonic() - quiet_since >= self.heartbeat_s:
                    quiet_since = time.monotonic()
                    yield None
        finally:
            self._watching -= 1

    # Inside

    def _queued(
        self, job: Job, caller: Caller, work: Work[Any], role: Role, afterwards: Callable[[], None]
    ) -> Future[Any]:
        def run(memory: Memory, progress: Progress) -> Any:
            try:
                if job.stopping:
                    raise Cancelled
                if job.status == "waiting":
                    job.status = "running"
                return plain(work(memory, progress))
            finally:
                afterwards()

        def progressed(what: str, done: int, total: int) -> None:
            _told(job, what, done, total)

        begun = self._executor.begin(caller, job.space, run, progressed, role=role)
        # When the server stops, what still waits never runs.
        begun.add_done_callback(lambda future: afterwards() if future.cancelled() else None)
        return begun

    async def _follow(self, job: Job, begun: Future[Any]) -> None:
        try:
            result = await self._executor.finished(begun)
        except Cancelled:
            job.end("cancelled", {})
        except HadesError as error:
            job.problem = JobProblem(code_of(error), str(error))
            job.end("failed", job.problem)
        except Exception:  # noqa: BLE001 - the edge of a job: it is logged and told
            _log.exception("The job %s (%s) failed", job.id, job.kind)
            job.problem = JobProblem("HadesError", FAILED_INSIDE)
            job.end("failed", job.problem)
        else:
            job.result = result
            job.end("done", {"result": result})

    def _forget_old(self) -> None:
        ended = [job.id for job in self._jobs.values() if job.ended]
        for id in ended[: max(0, len(self._jobs) - KEPT_AT_MOST)]:
            del self._jobs[id]


def _is_of(job: Job, space: str) -> bool:
    return job.space == space and not job.forgotten


def _told(job: Job, what: str, done: int, total: int) -> None:
    """Called by the work, in its thread."""
    if job.stopping:
        raise Cancelled
    now = time.monotonic()
    changed = job.progress is None or job.progress.what != what or done == total
    if changed or now - job.last_told >= PROGRESS_EVERY_S:
        job.last_told = now
        job.progress = JobProgress(what, done, total)
        job.tell("progress", job.progress)
