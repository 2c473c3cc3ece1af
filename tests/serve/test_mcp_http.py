"""MCP over HTTP: a real server, real clients, and the caller the gate names."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
import uvicorn
from mcp import Client, StdioServerParameters
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
from hades.serve.auth.caller import Caller, Role
from hades.serve.auth.keys import Keys
from hades.serve.auth.middleware import protected
from hades.serve.auth.sockets import LISTENERS
from hades.serve.executor import Executor
from hades.serve.mcp import http as mcp_http
from hades.serve.mcp.http import mounted

LONG = "\n\n".join(f"Part {n}: the engine {n} of Ann Lee runs in Oslo." for n in range(6_000))
PATIENCE_S = 60.0
CALLERS = {
    "ann": ANN,
    "eve": EVE,
    "lee": Caller("lee", Role.WRITER, frozenset({"work"})),
}

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
LISTING = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
BOTH = {"accept": "application/json, text/event-stream"}


def gated(app: Any) -> Any:
    """The gate, as far as these tests need one: a header names the caller."""

    async def ask(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            key = headers.get(b"authorization", b"").removeprefix(b"Bearer ")
            name = headers.get(b"x-name", key).decode()
            scope = {**scope, "hades.caller": CALLERS.get(name)}
        await app(scope, receive, send)

    return ask


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Where it is served, by uvicorn in a thread."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(gated(app), log_config=None, ws="none"))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join()


def talk(url: str, name: str, life: Any, mode: Any = "legacy") -> Any:
    """What a client does, as somebody."""

    async def with_name() -> Any:
        async with httpx2.AsyncClient(headers={"x-name": name}, timeout=PATIENCE_S) as http:
            return await meet(
                Client(streamable_http_client(url, http_client=http), mode=mode), life
            )

    return asyncio.run(with_name())


@pytest.fixture
def desk(path: Path) -> Iterator[Executor]:
    with hades.open(path) as memory:
        memory.create_space("work")
    opened = Executor.open(path)
    yield opened
    opened.close()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_remembers_and_recalls(desk: Executor, mode: Any) -> None:
    async def life(client: Client) -> tuple[str, set[str]]:
        note = {"topic": "färg/blå", "content": "Ann likes the blue one."}
        await client.call_tool("remember", note)
        found = await client.call_tool("recall", {"question": "What does Ann like?"})
        return text_of(found), names_of(await client.list_tools())

    heard: list[tuple[Any, str]] = []
    desk.on_recall = lambda recall, space: heard.append((recall.question, space))
    with served(mounted(desk)) as url:
        found, tools = talk(url, "ann", life, mode)
    assert "färg/blå@1#0" in found
    assert tools >= WRITING_TOOLS
    assert heard == [("What does Ann like?", "default")]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_roles_and_spaces_hold(desk: Executor, mode: Any) -> None:
    note = {"topic": "a", "content": "x"}

    async def reader(client: Client) -> tuple[set[str], Any]:
        return names_of(await client.list_tools()), await client.call_tool("remember", note)

    async def of_work(client: Client) -> tuple[Any, Any]:
        await client.call_tool("remember", note)
        return (
            await client.call_tool("topics", {}),
            await client.call_tool("topics", {"space": "default"}),
        )

    with served(mounted(desk)) as url:
        tools, tried = talk(url, "eve", reader, mode)
        own, other = talk(url, "lee", of_work, mode)
    assert tools
    assert not tools & WRITING_TOOLS
    assert text_of(tried) == "This needs the role writer: yours is reader."
    assert own.structured_content["space"] == "work"
    assert "You may not use the space 'default'" in text_of(other)


def test_the_audit_log_names_the_tool(desk: Executor, tmp_path: Path) -> None:
    async def life(client: Client) -> None:
        await client.list_tools()
        await client.call_tool("remember", {"topic": "a", "content": "x"})
        await client.call_tool("recall", {"question": "What is a?"})

    calls: list[tuple[str, str, int]] = []
    gate = protected(
        mounted(desk),
        Keys(tmp_path / "keys"),
        observe=lambda call, mode, status, _seconds: calls.append((call, mode, status)),
    )

    async def by_socket(scope: Any, receive: Any, send: Any) -> None:
        await gate({**scope, "hades.listener": LISTENERS["rw"]}, receive, send)

    with served(by_socket) as url:
        talk(url, "ann", life)
    assert ("MCP remember", "RW", 200) in calls
    assert ("MCP recall", "RO", 200) in calls
    assert {call for call, mode, _ in calls if mode == "RW"} == {"MCP remember"}


def test_a_read_only_mount_offers_nothing_that_writes(desk: Executor) -> None:
    with served(mounted(desk, read_only=True)) as url:
        tools = talk(url, "ann", lambda client: client.list_tools())
    assert not names_of(tools) & WRITING_TOOLS


def test_without_a_caller_nothing_is_served(desk: Executor) -> None:
    with served(build_app(desk)) as url:
        answer = httpx.post(url, json={}, headers={"accept": "application/json"})
    assert answer.status_code == 403
    assert "was not authenticated" in answer.text


def test_nobody_goes_on_with_the_session_of_another(desk: Executor) -> None:
    with served(mounted(desk)) as url:
        begun = httpx.post(url, json=HELLO, headers=BOTH | {"x-name": "ann"})
        session = {"mcp-session-id": begun.headers["mcp-session-id"]}
        own = httpx.post(url, json=LISTING, headers=BOTH | session | {"x-name": "ann"})
        other = httpx.post(url, json=LISTING, headers=BOTH | session | {"x-name": "eve"})
    assert own.status_code == 200
    assert other.status_code == 404


def test_one_caller_cannot_take_all_the_sessions(
    desk: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_http, "SESSIONS_AT_MOST", 8)
    monkeypatch.setattr(mcp_http, "SESSIONS_OF_ONE_CALLER", 3)

    def began(http: httpx.Client, name: str) -> dict[str, str]:
        answer = http.post("", json=HELLO, headers=BOTH | {"x-name": name})
        assert answer.status_code == 200
        return {"mcp-session-id": answer.headers["mcp-session-id"], "x-name": name}

    def goes_on(http: httpx.Client, session: dict[str, str]) -> bool:
        return http.post("", json=LISTING, headers=BOTH | session).status_code == 200

    with served(mounted(desk)) as url, httpx.Client(base_url=url) as http:
        first, second = began(http, "eve"), began(http, "eve")
        for _ in range(10):
            began(http, "eve")
            assert goes_on(http, first)  # used all the time
        assert not goes_on(http, second)
        of_ann = [began(http, "ann") for _ in range(3)]
        assert all(goes_on(http, one) for one in of_ann)
        assert http.delete("", headers=BOTH | of_ann[0]).status_code == 200
        began(http, "ann")
        assert goes_on(http, of_ann[1])


def test_a_body_that_is_too_large_is_refused(desk: Executor) -> None:
    with served(mounted(desk)) as url:
        answer = httpx.post(url, content=b"x" * (16 * 2**20 + 1), headers={"x-name": "ann"})
    assert answer.status_code == 413


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_cancelled_question_stops_the_indexing_it_waits_for(desk: Executor, mode: Any) -> None:
    async def life(client: Client) -> None:
        begun = asyncio.Event()

        async def heard(_progress: float, _total: float | None, message: str | None) -> None:
            if message and message.startswith("embedding"):
                begun.set()

        asking = client.call_tool("recall", {"question": "Which?"}, progress_callback=heard)
        working = asyncio.create_task(asking)
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        assert desk.standing().running["work"] == 1
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        until = time.monotonic() + PATIENCE_S
        while desk.standing().running["work"] and time.monotonic() < until:
            await asyncio.sleep(0.05)

    asyncio.run(desk.write(ANN, "default", lambda memory: memory.remember("manual", LONG)))
    with served(mounted(desk)) as url:
        talk(url, "ann", life, mode)
    assert not desk.standing().running["work"]
    assert asyncio.run(desk.read(ANN, "default", lambda view: view.pending)) == 1


def test_questions_are_answered_while_another_process_writes(desk: Executor, path: Path) -> None:
    script = (
        f"import hades, time\nm = hades.open({str(path)!r})\n"
        "for n in range(30): m.remember(f'other/{n}', f'Note {n} of Bo Ek.'); time.sleep(.05)\n"
    )

    async def life(client: Client) -> int:
        while other.poll() is None:
            answers = await asyncio.gather(
                client.call_tool("recall", {"question": "What did Bo Ek note?"}),
                client.call_tool("remember", {"topic": "own", "content": str(time.time())}),
                client.list_resources(),
            )
            assert not any(getattr(one, "is_error", False) for one in answers)
        return len((await client.list_resources()).resources)

    with served(mounted(desk)) as url:
        other = subprocess.Popen([sys.executable, "-c", script], env=hades_environment())
        assert talk(url, "ann", life) == 31
    assert other.returncode == 0


def test_it_is_a_part_of_the_server(desk: Executor) -> None:
    async def life(client: Client) -> Any:
        await client.call_tool("remember", {"topic": "a", "content": "x"})
        return await client.call_tool("topics", {})

    with served(build_app(desk)) as url:
        topics = talk(url, "ann", life)
        states = httpx.get(
            url.removesuffix("/mcp") + "/v1/spaces/default/states/a", headers={"x-name": "ann"}
        )
    assert [one["topic"] for one in topics.structured_content["topics"]] == ["a"]
    assert states.json()["content"] == "x"


def bridged(address: str, key: str, *options: str) -> StdioServerParameters:
    """`hades mcp` in front of a server."""
    command, *arguments = hades_command("mcp", "--memory", address, *options)
    environment = hades_environment() | {"HADES_KEY": key}
    return StdioServerParameters(command=command, args=arguments, env=environment)


def test_a_client_that_starts_commands_reaches_a_server(desk: Executor) -> None:
    told: list[str | None] = []

    async def heard(_progress: float, _total: float | None, message: str | None) -> None:
        told.append(message)

    async def writer(client: Client) -> Any:
        note = {"topic": "färg/blå", "text": "Ann likes the blue one."}
        await client.call_tool("ingest_text", note)
        question = {"question": "What does Ann like?"}
        await client.call_tool("remember", {"topic": "b", "content": "The red one, Bo said."})
        found = await client.call_tool("recall", question, progress_callback=heard)
        wrong = await client.call_tool("history", {"topic": "nothing"})
        (first, *_) = (await client.list_resources()).resources
        prompt = await client.get_prompt("catch_up", {"topic": "b"})
        content = await client.read_resource(first.uri)
        return text_of(found), text_of(wrong), content.contents[0], prompt

    async def reader(client: Client) -> set[str]:
        return names_of(await client.list_tools()) | names_of(await client.list_prompts())

    with served(build_app(desk)) as url:
        address = url.removesuffix("/mcp")
        found, wrong, content, _ = asyncio.run(meet(Client(bridged(address, "ann")), writer))
        as_reader = asyncio.run(meet(Client(bridged(address, "eve")), reader))
        hidden = asyncio.run(meet(Client(bridged(address, "ann", "--read-only")), reader))
    assert "färg/blå@1#0" in found
    assert wrong == "There is no topic 'nothing' in the space 'default'."
    assert content.text == "The red one, Bo said."
    assert told
    assert as_reader == hidden
    assert "recall" in hidden
    assert not hidden & {*WRITING_TOOLS, "save_session"}
