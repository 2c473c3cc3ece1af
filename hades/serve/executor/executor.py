"""The desk: where calls are handed in, and the threads that carry them to the memory.

The core is synchronous, so calls run in threads: a few that read, through a memory opened
for reading only, one that writes, and a few for long work. Each kind has a bounded line of
its own, so that readers cannot keep writers out, and a circuit breaker of its own.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, get_args

from hades.domain.answer import Answer, Recall
from hades.domain.times import Clock, system_clock
from hades.errors import Unavailable
from hades.memory import Memory, View
from hades.memory import open as open_memory
from hades.serve.auth.call_record import note
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor.breaker import Breaker, State
from hades.serve.executor.holds import Holds, Kind
from hades.serve.executor.pool import STOPPING, Line, Overloaded, TimedOut
from hades.store.faults import is_busy
from hades.store.records import Progress

__all__ = ["Executor", "Overloaded", "Standing", "TimedOut"]

Result = TypeVar("Result")
Found = TypeVar("Found", Recall, Answer)

READERS = 2
"""More threads than cores only take turns at the interpreter."""
WAITING = 64
WORKERS = 2
WORK_WAITING = 16
EXPORTERS = 1
EXPORTS_WAITING = 8
"""Reads that take long have a line of their own: readers cannot keep work out."""
WORK_WAITS_S = 120.0
"""How long work waits with a write for others': twice as long as a batch may last."""
TIMEOUT_S = 30.0
INDEXING_S = 5.0
"""How long a question waits for what was just written; then it is answered without."""
RETRY_FIRST_S = 0.05
RETRY_MOST_S = 1.0


@dataclass(frozen=True, slots=True)
class Standing:
    """How busy a desk is; each by kind of call."""

    waiting: Mapping[str, int]
    """Calls in line, by `read`, `write`, `work`, `export`."""
    running: Mapping[str, int]
    """Calls that have a thread."""
    refused: Mapping[str, int]
    """Calls turned away since the start."""
    holds: Mapping[str, int]
    """Open `batch` and `snapshot` holds."""
    breaker: Mapping[str, State]
    """The circuit breakers of `read` and `write`."""


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
        timeout_s: float | None = TIMEOUT_S,
        uploads: Path | None = None,
    ) -> None:
        self.uploads = uploads
        """The folder for files that are sent; None: none are taken."""
        self._reading = reading
        self._writing = writing
        self._timeout_s = timeout_s
        self._read = Line("read", readers, waiting, Breaker())
        self._write = Line("write", 1, waiting, Breaker())
        self._work = Line("work", WORKERS, WORK_WAITING)
        self._export = Line("export", EXPORTERS, EXPORTS_WAITING)
        self._index = Line("index", 1, waiting)
        self._indexing: dict[str, asyncio.Task[None]] = {}
        self.holds = Holds(self._write)
        self.leaving = False
        """Set when the server was told to stop: long work ends, and so should long answers."""
        self.on_recall: Callable[[Recall, str], object] | None = None
        """Who is told of every answer, in the thread that found it."""

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        read_only: bool = False,
        encoder: str | None = None,
        clock: Clock = system_clock,
        readers: int = READERS,
        waiting: int = WAITING,
        timeout_s: float | None = TIMEOUT_S,
        busy_timeout_s: float | None = None,
    ) -> Executor:
        """Open a memory to serve it; made when there is none, unless it is only read."""
        writing = None
        if not read_only:
            writing = open_memory(path, encoder=encoder, clock=clock, busy_timeout_s=busy_timeout_s)
        reading = open_memory(path, encoder=encoder, clock=clock, read_only=True)
        return cls(
            reading,
            writing,
            readers=readers,
            waiting=waiting,
            timeout_s=timeout_s,
            uploads=None if read_only else Path(f"{Path(path).expanduser()}.uploads"),
        )

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written here, whoever asks."""
        return self._writing is None

    @property
    def memory(self) -> Memory:
        """The memory it reads, for whoever watches over the server; never for a caller."""
        return self._reading

    def told(self, found: Found) -> Found:
        """An answer, after whoever counts and traces answers was told of it."""
        if self.on_recall is not None:
            recall = found.recall if isinstance(found, Answer) else found
            self.on_recall(recall, recall.space)
        return found

    def standing(self) -> Standing:
        """How busy it is now."""
        lines = {
            "read": self._read,
            "write": self._write,
            "work": self._work,
            "export": self._export,
        }
        return Standing(
            waiting={name: line.waiting for name, line in lines.items()},
            running={name: line.running for name, line in lines.items()},
            refused={name: line.refused for name, line in lines.items()},
            holds={kind: self.holds.count(kind) for kind in get_args(Kind)},
            breaker={
                name: line.breaker.state for name, line in lines.items() if line.breaker is not None
            },
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
        role: Role = Role.READER,
        hold: str | None = None,
        patient: bool = False,
    ) -> Result:
        """Do something with the memory as of a time, for reading.

        `fresh`: what was written before is indexed first, so that a question finds it.
        `hold`: it is done inside that batch or snapshot.
        `patient`: it may take long, and is done beside the short ones.
        Without a space it is for what is the same in all of them, such as their list.
        """
        note(space, writes=False)
        caller.require(role, space)

        def look(memory: Memory) -> Result:
            if valid is None and known is None:
                return call(memory)
            return call(memory.at(valid, known=known))

        if hold is not None and space is not None:
            return await self.holds.call(
                caller, hold, space, look, writes=False, timeout_s=self._timeout_s
            )

        def run(checked: bool) -> Result:
            memory = self._reading if space is None else self._reading.in_space(space)
            if checked and memory.pending:
                raise _NotIndexed
            return look(memory)

        line, timeout_s = (self._export, None) if patient else (self._read, self._timeout_s)
        with suppress(_NotIndexed):
            checked = fresh and space is not None and self._writing is not None
            return await line.call(lambda: run(checked), timeout_s)
        await self._indexed(space or "")
        return await line.call(lambda: run(False), timeout_s)

    def check_reader(self, caller: Caller, space: str) -> None:
        """Denied unless they may read there."""
        note(space, writes=False)
        caller.require(Role.READER, space)

    def read_at_once(self, caller: Caller, space: str, call: Callable[[View], Result]) -> Result:
        """Do something short for reading, in the caller's thread.

        Only for what takes some ten microseconds, such as one look-up by name: the way to a
        reading thread and back takes ten times that, and everybody waits for it.
        """
        self.check_reader(caller, space)
        return self._read.at_once(lambda: call(self._reading.in_space(space)))

    async def write(
        self,
        caller: Caller,
        space: str | None,
        call: Callable[[Memory], Result],
        *,
        role: Role = Role.WRITER,
        hold: str | None = None,
    ) -> Result:
        """Do something that writes; it is on disk when this returns, or with its hold's commit."""
        note(space, writes=True)
        caller.require(role, space)
        writing = self._written()
        if hold is not None and space is not None:
            return await self.holds.call(
                caller, hold, space, call, writes=True, timeout_s=self._timeout_s
            )
        until = time.monotonic() + (self._timeout_s or TIMEOUT_S)

        def run() -> Result:
            return _retried(call, _memory(writing, space, caller), caller.name, until)

        return await self._write.call(run, self._timeout_s)

    async def work(
        self,
        caller: Caller,
        space: str | None,
        call: Callable[[Memory, Progress], Result],
        on_progress: Progress,
        *,
        role: Role = Role.WRITER,
    ) -> Result:
        """Do something long beside the others. `on_progress` stops it by raising."""
        begun = self.begin(caller, space, call, on_progress, role=role)
        return await self._work.finished(begun, None)

    def begin(
        self,
        caller: Caller,
        space: str | None,
        call: Callable[[Memory, Progress], Result],
        on_progress: Progress,
        *,
        role: Role = Role.WRITER,
    ) -> Future[Result]:
        """The same, put in line now; Overloaded when there is no room."""
        note(space, writes=True)
        caller.require(role, space)
        writing = self._written()

        def told(what: str, done: int, total: int) -> None:
            if self.leaving:
                raise Unavailable(STOPPING)
            on_progress(what, done, total)

        def run() -> Result:
            with writing._patient(WORK_WAITS_S):
                return call(_memory(writing, space, caller), told)

        return self._work.submit(run)

    async def finished(self, begun: Future[Result]) -> Result:
        """What became of work that was put in line."""
        return await self._work.finished(begun, None)

    async def index(self, caller: Caller, space: str, on_progress: Progress) -> None:
        """Index what was written, for somebody who is about to ask. `on_progress` stops it."""
        note(space, writes=False)
        caller.require(Role.READER, space)
        writing = self._written()

        def told(what: str, done: int, total: int) -> None:
            if self.leaving:
                raise Unavailable(STOPPING)
            on_progress(what, done, total)

        # A batch keeps all other writes out: they would only wait for it.
        if not self.holds.count("batch"):
            await self._work.call(lambda: writing.in_space(space).index(told), None)

    async def hold(self, caller: Caller, space: str, kind: Kind) -> str:
        """Begin a batch or a snapshot that lasts over several calls; its id."""
        note(space, writes=kind == "batch")
        caller.require(Role.WRITER if kind == "batch" else Role.READER, space)
        memory = self._written() if kind == "batch" else self._reading
        return await self.holds.open(caller, kind, space, memory, self._timeout_s)

    async def release(self, caller: Caller, hold: str, *, commit: bool) -> None:
        """End a hold. With `commit` a batch is on disk when this returns; else it is undone."""
        note(None, writes=commit)
        await self.holds.release(caller, hold, commit=commit, timeout_s=self._timeout_s)

    def warm(self) -> dict[str, float]:
        """Do beforehand what a first question would wait for; the seconds of each part."""
        return self._reading.warm()

    def follow_encoder(self) -> None:
        """Ask with the encoder the memory remembers, after it moved to another."""
        self._reading._follow_encoder()
        if self._writing is not None:
            self._writing._follow_encoder()

    def leave(self) -> None:
        """Let long work and holds left alone end; the rest is still served until `close`."""
        self.leaving = True
        self.holds.leave()

    def close(self) -> None:
        """Finish what is under way, refuse the rest, then let go of the file."""
        self.leave()
        lines = (self._read, self._write, self._work, self._export, self._index)
        for line in lines:
            line.refuse()
        self.holds.close()
        for line in lines:
            line.close()
        self._reading.close()
        if self._writing is not None:
            self._writing.close()

    def _written(self) -> Memory:
        if self._writing is None:
            raise Unavailable("This server only reads.")
        return self._writing

    async def _indexed(self, space: str) -> None:
        """Have what was written indexed; not at any price, since a question waits."""
        with suppress(TimeoutError, Unavailable):
            async with asyncio.timeout(INDEXING_S):
                # What is being indexed may have begun before the write that is asked for.
                if (under_way := self._indexing.get(space)) is not None:
                    await asyncio.shield(under_way)
                if (again := self._indexing.get(space)) is None:
                    again = asyncio.create_task(self._index_once(space))
                    again.add_done_callback(lambda task: task.cancelled() or task.exception())
                    self._indexing[space] = again
                await asyncio.shield(again)

    async def _index_once(self, space: str) -> None:
        writing = self._written()
        try:
            # A batch keeps all other writes out: they would only wait for it.
            if not self.holds.count("batch"):
                await self._index.call(lambda: writing.in_space(space).index(), None)
        finally:
            self._indexing.pop(space, None)


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
