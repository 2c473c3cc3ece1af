"""Over standard input and output: one client, one process, which ends with its client.

Nothing but the protocol goes to standard output: the SDK turns what else is printed to
standard error while it serves.
"""

from __future__ import annotations

import asyncio
import getpass
import signal
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from hades.errors import HadesError
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor
from hades.serve.mcp.call import AgentCall, following
from hades.serve.mcp.server import AgentServer
from hades.settings import load_settings


def serve_memory(
    memory: str | Path, space: str | None, *, read_only: bool, tools: str = "all"
) -> None:
    """Serve a memory file, made when there is none; a named space is then the only one."""
    settings = load_settings()
    encoder = None if settings.encoder == "minilm" else settings.encoder
    executor = Executor.open(
        memory, read_only=read_only, encoder=encoder, busy_timeout_s=settings.busy_timeout_s
    )
    caller = Caller(
        settings.actor or _login_name(),
        Role.READER if read_only else Role.WRITER,
        None if space is None else frozenset({space}),
    )
    try:
        run(_serve(AgentCall(executor, caller, space or settings.space, tools)))
    finally:
        executor.close()


def run(serving: Coroutine[Any, Any, None]) -> None:
    """Run until the client goes, or until an interrupt."""
    # A thread waits for a line of standard input, and nothing wakes it but a line: so an
    # interrupt ends the process as it stands. What was answered as written is on disk.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serving)


async def _serve(call: AgentCall) -> None:
    # A space that is not there is told at once, not at the first call.
    await call.read(lambda view: view.pending)

    @asynccontextmanager
    async def while_serving() -> AsyncIterator[None]:
        warming = asyncio.create_task(_warm(call))
        # What is printed would stay in a buffer, and go out after the last answer.
        with redirect_stdout(sys.stderr):
            yield
        warming.cancel()

    await AgentServer(lambda _request: call, while_serving).run_stdio_async()


async def _warm(call: AgentCall) -> None:
    """Load what the first question needs while the client still says hello."""

    async def silent(_progress: float, _words: str) -> None:
        """Nobody asked how far it is."""

    with suppress(HadesError):
        async with following(silent) as told:
            await call.read(lambda view: view.warm(told))


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
