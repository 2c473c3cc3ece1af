"""A call of an agent: its caller, space and time, and its access to the memory.

The memory runs in threads of the executor, the protocol in the event loop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, TypeVar

from mcp.server.mcpserver import Context

from hades.domain.answer import Answer, Recall
from hades.errors import InvalidInput
from hades.memory import Memory, View
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor
from hades.store.records import Progress

Result = TypeVar("Result")
Found = TypeVar("Found", Recall, Answer)
Report = Callable[[float, str], Coroutine[Any, Any, None]]
"""Sends progress to a client, as a growing number and a text."""

PAUSE_S = 0.1
"""Least time between two reports of one phase."""


class Stopped(Exception):
    """The client cancelled the call. Not a HadesError: ingestion skips a file that raises one."""


@dataclass(frozen=True, slots=True)
class AgentCall:
    """One call of an MCP client, with its caller, its space and its time."""

    executor: Executor
    caller: Caller
    home: str | None
    """The space of calls that name no space."""
    tools: str = "core"
    """The tools that the client lists: sets (core, memgpt, all) and names, with commas."""
    named_space: str = ""
    as_of: str = ""
    known_at: str = ""
    whole: bool = False
    """Whether the client asks for everything that was found."""

    @classmethod
    def of(cls, context: Ctx, space: str = "", as_of: str = "", known_at: str = "") -> AgentCall:
        """Make a call from a tool's context and the shared arguments."""
        request = context.request_context
        call = request.lifespan_context(request.request)
        return replace(call, named_space=space, as_of=as_of, known_at=known_at)

    @property
    def may_write(self) -> bool:
        """Whether tools that write are listed for the caller."""
        return self.caller.role >= Role.WRITER and not self.executor.read_only

    @property
    def space(self) -> str:
        """The space that the call names, else `home`, else the caller's only one; else raise."""
        if self.named_space:
            return self.named_space
        if self.home is not None and self.caller.sees(self.home):
            return self.home
        allowed = sorted(self.caller.spaces or ())
        if len(allowed) == 1:
            return allowed[0]
        raise InvalidInput(f"Say which space: {', '.join(allowed) or 'you may use none'}.")

    async def spaces(self) -> list[str]:
        """Return the names of the spaces that the caller may use, sorted."""
        return sorted(space.name for space in await self.executor.spaces(self.caller))

    async def read(
        self, do: Callable[[View], Result], *, fresh: bool = False, model: bool = False
    ) -> Result:
        """Run a function that reads as of the call's time; with `fresh`, index new writes first."""
        return await self.executor.read(
            self.caller,
            self.space,
            do,
            valid=self.as_of or None,
            known=self.known_at or None,
            fresh=fresh,
            model=model,
        )

    async def ask(self, find: Callable[[View], Found], *, model: bool = False) -> Found:
        """Ask a question, after indexing new writes, and report the answer to telemetry."""
        return await self.read(
            lambda view: self.executor.observed(find(view)), fresh=True, model=model
        )

    async def write(self, do: Callable[[Memory], Result]) -> Result:
        """Run a function that writes; the write is on disk when this returns."""
        return await self.executor.write(self.caller, self.space, do)

    async def work(self, do: Callable[[Memory, Progress], Result], context: Ctx) -> Result:
        """Run long work that writes; the client gets its progress and can cancel it."""
        send = context.report_progress
        async with following(lambda at, words: send(at, message=words)) as on_progress:
            return await self.executor.work(self.caller, self.space, do, on_progress)


Identify = Callable[[Any], AgentCall]
"""Returns the call for a request of the transport (None over standard input and output)."""
Ctx = Context[Identify, Any]
"""The SDK's context, an argument of every tool and prompt."""


@asynccontextmanager
async def following(report: Report) -> AsyncIterator[Progress]:
    """Yield a progress function for a thread, which reports through the event loop.

    When the context ends, the function raises Stopped, which stops the work.
    """
    loop = asyncio.get_running_loop()
    stopped = threading.Event()
    numbers = count(1)  # MCP requires progress to grow, also from phase to phase
    last_phase = ""
    last_at = 0.0

    def on_progress(what: str, done: int, total: int) -> None:
        nonlocal last_phase, last_at
        if stopped.is_set():
            raise Stopped
        now = time.monotonic()
        if what == last_phase and now - last_at < PAUSE_S:
            return
        last_phase = what
        last_at = now
        words = f"{what}: {done:,} of {total:,}" if total > 0 else f"{what}: {done:,}"
        asyncio.run_coroutine_threadsafe(report(next(numbers), words), loop)

    try:
        yield on_progress
    finally:
        stopped.set()
