"""MCP over standard input and output: one process for one client, which ends with the client.

Standard output carries only the protocol; other output goes to standard error.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from hades.errors import HadesError
from hades.opening import login_name
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor
from hades.serve.mcp.call import AgentCall, following
from hades.serve.mcp.server import AgentServer
from hades.settings import load_settings


def serve_memory(
    memory: str | Path, space: str | None, *, read_only: bool, tools: str = "core"
) -> None:
    """Serve a memory over standard input and output; unless `read_only`, create a missing one.

    With a space, the client may use only that one.
    """
    settings = load_settings()
    executor = Executor.open(
        memory,
        read_only=read_only,
        encoder=settings.own_encoder,
        busy_timeout_s=settings.busy_timeout_s,
    )
    caller = Caller(
        settings.actor or login_name(),
        Role.READER if read_only else Role.WRITER,
        None if space is None else frozenset({space}),
    )
    try:
        run(_serve(AgentCall(executor, caller, space or settings.space, tools)))
    finally:
        executor.close()


def run(serving: Coroutine[Any, Any, None]) -> None:
    """Run until the client disconnects, or until an interrupt."""
    # A thread blocks on reading standard input and cannot be woken, so an interrupt must end the
    # process at once. Writes that were answered are on disk.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serving)


async def _serve(call: AgentCall) -> None:
    # Raise NotFound for a missing space now, not at the first call.
    await call.read(lambda view: view.pending)

    @asynccontextmanager
    async def while_serving() -> AsyncIterator[None]:
        warming = asyncio.create_task(_warm(call))
        # otherwise printed text would be buffered and end up on standard output after the last
        # answer
        with redirect_stdout(sys.stderr):
            yield
        warming.cancel()

    await AgentServer(lambda _request: call, while_serving).run_stdio_async()


async def _warm(call: AgentCall) -> None:
    """Load what the first question needs, while the client still initialises."""

    async def silent(_progress: float, _words: str) -> None:
        """Report no progress, because no client waits for this."""

    with suppress(HadesError):
        async with following(silent) as on_progress:
            await call.read(lambda view: view.warm(on_progress))
