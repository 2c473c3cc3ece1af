"""Forwarding: `hades mcp` in front of a running server, for clients that only start commands.

It forwards messages unchanged between standard input and output and the server's /mcp. The
server decides by the key what is listed and allowed.
"""

from __future__ import annotations

from contextlib import suppress

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server

from hades.domain.address import Address, read_address, shown_key
from hades.errors import Unavailable
from hades.serve.mcp.stdio import run

PATIENCE_S = 600.0
"""Timeout for one answer; ingesting a long text can take minutes."""
VERSION_HEADER = "mcp-protocol-version"


def serve_address(text: str, key: str | None, *, read_only: bool, tools: str = "core") -> None:
    """Serve the memory of a running server over standard input and output, until these close."""
    wanted = {"tools": tools, "read_only": str(read_only).lower()}
    run(_serve(read_address(text), key, wanted))


async def _serve(address: Address, key: str | None, wanted: dict[str, str]) -> None:
    key = address.key or key
    headers = {"authorization": shown_key(key)} if key else {}
    socket = None if address.socket is None else str(address.socket)
    transport = httpx2.AsyncHTTPTransport(uds=socket)
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, transport=transport) as http:
        await _check(http, address)
        url = str(httpx2.URL(f"{address.root}/mcp", params=wanted))
        async with (
            streamable_http_client(url, http_client=http) as (answers, requests),
            stdio_server() as (received, sent),
            anyio.create_task_group() as tasks,
        ):

            async def forward() -> None:
                async for message in received:
                    if not isinstance(message, Exception):
                        await requests.send(message)
                tasks.cancel_scope.cancel()  # the client closed its end

            tasks.start_soon(forward)
            async for answer in answers:
                if not isinstance(answer, Exception):
                    # Later requests need the negotiated version of the protocol as a header.
                    result = getattr(answer.message, "result", {})
                    if "protocolVersion" in result:
                        http.headers[VERSION_HEADER] = result["protocolVersion"]
                    await sent.send(answer)


async def _check(http: httpx2.AsyncClient, address: Address) -> None:
    """Raise Unavailable if the server does not answer or refuses the key."""
    try:
        response = await http.get(f"{address.root}/v1/spaces")
    except httpx2.HTTPError as error:
        raise Unavailable(
            f"No server answers at {address.text} ({error}): start it with `hades serve`, or "
            "correct the address."
        ) from error
    if response.is_error:
        reason = f"it answers {response.status_code} {response.reason_phrase}"
        with suppress(ValueError, TypeError, LookupError):
            reason = str(response.json()["detail"]).rstrip(".")
        raise Unavailable(f"The server at {address.text} refuses the connection: {reason}.")
