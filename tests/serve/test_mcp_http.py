"""MCP over HTTP: a real server, real clients, and the bridge of `hades mcp` in front of it."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import httpx
import httpx2
import pytest
import uvicorn
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from serve.mcp_making import (
    ANN,
    EVE,
    WRITING_TOOLS,
    hades_command,
    hades_environment,
    meet,
    names_of,
    text_of,
)

import hades
from hades.serve.app import build as build_app
from hades.serve.auth.caller import CALL_RECORD, CallRecord
from hades.serve.executor import Executor
from tests.callers import caller

PATIENCE_S = 60.0
CALLERS = {
    "ann": ANN,
    "eve": EVE,
    "lee": caller("lee", "writer", "work"),
}
LISTING = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
BOTH = {"accept": "application/json, text/event-stream"}


class Running(NamedTuple):
    """A server of this module's tests."""

    address: str
    executor: Executor
    calls: list[tuple[str | None, bool | None]]
    """What each call was named, and whether it wrote."""

    @property
    def url(self) -> str:
        return f"{self.address}/mcp"


def with_callers(app: Any, calls: list[tuple[str | None, bool | None]]) -> Any:
    """Authentication, as far as these tests need one: the key is the caller's name."""

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        shown = dict(scope["headers"]).get(b"authorization", b"")
        caller = CALLERS.get(shown.removeprefix(b"Bearer ").decode("latin-1"))
        if shown and caller is None:
            detail = {"detail": "This key is not known: it may have been revoked."}
            await problem(401, detail)(scope, receive, send)
            return
        record = CallRecord("request")
        CALL_RECORD.set(record)
        await app({**scope, "hades.caller": caller}, receive, send)
        calls.append((record.call, record.writes))

    return serve


def problem(status: int, detail: dict[str, str]) -> Any:
    from starlette.responses import JSONResponse

    return JSONResponse(detail, status, media_type="application/problem+json")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    path = tmp_path_factory.mktemp("served") / "notes.hades"
    with hades.open(path) as memory:
        memory.create_space("work")
    executor = Executor.open(path)
    calls: list[tuple[str | None, bool | None]] = []
    up = threading.Event()

    class Told(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            up.set()

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        app = with_callers(build_app(executor), calls)
        server = Told(uvicorn.Config(app, log_config=None, ws="none"))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        assert up.wait(PATIENCE_S)
        yield Running(f"http://127.0.0.1:{listener.getsockname()[1]}", executor, calls)
        server.should_exit = True
        thread.join()
    executor.close()


def talk(url: str, name: str, life: Any, mode: Any = "legacy") -> Any:
    """What a client does, as somebody."""

    async def with_key() -> Any:
        headers = {"authorization": f"Bearer {name}"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
            return await meet(
                Client(streamable_http_client(url, http_client=http), mode=mode), life
            )

    return asyncio.run(with_key())


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_remembers_and_recalls(running: Running, mode: Any) -> None:
    heard: list[tuple[str, str]] = []

    async def life(client: Client) -> tuple[Any, set[str], Any]:
        note = {"topic": "färg/blå", "content": "Ann likes the blue one."}
        await client.call_tool("remember", note)
        found = await client.call_tool("recall", {"question": "What does Ann like?"})
        return found, names_of(await client.list_tools()), await client.list_resources()

    running.executor.on_recall = lambda recall, space: heard.append((recall.question, space))
    running.calls.clear()
    found, tools, resources = talk(running.url, "ann", life, mode)
    running.executor.on_recall = None
    assert "färg/blå@1#0" in text_of(found)
    assert found.structured_content["passages"][0]["cite"] == "färg/blå@1#0"
    assert tools > {"brief", "remember", "change_fact"}
    assert "hades://default/f%C3%A4rg%2Fbl%C3%A5" in [one.uri for one in resources.resources]
    assert heard == [("What does Ann like?", "default")]
    assert ("MCP remember", True) in running.calls
    assert ("MCP recall", False) in running.calls
    assert [name for name, writes in running.calls if writes] == ["MCP remember"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_roles_and_spaces_hold(running: Running, mode: Any) -> None:
    note = {"topic": "a", "content": "x"}

    async def reader(client: Client) -> tuple[set[str], Any]:
        return names_of(await client.list_tools()), await client.call_tool("remember", note)

    async def of_work(client: Client) -> tuple[Any, Any]:
        await client.call_tool("remember", note)
        return (
            await client.call_tool("topics", {}),
            await client.call_tool("topics", {"space": "default"}),
        )

    tools, tried = talk(running.url, "eve", reader, mode)
    own, other = talk(running.url, "lee", of_work, mode)
    assert tools
    assert not tools & WRITING_TOOLS
    assert text_of(tried) == "This needs the role writer: yours is reader."
    assert own.structured_content["space"] == "work"
    assert "You may not use the space 'default'" in text_of(other)


def test_an_address_can_ask_for_other_tools(running: Running) -> None:
    async def life(client: Client) -> tuple[set[str], Any]:
        note = {"topic": "narrow", "content": "x"}
        return names_of(await client.list_tools()), await client.call_tool("remember", note)

    tools, written = talk(running.url, "ann", life)
    assert "remember" in tools
    assert "pathrag_retrieve" not in tools
    assert not written.is_error
    assert talk(f"{running.url}?tools=all", "ann", life)[0] > WRITING_TOOLS
    tools, refused = talk(f"{running.url}?tools=all&read_only=true", "ann", life)
    assert "pathrag_retrieve" in tools
    assert not tools & WRITING_TOOLS
    assert text_of(refused) == "This needs the role writer: yours is reader."


def test_requests_stand_alone(running: Running) -> None:
    with httpx.Client(headers=BOTH | {"authorization": "Bearer ann"}, timeout=PATIENCE_S) as http:
        listed = http.post(running.url, json=LISTING)
        assert listed.status_code == 200
        assert "mcp-session-id" not in listed.headers
        assert http.get(running.url).status_code == 405
        assert http.delete(running.url).status_code == 405
        assert http.post(running.url, content=b"x" * (16 * 2**20 + 1)).status_code == 413
    unknown = httpx.post(running.url, json=LISTING, headers=BOTH, timeout=PATIENCE_S)
    assert unknown.status_code == 403


def bridged(address: str, key: str, *options: str) -> StdioServerParameters:
    """`hades mcp` in front of a server."""
    command, *arguments = hades_command("mcp", "--memory", address, *options)
    environment = hades_environment() | {"HADES_KEY": key}
    return StdioServerParameters(command=command, args=arguments, env=environment)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_that_starts_commands_reaches_a_server(running: Running, mode: Any) -> None:
    told: list[str | None] = []

    async def heard(_progress: float, _total: float | None, message: str | None) -> None:
        told.append(message)

    async def life(client: Client) -> tuple[Any, ...]:
        note = {"topic": "bridge/green", "text": "Bo likes the green one."}
        await client.call_tool("ingest_text", note, progress_callback=heard)
        return (
            await client.call_tool("recall", {"question": "What does Bo like?"}),
            await client.call_tool("get", {"topic": "nothing"}),
            await client.read_resource("hades://default/bridge%2Fgreen"),
            await client.get_prompt("answer_from_paths", {"question": "What?"}),
        )

    server = bridged(running.address, "ann")
    found, wrong, resource, prompt = asyncio.run(meet(Client(server, mode=mode), life))
    assert found.structured_content["passages"][0]["cite"] == "bridge/green@1#0"
    assert text_of(wrong) == "There is no topic 'nothing' in the space 'default'."
    assert resource.contents[0].text == "Bo likes the green one."
    assert "Relational paths:" in prompt.messages[0].content.text
    assert told


@pytest.mark.slow
def test_a_bridge_shows_what_the_key_and_its_options_allow(running: Running) -> None:
    async def life(client: Client) -> tuple[set[str], Any]:
        note = {"topic": "a", "content": "y"}
        tried = await client.call_tool("remember", note)
        return names_of(await client.list_tools()), tried

    for key, options in (("eve", ("--tools", "all")), ("ann", ("--read-only",))):
        server = bridged(running.address, key, *options)
        shown, tried = asyncio.run(meet(Client(server), life))
        assert "recall" in shown, key
        assert not shown & WRITING_TOOLS, key
        assert ("pathrag_retrieve" in shown) is (key == "eve"), key
        assert text_of(tried) == "This needs the role writer: yours is reader.", key


def sentence_of(*arguments: str, key: str) -> str:
    """What the command ends with."""
    done = subprocess.run(
        hades_command("mcp", *arguments),
        input=b"",
        capture_output=True,
        env=hades_environment() | {"HADES_KEY": key},
    )
    assert (done.returncode, done.stdout) == (2, b""), done.stderr
    sentence = done.stderr.decode()
    assert sentence.count("\n") == 1
    return sentence


@pytest.mark.slow
def test_a_bridge_that_is_not_let_in_says_what_to_do(running: Running) -> None:
    address = running.address
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
    for arguments, key, sentence in (
        (("--memory", address), "nobody", "This key is not known"),
        (("--memory", address), "two\nlines", "Your key (HADES_KEY) contains"),
        (("--memory", address, "--space", "work"), "ann", "hades keys create --space"),
        (("--memory", nobody), "ann", "start it with `hades serve`"),
    ):
        assert sentence in sentence_of(*arguments, key=key)


@pytest.mark.slow
def test_a_client_that_starts_the_command_is_not_kept_waiting(
    running: Running, tmp_path: Path
) -> None:
    async def life(said: TextIO) -> None:
        with pytest.raises(ExceptionGroup) as broken:
            async with Client(stdio_client(bridged(running.address, "nobody"), said)) as client:
                await client.list_tools()
        assert broken.group_contains(MCPError, match="Connection closed")

    with (tmp_path / "said").open("w+") as said:
        asyncio.run(life(said))
        said.seek(0)
        assert "This key is not known" in said.read()
