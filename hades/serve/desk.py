"""The desk: where calls are handed in, and the threads that carry them to the memory.

The core is synchronous, so calls run in threads: a few that read, through a memory opened
for reading only, and one that writes. At most `waiting` calls stand in line; one more is
turned away at once with `Overloaded`, so that those inside are served in time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from hades.domain.times import Clock, system_clock
from hades.errors import Unavailable
from hades.memory import Memory
from hades.memory import open as open_memory
from hades.serve.caller import Caller, Role
from hades.store.port import Progress
from hades.view import View

Result = TypeVar("Result")

READERS = 2
"""More threads than cores only take turns at the interpreter."""
WAITING = 64


class Overloaded(Unavailable):
    """Too many calls stand in line: come back after `retry_after_s`."""

    retry_after_s = 1


class Desk:
    """One memory, served to many callers at once."""

    def __init__(
        self,
        reading: Memory,
        writing: Memory | None,
        *,
        readers: int = READERS,
        waiting: int = WAITING,
    ) -> None:
        self._reading = reading
        self._writing = writing
        self._readers = ThreadPoolExecutor(readers, "hades-read")
        self._writer = ThreadPoolExecutor(1, "hades-write")
        self._workers = ThreadPoolExecutor(2, "hades-work")
        self._waiting = waiting
        self._inside = 0

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
    ) -> Desk:
        """Open a memory to serve it; made when there is none, unless it is only read."""
        writing = None if read_only else open_memory(path, encoder=encoder, clock=clock)
        reading = open_memory(path, encoder=encoder, clock=clock, read_only=True)
        return cls(reading, writing, readers=readers, waiting=waiting)

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written here, whoever asks."""
        return self._writing is None

    async def read(
        self,
        caller: Caller,
        space: str,
        call: Callable[[View], Result],
        *,
        valid: str | None = None,
        known: str | None = None,
        fresh: bool = False,
        role: Role = Role.READER,
    ) -> Result:
        """Do something with the memory as of a time, for reading.

        `fresh`: what was written before is indexed first, so that a question finds it.
        """
        caller.require(role, space)
        if fresh and self._writing is not None:
            await self._index(space)

        def run() -> Result:
            memory = self._reading.in_space(space)
            if valid is None and known is None:
                return call(memory)
            return call(memory.at(valid, known=known))

        return await self._run(self._readers, run)

    async def write(
        self,
        caller: Caller,
        space: str,
        call: Callable[[Memory], Result],
        *,
        role: Role = Role.WRITER,
    ) -> Result:
        """Do something that writes; it is on disk when this returns."""
        caller.require(role, space)
        return await self._run(self._writer, lambda: call(self._memory(caller, space)))

    async def work(
        self,
        caller: Caller,
        space: str,
        call: Callable[[Memory, Progress], Result],
        on_progress: Progress,
        *,
        role: Role = Role.WRITER,
    ) -> Result:
        """Do something long beside the others. `on_progress` stops it by raising."""
        caller.require(role, space)
        memory = self._memory(caller, space)
        return await self._run(self._workers, lambda: call(memory, on_progress))

    def close(self) -> None:
        """Finish what is under way, then let go of the file."""
        for pool in (self._readers, self._writer, self._workers):
            pool.shutdown(wait=True, cancel_futures=True)
        self._reading.close()
        if self._writing is not None:
            self._writing.close()

    def _memory(self, caller: Caller, space: str) -> Memory:
        if self._writing is None:
            raise Unavailable("This server only reads.")
        return self._writing.in_space(space, actor=caller.name)

    async def _index(self, space: str) -> None:
        writing = self._writing
        if writing is None:
            return
        waiting = await self._run(self._readers, lambda: self._reading.in_space(space).pending)
        if waiting:
            await self._run(self._workers, lambda: writing.in_space(space).index())

    async def _run(self, pool: ThreadPoolExecutor, run: Callable[[], Result]) -> Result:
        if self._inside >= self._waiting:
            raise Overloaded("Too many calls are waiting: come back in a second.")
        self._inside += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, run)
        finally:
            self._inside -= 1
