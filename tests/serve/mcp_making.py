"""What the MCP tests share: a memory with a story, and real clients of the SDK."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, MCPError, StdioServerParameters

import hades
from hades.domain.times import Clock, system_clock
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor
from hades.serve.mcp.call import AgentCall
from hades.serve.mcp.server import AgentServer

ROOT = Path(__file__).parent.parent.parent
ANN = Caller("ann", Role.WRITER)
EVE = Caller("eve", Role.READER)
WRITING_TOOLS = {
    "feedback",
    *("remember", "relate", "change_fact", "unrelate", "forget"),
    *("ingest_text", "propose", "promote", "graph_entity_update", "consolidate", "extract"),
    "distil",
    *("core_memory_append", "core_memory_replace", "archival_memory_insert"),
}

Result = TypeVar("Result")
Life = Callable[[Client], Awaitable[Result]]


@dataclass(frozen=True)
class Offered:
    """A memory that a server in this process offers to agents."""

    executor: Executor

    @property
    def memory(self) -> hades.Memory:
        """The memory, for what a test says to it directly."""
        return self.executor.memory


@contextmanager
def offered(path: Path, *, clock: Clock = system_clock) -> Iterator[Offered]:
    """Offer the memory at a path to agents."""
    executor = Executor.open(path, clock=clock)
    try:
        yield Offered(executor)
    finally:
        executor.close()


def talk(
    server: Offered, life: Life[Result], *, caller: Caller = ANN, tools: str = "all"
) -> Result:
    """What a client does with a server in the same process."""
    call = AgentCall(server.executor, caller, "default", tools)
    return asyncio.run(meet(Client(AgentServer(lambda _request: call), mode="legacy"), life))


async def meet(client: Client, life: Life[Result]) -> Result:
    """A conversation; what the server refuses is raised as it is, not in a group."""
    refused: MCPError
    async with client:
        try:
            return await life(client)
        except MCPError as error:
            refused = error
    raise refused


def hades_command(*arguments: str) -> list[str]:
    """The command line of this checkout."""
    return [sys.executable, "-c", "from hades.cli import main; main()", *arguments]


def hades_environment() -> dict[str, str]:
    """An environment in which it is found."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    data = {name: value for name, value in os.environ.items() if name.startswith("XDG_")}
    return {**kept, **data, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "always"}


def stdio(path: Path, *options: str) -> StdioServerParameters:
    """How a client starts `hades mcp`."""
    command, *arguments = hades_command("mcp", "--memory", str(path), *options)
    return StdioServerParameters(command=command, args=arguments, env=hades_environment())


def text_of(result: Any) -> str:
    """What a model reads of a tool's result."""
    (content,) = result.content
    return str(content.text)


def names_of(listed: Any) -> set[str]:
    """The names of listed tools or prompts."""
    return {one.name for one in getattr(listed, "tools", None) or listed.prompts}
