"""A call: who asks, for which space, and how its progress and its end get across.

The work runs in threads of the desk, the protocol in the event loop. Between them go two
things: how far the work is (thread to client), and that nobody waits any more (client to
thread), which makes the next report of progress raise, and so ends the work.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from hades.domain.answer import Recall
from hades.errors import InvalidInput, Unavailable
from hades.memory import Memory, View
from hades.serve.auth.caller import Caller
from hades.serve.executor import Executor
from hades.store.records import Progress

Result = TypeVar("Result")
Report = Callable[[float, float | None, str], Awaitable[None]]
"""Tells the client how far a call is: how much is done, of how much, in words."""

PAUSE_S = 0.1
"""Between two reports of one phase: a client shows no more than that."""
INDEXING_S = 20.0
"""How long a question waits for what was written since; then it is answered without, and
says so. Clients give up after a minute."""


class Stopped(Exception):
    """The client waits no longer. Not a HadesError: ingestion would take it for a bad file."""


class _LongEnough(Exception):
    """Indexing took its time: what is done is kept, the rest comes with the next question."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a client."""

    desk: Executor
    caller: Caller
    home: str | None
    """The space of calls that name none."""
    report: Report
    may_write: bool = False
    """Whether they are offered tools that write."""

    def space(self, named: str | None) -> str:
        """The space a call is about."""
        return named or home_of(self.caller, self.home)

    async def read(
        self,
        space: str,
        do: Callable[[View], Result],
        *,
        as_of: str | None = None,
        known_at: str | None = None,
    ) -> Result:
        """Read the memory, as of a time where one is given."""
        return await self.desk.read(self.caller, space, do, valid=as_of, known=known_at)

    async def ask(
        self,
        space: str,
        do: Callable[[View, Progress], Result],
        *,
        as_of: str | None = None,
        known_at: str | None = None,
    ) -> Result:
        """Ask the memory something, after indexing what was written since."""
        async with self.progress() as told:
            await self._index(space, told)
            return await self.read(
                space, lambda view: do(view, told), as_of=as_of, known_at=known_at
            )

    async def recall(
        self,
        space: str,
        question: str,
        *,
        as_of: str | None = None,
        known_at: str | None = None,
        **options: Any,
    ) -> Recall:
        """What is known about a question; `options` as `View.recall` takes them."""

        def find(view: View, told: Progress) -> Recall:
            return self.desk.told(view.recall(question, on_progress=told, **options))

        return await self.ask(space, find, as_of=as_of, known_at=known_at)

    async def write(self, space: str, do: Callable[[Memory], Result]) -> Result:
        """Write; it is on disk when this returns."""
        return await self.desk.write(self.caller, space, do)

    async def work(self, space: str, do: Callable[[Memory, Progress], Result]) -> Result:
        """Write something long, which the client can follow and stop."""
        async with self.progress() as told:
            return await self.desk.work(self.caller, space, do, told)

    @asynccontextmanager
    async def progress(self) -> AsyncIterator[Progress]:
        """What the work inside tells of itself; leaving early stops the work."""
        follower = Follower(self.report)
        sending = asyncio.create_task(follower.send())
        try:
            yield follower.told
        finally:
            follower.stop()
            sending.cancel()
            with suppress(asyncio.CancelledError):
                await sending
        await follower.flush()

    async def _index(self, space: str, told: Progress) -> None:
        if self.desk.read_only:
            return
        if not await self.read(space, lambda view: view.pending):
            return
        until = time.monotonic() + INDEXING_S

        def bounded(what: str, done: int, total: int) -> None:
            if time.monotonic() > until:
                raise _LongEnough
            told(what, done, total)

        # Unavailable: the line is full or the encoder away; the answer says what it lacks.
        with suppress(_LongEnough, Unavailable):
            await self.desk.index(self.caller, space, bounded)


def home_of(caller: Caller, home: str | None) -> str:
    """The space of a caller's calls that name none."""
    if home is not None and caller.sees(home):
        return home
    theirs = sorted(caller.spaces or ())
    if len(theirs) == 1:
        return theirs[0]
    raise InvalidInput(f"Say which space: {', '.join(theirs) or 'you may use none'}.")


class Follower:
    """Follows work in a thread, and tells the client of it from the event loop."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._loop = asyncio.get_running_loop()
        self._stopped = threading.Event()
        self._news = asyncio.Event()
        self._latest: tuple[float, None, str] | None = None
        self._phase = ""
        self._phases = -1
        self._told_at = 0.0
        self._most = -1.0

    def told(self, what: str, done: int, total: int) -> None:
        """Called by the work, in its thread, about as often as it can be stopped."""
        if self._stopped.is_set():
            raise Stopped
        now = time.monotonic()
        if what == self._phase and now - self._told_at < PAUSE_S:
            return
        if what != self._phase:
            self._phase = what
            self._phases += 1
        self._told_at = now
        # Progress may only grow (MCP): so many phases, and the part of the one under way.
        share = min(done / total, 1.0) if total > 0 else 1 - 1 / (1 + done)
        words = f"{what}: {done:,} of {total:,}" if total > 0 else f"{what}: {done:,}"
        with suppress(RuntimeError):  # the loop is closed: nobody listens
            self._loop.call_soon_threadsafe(self._heard, self._phases + share, words)

    def stop(self) -> None:
        """Let the work end at its next report."""
        self._stopped.set()

    async def send(self) -> None:
        """Tell the client whenever there is news."""
        while True:
            await self._news.wait()
            await self.flush()

    async def flush(self) -> None:
        """Tell the client the latest, where it was not told yet."""
        self._news.clear()
        latest, self._latest = self._latest, None
        if latest is not None:
            await self._report(*latest)

    def _heard(self, progress: float, words: str) -> None:
        if progress > self._most:
            self._most = progress
            self._latest = (progress, None, words)
            self._news.set()
