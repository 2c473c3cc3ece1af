"""The executor: runs calls to the memory in threads.

The core is synchronous, so calls run in threads: a few that read, through a memory opened
for reading only, one that writes, and a few for long work. Each kind has a bounded pool of
its own, so that readers cannot keep writers out.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from hades.domain.answer import Answer, Recall
from hades.domain.times import Clock, system_clock
from hades.errors import Refused, Unavailable
from hades.ingest.turn import turn
from hades.memory import Memory, View
from hades.opening import open as open_memory
from hades.operations.proposals import list_refused
from hades.serve.auth.caller import Caller, Role, record_call
from hades.serve.pool import STOPPING, Pool
from hades.settings import load_settings
from hades.store.faults import Busy
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
MODEL_CALLS = 8
"""Calls that wait for a language model do little else: more of them than cores."""
WORK_WAITS_S = 120.0
"""How long work waits for other processes' writes."""
TIMEOUT_S = 30.0
INDEXING_S = 5.0
"""How long a question waits for what was just written; then it is answered without."""
RETRY_FIRST_S = 0.05
RETRY_MOST_S = 1.0


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
        if writing is not None:
            reading._store.uses = writing._store.uses  # what questions used is written there
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
            options["uploads"] = Path(f"{writing._store.database.files}.uploads")
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
        """Do something with the memory as of a time, for reading.

        `fresh`: what was written before is indexed first, so that a question finds it.
        `patient`: it may take long, and is done beside the short ones.
        `model`: it calls a language model, which not everybody may.
        Without a space it is for what is the same in all of them, such as their list.
        """
        record_call(space, writes=False)
        caller.require(Role[load_settings().model_role.upper()] if model else role, space)

        def run(checked: bool) -> Result:
            memory = self._reading if space is None else self._reading.in_space(space)
            if checked:
                self._refuse_behind(memory)
            if valid is None and known is None:
                return call(memory)
            return call(memory.at(valid, known=known))

        pool = self.pools["model" if model else "export" if patient else "read"]
        timeout_s = None if patient or model else self._timeout_s
        with suppress(_NotIndexed):
            checked = fresh and space is not None and self._writing is not None
            return await pool.call(caller.name, lambda: run(checked), timeout_s)
        with suppress(Unavailable):  # a question waits, so not at any price
            await self.pools["index"].finished(self._index(space or ""), INDEXING_S)
        return await pool.call(caller.name, lambda: run(False), timeout_s)

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

        return await self.pools["write"].call(caller.name, run, self._timeout_s)

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
        begun = self.begin(caller, space, call, on_progress, role=role)
        return await self.pools["work"].finished(begun, None)

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

        return self.pools["work"].submit(caller.name, run)

    def _refuse_behind(self, memory: Memory) -> None:
        """Raise _NotIndexed if a question must wait; else index the rest in the background."""
        if memory._is_behind():
            raise _NotIndexed
        self._index_in_turns(memory)

    def _index_in_turns(self, memory: Memory) -> None:
        """Start the background indexing, unless it runs or nothing of this space waits."""
        idle = self._embedding is None or self._embedding.done()
        if idle and (memory.pending or memory._vectors_missing()):
            writing, told = self._written(), self._stopping(lambda *_: None)
            self._embedding = self.pools["embed"].submit(
                memory.space, lambda: writing.in_space(memory.space)._index_in_turns(told)
            )

    def index_now(self, space: str) -> None:
        """Index what was written, while a thread that reads waits; not at any price."""
        if self._writing is not None:
            with suppress(Unavailable, TimeoutError):
                self._index(space).result(INDEXING_S)

    def _index(self, space: str) -> Future[None]:
        writing = self._written()

        def index() -> None:
            memory = writing.in_space(space)
            memory._index_share()
            self._index_in_turns(memory)

        return self.pools["index"].submit(space, index)

    def consolidate(self) -> int:
        """Make the summaries of every space; how many were made.

        One process does it at a time: another waits, and finds nothing left.
        """
        writing, told = self._written(), self._stopping(lambda *_: None)
        from hades.index.indexes import usable  # with numpy, which a start does without

        folder = usable(writing._store.index_folder)
        with writing._patient(WORK_WAITS_S), turn(folder, "consolidating", told):
            spaces = [writing.in_space(one.name, actor="hades") for one in writing.spaces()]
            return sum(len(space.consolidate(on_progress=told).made) for space in spaces)

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
        for pool in self.pools.values():
            pool.refuse()
        for pool in self.pools.values():
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
        except Refused as error:  # whatever else was to be written with it is undone by now
            list_refused(memory, error)
            raise
        except Unavailable as error:
            if not isinstance(error, Busy) or time.monotonic() + pause_s > until:
                raise
            if any(one.number > before and one.actor == actor for one in memory.log(100)):
                raise  # a part of it is done: doing that again could do something else
        time.sleep(pause_s * random.uniform(0.5, 1.0))
        pause_s = min(2 * pause_s, RETRY_MOST_S)
