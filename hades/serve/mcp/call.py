"""A call: who asks, about which space and time, and how the memory is reached for them.

The memory is used in threads of the executor, the protocol runs in the event loop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
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
Report = Callable[[float, str], Awaitable[None]]
"""Tells a client how far a call is: a number that grows, and words."""

PAUSE_S = 0.1
"""Between two reports of one phase: a client shows no more than that."""


class Stopped(Exception):
    """The client waits no longer. Not a HadesError: ingestion would take it for a bad file."""


@dataclass(frozen=True, slots=True)
class AgentCall:
    """One request of a client."""

    executor: Executor
    caller: Caller
    home: str | None
    """The space of calls that name none."""
    tools: str = "all"
    """Which tools the client wants to see: core, memgpt or all."""
    named_space: str = ""
    as_of: str = ""
    known_at: str = ""

    @classmethod
    def of(cls, context: Ctx, space: str = "", as_of: str = "", known_at: str = "") -> AgentCall:
        """The call a tool is called with."""
        request = context.request_context
        call = request.lifespan_context(request.request)
        return replace(call, named_space=space, as_of=as_of, known_at=known_at)

    @property
    def may_write(self) -> bool:
        """Whether the caller is offered tools that write."""
        return self.caller.role >= Role.WRITER and not self.executor.read_only

    @property
    def space(self) -> str:
        """The space it is about: the one it names, else the usual one."""
        if self.named_space:
            return self.named_space
        if self.home is not None and self.caller.sees(self.home):
            return self.home
        theirs = sorted(self.caller.spaces or ())
        if len(theirs) == 1:
            return theirs[0]
        raise InvalidInput(f"Say which space: {', '.join(theirs) or 'you may use none'}.")

    async def spaces(self) -> list[str]:
        """The spaces the caller may use, by name."""
        found = await self.executor.read(self.caller, None, lambda view: view.spaces())
        return sorted(one.name for one in found if self.caller.sees(one.name))

    async def read(
        self, do: Callable[[View], Result], *, fresh: bool = False, model: bool = False
    ) -> Result:
        """Read the memory as of the call's time.

        `fresh` indexes what was written since, so that a question finds it.
        """
        valid, known = self.as_of or None, self.known_at or None
        return await self.executor.read(
            self.caller, self.space, do, valid=valid, known=known, fresh=fresh, model=model
        )

    async def ask(self, find: Callable[[View], Found], *, model: bool = False) -> Found:
        """Ask a question, after indexing what was written since."""
        return await self.read(lambda view: self.executor.told(find(view)), fresh=True, model=model)

    async def write(self, do: Callable[[Memory], Result]) -> Result:
        """Write; it is on disk when this returns."""
        return await self.executor.write(self.caller, self.space, do)

    async def work(self, do: Callable[[Memory, Progress], Result], context: Ctx) -> Result:
        """Write something long, which the client can follow and cancel."""

        async def report(progress: float, words: str) -> None:
            await context.report_progress(progress, message=words)

        async with following(report) as told:
            return await self.executor.work(self.caller, self.space, do, told)


Identify = Callable[[Any], AgentCall]
"""The call a request of the transport makes (None over standard input and output)."""
Ctx = Context[Identify, Any]
"""What the SDK hands to every tool and prompt."""


@asynccontextmanager
async def following(report: Report) -> AsyncIterator[Progress]:
    """Progress of work in a thread, reported from the event loop; leaving stops the work."""
    loop = asyncio.get_running_loop()
    stopped = threading.Event()
    numbers = count(1)  # MCP wants progress to grow, whatever the phase
    last_phase, last_at = "", 0.0

    async def tell(words: str) -> None:
        await report(next(numbers), words)

    def told(what: str, done: int, total: int) -> None:
        nonlocal last_phase, last_at
        if stopped.is_set():
            raise Stopped
        now = time.monotonic()
        if what == last_phase and now - last_at < PAUSE_S:
            return
        last_phase, last_at = what, now
        words = f"{what}: {done:,} of {total:,}" if total > 0 else f"{what}: {done:,}"
        asyncio.run_coroutine_threadsafe(tell(words), loop)

    try:
        yield told
    finally:
        stopped.set()
