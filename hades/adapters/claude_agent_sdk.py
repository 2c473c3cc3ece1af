"""Claude Agent SDK: an MCP server inside the agent's process that gives it a memory."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, cast

from pydantic import TypeAdapter

import hades
from hades.adapters.access import framework
from hades.adapters.tools import memory_tools
from hades.memory import View

with framework("claude-agent-sdk>=0.2.182"):
    from claude_agent_sdk import SdkMcpTool, create_sdk_mcp_server, tool
    from claude_agent_sdk.types import McpSdkServerConfig


def hades_server(memory: View, *, writes: bool = True, budget: int = 2_000) -> McpSdkServerConfig:
    """Return a server for `ClaudeAgentOptions(mcp_servers={"hades": …})`.

    It has the tools `recall` and `history`, with `writes` also `remember` and `forget`; a model
    calls them `mcp__hades__recall` and so on. `budget` is the most tokens of a recalled context.
    They run in threads. `hades mcp` is the full server, in a process of its own.
    """
    tools = memory_tools(memory, writes=writes, budget=budget)
    return create_sdk_mcp_server("hades", hades.__version__, [_declared(each) for each in tools])


def _declared(function: Callable[..., str]) -> SdkMcpTool[Any]:
    adapter: TypeAdapter[Any] = TypeAdapter(cast(Any, function))
    schema = adapter.json_schema()

    @tool(function.__name__, inspect.getdoc(function) or "", schema)
    async def run(arguments: dict[str, Any]) -> dict[str, Any]:
        text = await asyncio.to_thread(function, **arguments)  # the SDK reports what it raises
        return {"content": [{"type": "text", "text": text}]}

    return run
