"""The executor: runs calls to the memory in threads.

The core is synchronous, so calls run in threads: a few read, through a memory opened
read-only, one writes, and a few do long work. Each kind has its own bounded pool, so that
many reads cannot block a write.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from hades.domain.answer import Answer, Recall
from hades.domain.times import Clock, system_clock
from hades.domain.topics import Space
from hades.errors import HadesError, Refused, Unavailable
from hades.ingest.folder_lock import folder_lock
from hades.memory import Memory, View
from hades.opening import open as open_memory
from hades.operations.indexing import (
    index_fairly,
    index_share,
    is_behind,
    vectors_missing,
)
from hades.operations.proposals import list_refused
from hades.serve.auth.caller import Caller, Role, record_call
from hades.serve.pool import STOPPING, Pool
from hades.settings import load_settings
from hades.store.database import Busy
from hades.store.records import Progress

Result = TypeVar("Result")
Work = Callable[[Memory, Progress], Result]
"""Long work. It calls its progress function regularly, and stops when that raises."""

READERS = 2
"""How many threads read. More would not be faster, since only one thread at a time runs Python
code."""
WAITING = 64
WORKERS = 2
WORK_WAITING = 16
EXPORTERS = 1
EXPORTS_WAITING = 8
"""How many long reads may wait. They have their own pool and block neither short reads nor long
work."""
MODEL_CALLS = 8
"""Threads that mostly wait for a language model, so there may be more of them than cores."""
WORK_WAITS_S = 120.0
"""How long background work waits for the writes of other processes."""
TIMEOUT_S = 30.0
INDEXING_S = 5.0
"""How long a question waits for new writes to be indexed; then it is answered without them."""
QUIET_S = 0.05
"""Seconds without a write to a space before its new notes are indexed. Indexing after every single
note would slow down a series of writes."""
RETRY_FIRST_S = 0.05
RETRY_MOST_S = 1.0


class _NotIndexed(Exception):
    """A question must wait until the space is indexed."""


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
        """The folder for uploaded files; None: uploads are refused."""
        self.memory = reading
        """The memory opened for reading, for telemetry; callers must go through `read`."""
        self._writing = writing
        if writing is not None:
            # The reading memory cannot write its records of use: the writing one does it.
            reading.inside.store.uses = writing.inside.store.uses
            reading.inside.store.query_log = writing.inside.store.query_log
        self._timeout_s = timeout_s
        self.pools = {
            "read": Pool("read", readers, waiting),
            "write": Pool("write", 1, waiting),
            "work": Pool("work", WORKERS, WORK_WAITING, keeps=True),
            "export": Pool("export", EXPORTERS, EXPORTS_WAITING),
            "model": Pool("model", MODEL_CALLS, waiting),
            "index": Pool("index", 1, waiting),
            "embed": Pool("embed", 1, waiting),
        }
        self._embedding: Future[None] | None = None
        self._quiet: dict[str, asyncio.TimerHandle] = {}
        """The timers that start indexing ahead, by space."""
        self.leaving = False
        """Set when the server is stopping: long work and streamed answers end."""
        self.on_recall: Callable[[Recall, str], object] | None = None
        """Called with every recall and its space, in the thread that computed it."""

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
        """Open a memory to serve it; unless `read_only`, create it if it does not exist."""
        writing = None
        if not read_only:
            writing = open_memory(path, encoder=encoder, clock=clock, busy_timeout_s=busy_timeout_s)
            options["uploads"] = Path(f"{writing.inside.store.database.files}.uploads")
        if writing is not None and type(writing) is not Memory:
            return cls(writing, writing, **options)  # a library opens its volumes only once
        reading = open_memory(path, encoder=encoder, clock=clock, read_only=True)
        return cls(reading, writing, **options)

    @property
    def read_only(self) -> bool:
        """Whether writes are refused for every caller."""
        return self._writing is None

    def observed(self, result: Result) -> Result:
        """Call `on_recall` if the result is a recall or an answer, and return the result."""
        recall = result.recall if isinstance(result, Answer) else result
        if self.on_recall is not None and isinstance(recall, Recall):
            self.on_recall(recall, recall.space)
        return result

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
        model: bool = False,
        role: Role = Role.READER,
    ) -> Result:
        """Run a function that only reads, in a thread, and return its result.

        `valid` and `known` are the time of the view; None: now. `fresh`: index earlier writes
        first, so that a question finds them. `patient`: the call may take long; it runs in the pool
        for exports, without a timeout. `model`: it calls a language model, so the caller needs the
        role of the setting `model_role`. Pass no space for a call that concerns all spaces, such as
        listing them.
        """
        record_call(space, writes=False)
        caller.require(Role[load_settings().model_role.upper()] if model else role, space)

        def run(checked: bool) -> Result:
            memory = self.memory
            if space is not None:
                memory = memory.in_space(space, actor=caller.name)
            if checked:
                if is_behind(memory.inside):
                    raise _NotIndexed
                self._index_fairly(memory)
            if valid is None and known is None:
                return call(memory)
            return call(memory.at(valid, known=known))

        pool = self.pools["model" if model else "export" if patient else "read"]
        timeout_s = None if patient or model else self._timeout_s
        with suppress(_NotIndexed):
            checked = fresh and space is not None and self._writing is not None
            return await pool.call(caller.name, lambda: run(checked), timeout_s)
        with suppress(Unavailable):  # if indexing takes too long, answer without it
            await self.pools["index"].finished(self._index(space or ""), INDEXING_S)
        return await pool.call(caller.name, lambda: run(False), timeout_s)

    async def spaces(self, caller: Caller) -> list[Space]:
        """Return the spaces that a caller may use."""
        spaces = await self.read(caller, None, lambda view: view.spaces())
        return [space for space in spaces if caller.sees(space.name)]

    async def write(
        self,
        caller: Caller,
        space: str | None,
        call: Callable[[Memory], Result],
        *,
        role: Role = Role.WRITER,
    ) -> Result:
        """Run a function that writes and return its result; by then the write is on disk."""
        record_call(space, writes=True)
        caller.require(role, space)
        writing = self._writable()
        until = time.monotonic() + self._timeout_s

        def run() -> Result:
            return _retried(call, _memory(writing, space, caller), caller.name, until)

        result = await self.pools["write"].call(caller.name, run, self._timeout_s)
        if space is not None:
            self._index_when_quiet(space)
        return result

    async def work(
        self,
        caller: Caller,
        space: str | None,
        call: Work[Result],
        on_progress: Progress,
        *,
        role: Role = Role.WRITER,
    ) -> Result:
        """Run long work in its own pool and wait for it. `on_progress` stops it by raising."""
        future = self.begin(caller, space, call, on_progress, role=role)
        return await self.pools["work"].finished(future, None)

    def begin(
        self,
        caller: Caller,
        space: str | None,
        call: Work[Result],
        on_progress: Progress,
        *,
        role: Role = Role.WRITER,
    ) -> Future[Result]:
        """Queue long work without waiting for it; raise Overloaded if the queue is full."""
        record_call(space, writes=True)
        caller.require(role, space)
        writing = self._writable()

        def run() -> Result:
            with writing.inside.store.patient(WORK_WAITS_S):
                return call(_memory(writing, space, caller), self._stopping(on_progress))

        return self.pools["work"].submit(caller.name, run)

    def _index_fairly(self, memory: Memory) -> None:
        """Start background indexing, unless it is running or nothing of this space waits."""
        idle = self._embedding is None or self._embedding.done()
        if idle and (memory.pending or vectors_missing(memory.inside)):
            writing = self._writable()
            report = self._stopping(lambda *_: None)
            self._embedding = self.pools["embed"].submit(
                memory.space, lambda: index_fairly(writing.in_space(memory.space).inside, report)
            )

    def index_now(self, space: str) -> None:
        """Start indexing new writes, from a reading thread; wait for it up to `INDEXING_S`."""
        if self._writing is not None:
            with suppress(Unavailable, TimeoutError):
                self._index(space).result(INDEXING_S)

    def _index(self, space: str) -> Future[None]:
        writing = self._writable()

        def index() -> None:
            memory = writing.in_space(space)
            index_share(memory.inside)
            self._index_fairly(memory)

        return self.pools["index"].submit(space, index)

    def _index_when_quiet(self, space: str) -> None:
        """Index a space after QUIET_S seconds without a write; each new write restarts the wait.

        So new notes are already indexed when the next question comes.
        """

        def start() -> None:
            del self._quiet[space]
            # If the server is stopping or its queue is full, the next question indexes the notes.
            with suppress(Unavailable):
                self.pools["index"].submit(space, lambda: self._index_ahead(space))

        if space in self._quiet:
            self._quiet[space].cancel()
        self._quiet[space] = asyncio.get_running_loop().call_later(QUIET_S, start)

    def _index_ahead(self, space: str) -> None:
        """Index a space and load its new indexes, but only if there were questions about it."""
        reading = self.memory.in_space(space).inside
        if reading.engine.is_loaded(reading.space_id):
            index_share(self._writable().in_space(space).inside)
            with reading.query_context():
                pass

    def for_every_space(self, work: Work[Any]) -> None:
        """Do long work in every space, even if it fails in some of them.

        One process does this at a time; the next one waits, and finds nothing left to do.
        """
        writing = self._writable()
        report = self._stopping(lambda *_: None)
        from hades.index.indexes import usable  # it loads numpy, which would slow the start

        # not the index folder itself, which embedding may lock during this work
        folder = usable(usable(writing.inside.store.index_folder) / "upkeep")
        with writing.inside.store.patient(WORK_WAITS_S), folder_lock(folder, "upkeep", report):
            errors = list[HadesError]()
            for space in writing.spaces():
                try:
                    work(writing.in_space(space.name, actor="hades"), report)
                except HadesError as error:
                    errors.append(error)
            if errors:
                raise errors[0]

    def follow_encoder(self) -> None:
        """Use the encoder that the memory stores; a reembed, import or restore may change it."""
        self.memory.inside.follow_encoder()
        if self._writing is not None:
            self._writing.inside.follow_encoder()

    def leave(self) -> None:
        """Stop long work at its next step; other calls are served until `close`."""
        self.leaving = True

    def close(self) -> None:
        """Finish the running calls, refuse the waiting ones, then close the memory."""
        self.leave()
        for pool in self.pools.values():
            pool.refuse()
        for pool in self.pools.values():
            pool.close()
        self.memory.close()
        if self._writing is not None:
            self._writing.close()

    def _writable(self) -> Memory:
        if self._writing is None:
            raise Unavailable("This server is read-only.")
        return self._writing

    def _stopping(self, on_progress: Progress) -> Progress:
        """Wrap a progress function so that it raises, to stop the work, when the server stops."""

        def report(what: str, done: int, total: int) -> None:
            if self.leaving:
                raise Unavailable(STOPPING)
            on_progress(what, done, total)

        return report


def _memory(writing: Memory, space: str | None, caller: Caller) -> Memory:
    return writing.in_space(writing.space if space is None else space, actor=caller.name)


def _retried(call: Callable[[Memory], Result], memory: Memory, actor: str, until: float) -> Result:
    """Call a function; while another process writes, retry until the monotonic time `until`.

    It is not retried if it has committed a part. A note that the write gate refused is listed.
    """
    pause_s = RETRY_FIRST_S
    while True:
        before = memory.change
        try:
            return call(memory)
        except Refused as error:  # the transaction is rolled back, so this can be written now
            list_refused(memory.inside, error)
            raise
        except Unavailable as error:
            if not isinstance(error, Busy) or time.monotonic() + pause_s > until:
                raise
            if any(change.number > before and change.actor == actor for change in memory.log(100)):
                raise  # a part is already committed, and repeating it might not be harmless
        time.sleep(pause_s * random.uniform(0.5, 1.0))
        pause_s = min(2 * pause_s, RETRY_MOST_S)
