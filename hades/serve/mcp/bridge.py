"""A bridge: `hades mcp` in front of a running server, for clients that only start commands.

What the client asks is asked of the server's /mcp, with its own key; what comes back is
handed on: answers, refusals, progress. Nothing is decided here but what --read-only hides.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from hades import __version__
from hades.domain.address import Address, read_address, shown_key
from hades.errors import Unavailable
from hades.serve.mcp import prompts
from hades.serve.mcp.server import TOOLS, Context, instructions
from hades.serve.mcp.stdio import over_stdio, run

PATIENCE_S = 600.0
"""For one answer: long texts are taken in while somebody waits."""


def serve_address(text: str, key: str | None, *, read_only: bool) -> None:
    """Serve what a server serves, over standard input and output."""
    run(_serve(read_address(text), key, read_only=read_only))


async def _serve(address: Address, key: str | None, *, read_only: bool) -> None:
    key = address.key or key
    headers = {"authorization": shown_key(key)} if key else {}
    socket = None if address.socket is None else str(address.socket)
    refused: list[httpx2.Response] = []

    async def note(response: httpx2.Response) -> None:
        if response.is_error:
            await response.aread()
            refused[:] = [response]

    async with httpx2.AsyncClient(
        headers=headers,
        timeout=PATIENCE_S,
        transport=httpx2.AsyncHTTPTransport(uds=socket),
        event_hooks={"response": [note]},
    ) as http:
        far = Client(streamable_http_client(f"{address.root}/mcp", http_client=http))
        try:
            await far.__aenter__()
        except (MCPError, httpx2.HTTPError, ExceptionGroup) as error:
            raise Unavailable(_not_let_in(address, key, refused, error)) from error
        try:
            await over_stdio(_server(Far(far, read_only)))
        finally:
            await far.__aexit__(None, None, None)


@dataclass(frozen=True, slots=True)
class Far:
    """The requests of the protocol, asked of another server."""

    client: Client
    read_only: bool

    async def list_tools(
        self, _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """The tools it has for this key."""
        listed = await self.client.list_tools()
        return types.ListToolsResult(
            tools=[one for one in listed.tools if not self._hides(one.name)]
        )

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call a tool of it."""
        if self._hides(params.name):
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name!r}.")

        async def told(progress: float, total: float | None, message: str | None) -> None:
            await ctx.session.report_progress(progress, total, message)

        return await self.client.call_tool(params.name, params.arguments, progress_callback=told)

    async def list_resources(
        self, _ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """A page of its topics."""
        return await self.client.list_resources(cursor=None if params is None else params.cursor)

    async def list_templates(
        self, _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """How they are addressed."""
        return await self.client.list_resource_templates()

    async def read_resource(
        self, _ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """The text of a topic."""
        return await self.client.read_resource(params.uri)

    async def list_prompts(
        self, _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """Its prompts."""
        listed = await self.client.list_prompts()
        known = prompts.PROMPTS
        writing = {name for name, one in known.items() if one.writes and self.read_only}
        return types.ListPromptsResult(
            prompts=[one for one in listed.prompts if one.name not in writing]
        )

    async def get_prompt(
        self, _ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """The messages of a prompt."""
        return await self.client.get_prompt(params.name, params.arguments)

    def _hides(self, name: str) -> bool:
        """A tool that writes, or that this version does not know to only read."""
        return self.read_only and (name not in TOOLS or TOOLS[name].writes)


def _server(far: Far) -> Server[Any]:
    return Server(
        "hades",
        title="HADES memory",
        version=__version__,
        instructions=instructions(read_only=far.read_only),
        on_list_tools=far.list_tools,
        on_call_tool=far.call_tool,
        on_list_resources=far.list_resources,
        on_list_resource_templates=far.list_templates,
        on_read_resource=far.read_resource,
        on_list_prompts=far.list_prompts,
        on_get_prompt=far.get_prompt,
    )


def _not_let_in(
    address: Address, key: str | None, refused: list[httpx2.Response], error: BaseException
) -> str:
    """What is wrong, and what to do. The SDK keeps to itself what the server answered."""
    if not refused:
        return (
            f"No server answers at {address.text} ({_why(error)}): start it with `hades serve`, "
            "or correct the address."
        )
    if refused[-1].status_code == HTTPStatus.UNAUTHORIZED:
        what = "does not know your key" if key else "wants a key"
        return (
            f"The server at {address.text} {what}: put one into HADES_KEY; there, "
            "`hades keys create` makes one."
        )
    return f"The server at {address.text} does not let us in: {_detail(refused[-1])}."


def _detail(response: httpx2.Response) -> str:
    """What a server says about its refusal, where it says something we understand."""
    with suppress(ValueError, TypeError, LookupError):
        return str(response.json()["detail"]).rstrip(".")
    return f"it answers {response.status_code} {response.reason_phrase}"


def _why(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error).rstrip(".") or type(error).__name__
