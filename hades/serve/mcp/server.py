"""The server: what the protocol asks, answered by tools, resources and prompts.

One server for stdio and for HTTP. What is listed depends on who asks: a reader is shown no
tool that writes. Errors are one sentence; what went wrong inside is for the log.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from hades import __version__
from hades.errors import HadesError, NotFound
from hades.serve.auth.caller import Caller, Role, name_call
from hades.serve.executor import Executor
from hades.serve.mcp import old_names, prompts, reading, resources, writing
from hades.serve.mcp.call import Call
from hades.serve.mcp.tool import Tool

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]
Answer = TypeVar("Answer")

INSTRUCTIONS = (
    "HADES is a long-term memory with sources, versions and times. Before answering about "
    "earlier work, decisions, people or documents, call recall, and cite what it gives. "
    "{writing}What recall does not give, the memory does not know."
)
WRITING = (
    "When something is decided, learned or found out that will matter later, call remember; "
    "when a fact changed, change_fact. Nothing is lost by writing: earlier versions stay. "
)

TOOLS: dict[str, Tool] = {
    one.name: one
    for one in (
        reading.recall,
        reading.history,
        reading.topics,
        reading.working_memory,
        writing.remember,
        writing.relate,
        writing.change_fact,
        writing.ingest_text,
        writing.forget,
        old_names.pathrag_retrieve,
        old_names.hipporag_retrieve,
        old_names.graph_query_paths,
        old_names.graph_entity_update,
    )
}


@dataclass(frozen=True, slots=True)
class Handlers:
    """The requests of the protocol, for one desk."""

    desk: Executor
    caller: Callable[[Context], Caller]
    home: str | None
    read_only: bool

    async def list_tools(
        self, ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """The tools this caller may use."""
        caller = self._known(ctx)
        one_space = caller.spaces is not None and len(caller.spaces) == 1
        return types.ListToolsResult(
            tools=[
                one.within(one_space=one_space)
                for one in TOOLS.values()
                if not one.writes or self._may_write(caller)
            ]
        )

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call a tool; what it refuses is an answer the model can read."""
        tool = TOOLS.get(params.name)
        if tool is None or (tool.writes and self.read_only):
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name!r}.")
        name_call(f"MCP {tool.name}")
        try:
            call = self._call(ctx)
            if tool.writes:
                call.caller.require(Role.WRITER)
            return await tool.call(call, params.arguments or {})
        except HadesError as error:
            return _refused(str(error))
        except Exception:
            log.exception("The tool %s failed", params.name)
            return _refused("Something went wrong inside the memory: its log says what.")

    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """A page of topics."""
        cursor = None if params is None else params.cursor
        return await _answered(resources.listed(self._call(ctx), cursor))

    async def list_templates(
        self, _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """How topics and their versions are addressed."""
        return types.ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)

    async def read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """The text of a topic or a version."""
        return await _answered(resources.read(self._call(ctx), params.uri))

    async def list_prompts(
        self, ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """The prompts this caller can follow."""
        writes = self._may_write(self._known(ctx))
        shown = [one.shown for one in prompts.PROMPTS.values() if writes or not one.writes]
        return types.ListPromptsResult(prompts=shown)

    async def get_prompt(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """The messages of a prompt."""
        return await _answered(prompts.made(self._call(ctx), params.name, params.arguments or {}))

    def _known(self, ctx: Context) -> Caller:
        try:
            return self.caller(ctx)
        except HadesError as error:
            raise MCPError(types.INVALID_REQUEST, str(error)) from error

    def _may_write(self, caller: Caller) -> bool:
        return not self.read_only and caller.role >= Role.WRITER

    def _call(self, ctx: Context) -> Call:
        async def report(progress: float, total: float | None, words: str) -> None:
            await ctx.session.report_progress(progress, total, words)

        caller = self._known(ctx)
        return Call(self.desk, caller, self.home, report, self._may_write(caller))


def build(
    desk: Executor,
    caller: Callable[[Context], Caller],
    *,
    home: str | None = None,
    read_only: bool = False,
) -> Server[Any]:
    """A server over a desk. `caller` says who a request comes from."""
    read_only = read_only or desk.read_only
    handlers = Handlers(desk, caller, home, read_only)
    return Server(
        "hades",
        title="HADES memory",
        version=__version__,
        instructions=instructions(read_only=read_only),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        get_tool_input_schema=_input_schema,
    )


def instructions(*, read_only: bool) -> str:
    """What a model is told of the server as a whole."""
    return INSTRUCTIONS.format(writing="" if read_only else WRITING)


def _input_schema(name: str) -> dict[str, Any] | None:
    tool = TOOLS.get(name)
    return None if tool is None else tool.shown.input_schema


def _refused(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=sentence)], is_error=True
    )


async def _answered(answer: Awaitable[Answer]) -> Answer:
    """What is not a tool has no answer that is an error: the protocol's own says it."""
    try:
        return await answer
    except NotFound as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from error
    except HadesError as error:
        raise MCPError(types.INVALID_REQUEST, str(error)) from error
    except MCPError:
        raise
    except Exception as error:
        log.exception("A request failed")
        sentence = "Something went wrong inside the memory: its log says what."
        raise MCPError(types.INTERNAL_ERROR, sentence) from error
