"""The executor: runs calls to the memory in threads.

The core is synchronous, so calls run in threads: a few that read, through a memory opened
for reading only, one that writes, and a few for long work. Each kind has a bounded pool of
its own, so that readers cannot keep writers out.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hades.domain.answer import Answer, Recall
from hades.domain.times import Clock, system_clock
from hades.errors import Unavailable
from hades.memory import Memory, View
from hades.memory import open as open_memory
from hades.serve.auth.caller import Caller, Role, record_call
from hades.store.faults import is_busy
from hades.store.records import Progress

Result = TypeVar("Result")
Work = Callable[[Memory, Progress], Result]
"""Long work: it tells its progress, and stops when that raises."""

READERS = 2
"""More threads than cores only take turns at the interpreter."""
WAITING = 64
WORKERS = 2
WORK_WAITING = 16
EXPORTERS = 1
EXPORTS_WAITING = 8
"""Reads that take long have a pool of their own: readers cannot keep work out."""
WORK_WAITS_S = 120.0
"""How long work waits for other processes' writes."""
TIMEOUT_S = 30.0
INDEXING_S = 5.0
"""How long a question waits for what was just written; then it is answered without."""
RETRY_FIRST_S = 0.05
RETRY_MOST_S = 1.0
STOPPING = "The server is stopping: nothing was done; ask again in a moment."


class Overloaded(Unavailable):
    """Too many calls are waiting: nothing was done; come back after `retry_after_s`."""

    retry_after_s = 1


class TimedOut(Unavailable):
    """It took too long to wait for. It goes on by itself, and a write may yet be done."""

    status = 504


class Pool:
    """A thread pool with a bounded queue.

    A call that does not fit is refused at once, so that those inside are served in time. A
    call that takes too long is given up on by its caller, never stopped: its thread finishes
    by itself, and it counts until then.
    """

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._threads = ThreadPoolExecutor(threads, f"hades-{name}")
        self._at_most = threads + waiting
        self._lock = threading.Lock()
        self._inside = 0
        self.running = 0
        """How many calls have a thread, those nobody waits for any more included."""
        self.refused = 0
        """How many calls were refused since the start."""
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many calls wait for a thread."""
        return max(0, self._inside - self.running)

    async def call(self, run: Callable[[], Result], timeout_s: float | None) -> Result:
        """Run a function in a thread of this pool."""
        return await self.finished(self.submit(run), timeout_s)

    async def finished(self, job: Future[Result], timeout_s: float | None) -> Result:
        """Wait for what `submit` began."""
        try:
            async with asyncio.timeout(timeout_s) as limit:
                return await asyncio.wrap_future(job)
        except TimeoutError:
            if not limit.expired():
                raise
            raise self._too_late(job) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and job.cancelled() and not (task and task.cancelling()):
                raise Unavailable(STOPPING) from None
            raise

    def submit(self, run: Callable[[], Result]) -> Future[Result]:
        """Queue a call; Overloaded when the queue is full."""
        with self._lock:
            if self._closed:
                raise Unavailable(STOPPING)
            if self._inside >= self._at_most:
                self.refused += 1
                raise Overloaded("Too many calls are waiting: come back in a second.")
            self._inside += 1
            context = contextvars.copy_context()
            job = self._threads.submit(context.run, self._counted, run)
        job.add_done_callback(self._left)
        return job

    def refuse(self) -> None:
        """Refuse every call from now on."""
        with self._lock:
            self._closed = True

    def close(self) -> None:
        """Finish what runs, refuse what waits."""
        self.refuse()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _counted(self, run: Callable[[], Result]) -> Result:
        with self._lock:
            self.running += 1
        try:
            return run()
        finally:
            with self._lock:
                self.running -= 1

    def _left(self, _job: Future[Any]) -> None:
        with self._lock:
            self._inside -= 1

    def _too_late(self, job: Future[Any]) -> Unavailable:
        if job.cancel() or job.cancelled():
            with self._lock:
                self.refused += 1
            return Overloaded("Its turn did not come in time, so nothing was done: try again.")
        return TimedOut("This takes too long to wait for; it may still be done: look later.")


@dataclass(frozen=True, slots=True)
class ExecutorLoad:
    """How busy an executor is, by pool: `read`, `write`, `work`, `export`, `index`."""

    waiting: Mapping[str, int]
    """Calls that wait for a thread."""
    running: Mapping[str, int]
    """Calls that have a thread."""
    refused: Mapping[str, int]
    """Calls refused since the start."""


class _NotIndexed(Exception):
    """Something of the space waits to be indexed."""


class Executor:
    """One memory, served to many callers at once."""

    def __init__(
        self,
        reading: Memory,
        writing: Memory | None,
        *,
        readers: int = READERS,
        waiting: int = WAITING,
        timeout_s: float = TIMEOUT_S,
        uploads: Path | None = None,
    ) -> None:
        self.uploads = uploads
        """The folder for files that are sent; None: none are taken."""
        self._reading = reading
        self._writing = writing
        self._timeout_s = timeout_s
        self._pools = {
            "read": Pool("read", readers, waiting),
            "write": Pool("write", 1, waiting),
            "work": Pool("work", WORKERS, WORK_WAITING),
            "export": Pool("export", EXPORTERS, EXPORTS_WAITING),
            "index": Pool("index", 1, waiting),
        }
        self.leaving = False
        """Set when the server was told to stop: long work ends, and so should long answers."""
        self.on_recall: Callable[[Recall, str], object] | None = None
        """Called with every answer, in the thread that found it."""

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        read_only: bool = False,
        encoder: str | None = None,
        clock: Clock = system_clock,
        busy_timeout_s: float | None = None,
        **options: Any,
    ) -> Executor:
        """Open a memory to serve it; made when there is none, unless it is only read."""
        writing = None
        if not read_only:
            writing = open_memory(path, encoder=encoder, clock=clock, busy_timeout_s=busy_timeout_s)
            options["uploads"] = Path(f"{writing._store.database.path}.uploads")
        reading = open_memory(path, encoder=encoder, clock=clock, read_only=True)
        return cls(reading, writing, **options)

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written here, whoever asks."""
        return self._writing is None

    @property
    def memory(self) -> Memory:
        """The memory it reads, for telemetry; never for a caller."""
        return self._reading

    def told(self, found: Result) -> Result:
        """Pass a result on, after telling `on_recall` of it where it is an answer."""
        recall = found.recall if isinstance(found, Answer) else found
        if self.on_recall is not None and isinstance(recall, Recall):
            self.on_recall(recall, recall.space)
        return found

    def standing(self) -> ExecutorLoad:
        """How busy it is now."""
        pools = self._pools.items()
        return ExecutorLoad(
            waiting={name: pool.waiting for name, pool in pools},
            running={name: pool.running for name, pool in pools},
            refused={name: pool.refused for name, pool in pools},
        )

    async def read(
        self,
        caller: Caller,
        space: str | None,
        call: Callable[[View], Result],
        *,
        valid: str | None = None,
        known: str | None = None,
        fresh: bool = False,
        patient: bool = False,
        role: Role = Role.READER,
    ) -> Result:
        """Do something with the memory as of a time, for reading.

        `fresh`: what was written before is indexed first, so that a question finds it.
        `patient`: it may take long, and is done beside the short ones.
        Without a space it is for what is the same in all of them, such as their list.
        """
        record_call(space, writes=False)
        caller.require(role, space)

        def run(checked: bool) -> Result:
            memory = self._reading if space is None else self._reading.in_space(space)
            if checked and memory._is_behind():
                raise _NotIndexed
            if valid is None and known is None:
                return call(memory)
            return call(memory.at(valid, known=known))

        pool = self._pools["export" if patient else "read"]
        timeout_s = None if patient else self._timeout_s
        with suppress(_NotIndexed):
            checked = fresh and space is not None and self._writing is not None
            return await pool.call(lambda: run(checked), timeout_s)
        writing = self._written()
        with suppress(Unavailable):  # a question waits, so not at any price
            index = self._pools["index"]
            await index.call(lambda: writing.in_space(space or "").index(), INDEXING_S)
        return await pool.call(lambda: run(False), timeout_s)

    async def write(
        self,
        caller: Caller,
        space: str | None,
        call: Callable[[Memory], Result],
        *,
        role: Role = Role.WRITER,
    ) -> Result:
        """Do something that writes; it is on disk when this returns."""
        record_call(space, writes=True)
        caller.require(role, space)
        writing = self._written()
        until = time.monotonic() + self._timeout_s

        def run() -> Result:
            return _retried(call, _memory(writing, space, caller), caller.name, until)

        return await self._pools["write"].call(run, self._timeout_s)

    async def work(
        self,
        caller: Caller,
        space: str | None,
        call: Work[Result],
        on_progress: Progress,
        *,
        role: Role = Role.WRITER,
    ) -> Result:
        """Do something long beside the others. `on_progress` stops it by raising."""
        return await self.finished(self.begin(caller, space, call, on_progress, role=role))

    def begin(
        self,
        caller: Caller,
        space: str | None,
        call: Work[Result],
        on_progress: Progress,
        *,
        role: Role = Role.WRITER,
    ) -> Future[Result]:
        """Queue the same now; Overloaded when there is no room."""
        record_call(space, writes=True)
        caller.require(role, space)
        writing, told = self._written(), self._stopping(on_progress)

        def run() -> Result:
            with writing._patient(WORK_WAITS_S):
                return call(_memory(writing, space, caller), told)

        return self._pools["work"].submit(run)

    async def finished(self, begun: Future[Result]) -> Result:
        """The result of work that `begin` queued."""
        return await self._pools["work"].finished(begun, None)

    def index_now(self, space: str) -> None:
        """Index what was written, while a thread that reads waits; not at any price."""
        if (writing := self._writing) is not None:
            with suppress(Unavailable, TimeoutError):
                index = self._pools["index"].submit(lambda: writing.in_space(space).index())
                index.result(INDEXING_S)

    async def index(self, caller: Caller, space: str, on_progress: Progress) -> None:
        """Index what was written, for somebody who is about to ask. `on_progress` stops it."""
        record_call(space, writes=False)
        caller.require(Role.READER, space)
        writing, told = self._written(), self._stopping(on_progress)
        await self._pools["work"].call(lambda: writing.in_space(space).index(told), None)

    def warm(self) -> dict[str, float]:
        """Do beforehand what a first question would wait for; the seconds of each part."""
        return self._reading.warm()

    def follow_encoder(self) -> None:
        """Ask with the encoder the memory remembers, after it moved to another."""
        self._reading._follow_encoder()
        if self._writing is not None:
            self._writing._follow_encoder()

    def leave(self) -> None:
        """Let long work end; the rest is still served until `close`."""
        self.leaving = True

    def close(self) -> None:
        """Finish the calls that run, refuse the rest, then close the file."""
        self.leave()
        for pool in self._pools.values():
            pool.refuse()
        for pool in self._pools.values():
            pool.close()
        self._reading.close()
        if self._writing is not None:
            self._writing.close()

    def _written(self) -> Memory:
        if self._writing is None:
            raise Unavailable("This server only reads.")
        return self._writing

    def _stopping(self, on_progress: Progress) -> Progress:
        """The same, but it stops the work when the server stops."""

        def told(what: str, done: int, total: int) -> None:
            if self.leaving:
                raise Unavailable(STOPPING)
            on_progress(what, done, total)

        return told


def _memory(writing: Memory, space: str | None, caller: Caller) -> Memory:
    return writing.in_space(writing.space if space is None else space, actor=caller.name)


def _retried(call: Callable[[Memory], Result], memory: Memory, actor: str, until: float) -> Result:
    """Call, and again when another process was writing, with growing pauses."""
    pause_s = RETRY_FIRST_S
    while True:
        before = memory.change
        try:
            return call(memory)
        except Unavailable as error:
            if not is_busy(error) or time.monotonic() + pause_s > until:
                raise
            if any(one.number > before and one.actor == actor for one in memory.log(100)):
                raise  # a part of it is done: doing that again could do something else
        time.sleep(pause_s * random.uniform(0.5, 1.0))
        pause_s = min(2 * pause_s, RETRY_MOST_S)
