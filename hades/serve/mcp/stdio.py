"""Over standard input and output: one client, one process, which ends with its client.

Nothing but the protocol goes to standard output: the SDK turns what else is printed to
standard error while it serves.
"""

from __future__ import annotations

import asyncio
import getpass
import signal
import sys
from collections.abc import Coroutine
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from hades.errors import HadesError
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor
from hades.serve.mcp.call import Call
from hades.serve.mcp.server import build
from hades.settings import load_settings


def serve_memory(memory: Path, space: str | None, *, read_only: bool) -> None:
    """Serve a memory file, made when there is none; a named space is then the only one."""
    settings = load_settings()
    encoder = None if settings.encoder == "minilm" else settings.encoder
    desk = Executor.open(
        memory, read_only=read_only, encoder=encoder, busy_timeout_s=settings.busy_timeout_s
    )
    caller = Caller(
        settings.actor or _login_name(),
        Role.READER if read_only else Role.WRITER,
        None if space is None else frozenset({space}),
    )
    try:
        run(serve(desk, caller, space or settings.space))
    finally:
        desk.close()


def run(serving: Coroutine[Any, Any, None]) -> None:
    """Run until the client goes, or until an interrupt."""
    # A thread waits for a line of standard input, and nothing wakes it but a line: so an
    # interrupt ends the process as it stands. What was answered as written is on disk.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serving)


async def serve(desk: Executor, caller: Caller, home: str) -> None:
    """Serve until the client closes its end."""
    # A space that is not there is told at once, not at the first call.
    await desk.read(caller, home, lambda view: view.pending)
    server = build(desk, lambda _: caller, home=home)
    warming = asyncio.create_task(_warm(Call(desk, caller, home, _silent)))
    try:
        await over_stdio(server)
    finally:
        warming.cancel()


async def over_stdio(server: Server[Any]) -> None:
    """Serve this process's standard input and output until they close."""
    async with stdio_server() as (received, sent):
        # What is printed would stay in a buffer, and go out after the last answer.
        with redirect_stdout(sys.stderr):
            await server.run(received, sent, server.create_initialization_options())


async def _warm(call: Call) -> None:
    """Load what the first question needs while the client still says hello."""
    with suppress(HadesError):
        async with call.progress() as told:
            await call.read(call.space(None), lambda view: view.warm(told))


async def _silent(_progress: float, _total: float | None, _words: str) -> None:
    """Nobody asked how far it is."""


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
