"""Over standard input and output: one client, one process, which ends with its client.

Nothing but the protocol goes to standard output: the SDK turns what else is printed to
standard error while it serves.
"""

from __future__ import annotations

import asyncio
import getpass
import os
from pathlib import Path

from mcp.server.stdio import stdio_server

from hades.serve.caller import Caller, Role
from hades.serve.desk import Desk
from hades.serve.mcp.server import build
from hades.settings import load_settings

INTERRUPTED = 130


def serve_memory(memory: Path | None, space: str | None, *, read_only: bool) -> None:
    """Serve a memory file, made when there is none; a named space is then the only one."""
    settings = load_settings()
    encoder = None if settings.encoder == "minilm" else settings.encoder
    desk = Desk.open(memory or settings.ready_path(), read_only=read_only, encoder=encoder)
    caller = Caller(
        settings.actor or _login_name(),
        Role.READER if read_only else Role.WRITER,
        None if space is None else frozenset({space}),
    )
    try:
        asyncio.run(serve(desk, caller, space or settings.space))
    except KeyboardInterrupt:
        desk.close()
        # A thread still waits for a line of standard input, and would wait on.
        os._exit(INTERRUPTED)
    finally:
        desk.close()


async def serve(desk: Desk, caller: Caller, home: str) -> None:
    """Serve until the client closes its end."""
    # A space that is not there is told at once, not at the first call.
    await desk.read(caller, home, lambda view: view.pending)
    server = build(desk, lambda _: caller, home=home)
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
