"""Jobs: long work that goes on after its call was answered, and can be watched and stopped.

They live in memory: a server that stops takes its list of jobs along, but nothing that was
written. Work that was stopped is continued when it is asked for again.
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
from typing import Any, Literal

from pydantic_core import to_json

from hades.domain.plain import plain
from hades.errors import Conflict, HadesError, NotFound, Unavailable
from hades.memory import Memory
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor, Work
from hades.serve.pool import STOPPING, Overloaded
from hades.serve.problems import FAILED_INSIDE, code_of
from hades.store.records import Progress

Kind = Literal["ingest", "triples", "import-node-link", "resolve", "consolidate", "extract"]
Status = Literal["waiting", "running", "done", "failed", "cancelled"]

UNFINISHED_AT_MOST = 16
UNFINISHED_OF_ONE_AT_MOST = 8
"""Of one caller: there is room for others."""
KEPT_AT_MOST = 200
WATCHERS_AT_MOST = 64
WATCHERS_OF_ONE_AT_MOST = 32
PROGRESS_EVERY_S = 0.1
HEARTBEAT_S = 15.0
LOOK_EVERY_S = 0.05
"""How often a watcher looks for news."""

_log = logging.getLogger("hades.serve")


class Cancelled(Exception):
    """Raised inside the work of a job that somebody cancelled. No HadesError: work goes on
    past those where only a part of it failed."""


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
    """One piece of long work. It tells its progress from its own thread."""

    told: int = 0
    """How often it told something: the number of its last event."""
    key: str | None = None
    """The idempotency key it was begun with."""
    stopping: bool = False
    last_told: float = 0.0

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.status in ("done", "failed", "cancelled")

    def shown(self) -> dict[str, Any]:
        """As it is told to callers."""
        return {one.name: plain(getattr(self, one.name)) for one in fields(JobStatus)}

    def event(self) -> bytes:
        """Where it stands, as a server-sent event: `progress`, or how it ended."""
        ends = {"done": {"result": self.result}, "failed": self.problem, "cancelled": {}}
        name, data = (self.status if self.ended else "progress"), ends.get(self.status)
        shown = to_json(plain(data if self.ended else self.progress))
        return f"id: {self.told}\nevent: {name}\ndata: ".encode() + shown + b"\n\n"

    def progressed(self, what: str, done: int, total: int) -> None:
        """Called by the work; raises Cancelled to stop it."""
        if self.stopping:
            raise Cancelled
        now = time.monotonic()
        changed = self.progress is None or self.progress.what != what or done == total
        if changed or now - self.last_told >= PROGRESS_EVERY_S:
            self.last_told, self.progress = now, JobProgress(what, done, total)
            self.told += 1

    def end(self, status: Status) -> None:
        """Say how it ended; only the first end counts."""
        if not self.ended:
            self.ended_at = datetime.now(UTC)
            self.status = status
            self.told += 1

    def finished(self, begun: Future[Any]) -> None:
        """Called when its work ended, however it did."""
        error = Unavailable(STOPPING) if begun.cancelled() else begun.exception()
        if isinstance(error, Cancelled):
            self.end("cancelled")
        elif error is not None:
            if not (told := isinstance(error, HadesError)):
                _log.error("The job %s (%s) failed", self.id, self.kind, exc_info=error)
            self.problem = JobProblem(code_of(error), str(error) if told else FAILED_INSIDE)
            self.end("failed")
        else:
            self.result = begun.result()
            self.end("done")


class Jobs:
    """The jobs of one executor."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._jobs: dict[str, Job] = {}
        self._watching: Counter[str] = Counter()
        self.heartbeat_s = HEARTBEAT_S

    def refuse_more(self, who: str, space: str | None = None, source: str | None = None) -> None:
        """Overloaded when too many are unfinished; Conflict when this source is among them."""
        unfinished = [job for job in self._jobs.values() if not job.ended]
        theirs = sum(job.by == who for job in unfinished)
        if theirs >= UNFINISHED_OF_ONE_AT_MOST or len(unfinished) >= UNFINISHED_AT_MOST:
            raise Overloaded("Too many jobs are unfinished: come back when one is done.")
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
        key: str | None = None,
        role: Role = Role.WRITER,
        afterwards: Callable[[], None] = lambda: None,
    ) -> Job:
        """Begin work; `afterwards` is called in a thread when it ended, however it did.

        Where there is no room for it nothing is begun: Overloaded.
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

        begun = self._executor.begin(caller, space, run, job.progressed, role=role)
        # When the server stops, what still waits never runs.
        begun.add_done_callback(lambda future: afterwards() if future.cancelled() else None)
        begun.add_done_callback(job.finished)
        self._jobs[job.id] = job
        ended = [one.id for one in self._jobs.values() if one.ended]
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
        found = self.of_space(space)
        return [job for job in found if job.by == caller.name or caller.role >= Role.ADMIN]

    def forget(self, space: str) -> None:
        """Forget the jobs of a space that is gone, and stop those that run."""
        for job in self.of_space(space):
            self.cancel(job)
            del self._jobs[job.id]

    def begun_with(self, key: str | None, caller: Caller, space: str) -> Job | None:
        """The job a caller began with this key: sent again, it is not begun again."""
        theirs = (job for job in self.of_space(space) if job.by == caller.name)
        return None if key is None else next((job for job in theirs if job.key == key), None)

    def get(self, caller: Caller, space: str, id: str) -> Job:
        """Return a job that the caller may see; else raise NotFound."""
        for job in self.seen_by(caller, space):
            if job.id == id:
                return job
        raise NotFound(
            f"You have no job {id!r}. It may have ended long ago, or before the last server start."
        )

    def cancel(self, job: Job) -> None:
        """Let a job stop at its next step; one that ended stays as it is."""
        job.stopping = True
        if job.status == "waiting":
            job.end("cancelled")

    def counted(self) -> dict[str, int]:
        """How many jobs there are, by status."""
        return dict(Counter(job.status for job in list(self._jobs.values())))

    def watch(self, job: Job, after: int, who: str) -> AsyncIterator[bytes]:
        """What a job tells after its event `after`; Overloaded when too many watch already."""
        watching = self._watching
        if watching[who] >= WATCHERS_OF_ONE_AT_MOST or watching.total() >= WATCHERS_AT_MOST:
            raise Overloaded("Too many watch jobs: come back when one is done.")
        return self._events(job, after, who)

    async def _events(self, job: Job, after: int, who: str) -> AsyncIterator[bytes]:
        """Where a job stands whenever that is news, and now and then that it is still there."""
        self._watching[who] += 1
        quiet_since = time.monotonic()
        try:
            yield b": here\n\n"
            while True:
                is_last = job.ended or self._executor.leaving
                if job.told > after:
                    after, quiet_since = job.told, time.monotonic()
                    yield job.event()
                if is_last:
                    return
                await asyncio.sleep(LOOK_EVERY_S)
                if time.monotonic() - quiet_since >= self.heartbeat_s:
                    quiet_since = time.monotonic()
                    yield b": still here\n\n"
        finally:
            self._watching[who] -= 1
