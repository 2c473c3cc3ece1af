"""`hades mcp`: a real process, a real client, one memory file."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from serve.mcp_making import (
    WRITING_TOOLS,
    hades_command,
    hades_environment,
    meet,
    names_of,
    stdio,
    text_of,
)

import hades

LONG = "\n\n".join(f"Part {n}: the engine {n} of Ann Lee runs in Oslo." for n in range(3_000))
PATIENCE_S = 60.0
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
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def asked(name: str, arguments: dict[str, Any], number: int = 2) -> dict[str, Any]:
    """A call of a tool, as it goes over the wire."""
    params = {"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def started(path: Path, *options: str, code: str = "") -> subprocess.Popen[bytes]:
    """The server, to be spoken to by hand."""
    command = hades_command("mcp", "--memory", str(path), *options)
    if code:
        command[2] = f"{code}\n{command[2]}"
    pipes = subprocess.PIPE
    return subprocess.Popen(
        command, stdin=pipes, stdout=pipes, stderr=pipes, env=hades_environment()
    )


def say(server: subprocess.Popen[bytes], *messages: dict[str, Any] | str) -> None:
    assert server.stdin is not None
    for message in messages:
        text = message if isinstance(message, str) else json.dumps(message)
        server.stdin.write(text.encode() + b"\n")
    server.stdin.flush()


def until_told(server: subprocess.Popen[bytes], wanted: Callable[[dict[str, Any]], bool]) -> None:
    assert server.stdout is not None
    while not wanted(json.loads(server.stdout.readline())):
        pass


@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.slow)])
def test_a_client_remembers_and_recalls(path: Path, mode: Any) -> None:
    async def life(client: Client) -> tuple[str, str]:
        note = {"topic": "färg/blå", "content": "Ann likes the blue one, not the red."}
        await client.call_tool("remember", note)
        found = await client.call_tool("recall", {"question": "Which one does Ann like?"})
        (resource,) = (await client.list_resources()).resources
        content = (await client.read_resource(resource.uri)).contents[0]
        return text_of(found), str(getattr(content, "text", ""))

    found, content = asyncio.run(meet(Client(stdio(path), mode=mode), life))
    assert "färg/blå@1#0" in found
    assert content == "Ann likes the blue one, not the red."
    with hades.open(path) as memory:
        assert memory.get("färg/blå").version == 1


def test_a_read_only_server_offers_nothing_that_writes(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "x")

    async def life(client: Client) -> tuple[set[str], str]:
        tools = names_of(await client.list_tools())
        return tools, text_of(await client.call_tool("get", {"topic": "a"}))

    options = ("--read-only", "--tools", "core")
    tools, state = asyncio.run(meet(Client(stdio(path, *options)), life))
    assert {"recall", "history", "topics"} <= tools
    assert not tools & {*WRITING_TOOLS, "pathrag_retrieve"}
    assert state.endswith("x")


@pytest.mark.slow
def test_a_named_space_is_the_only_one(path: Path) -> None:
    with hades.open(path) as memory:
        memory.create_space("work")

    async def life(client: Client) -> tuple[Any, Any]:
        await client.call_tool("remember", {"topic": "a", "content": "x"})
        return (
            await client.call_tool("topics", {}),
            await client.call_tool("topics", {"space": "default"}),
        )

    own, other = asyncio.run(meet(Client(stdio(path, "--space", "work")), life))
    assert own.structured_content["space"] == "work"
    assert other.is_error
    with hades.open(path) as memory:
        assert [one.name for one in memory.in_space("work").topics()] == ["a"]


@pytest.mark.slow
def test_nothing_but_the_protocol_is_written_to_standard_output(path: Path) -> None:
    noisy = (
        "import logging, os, warnings, hades.memory as m\n"
        "logging.basicConfig(level='DEBUG')\n"
        "quiet = m.Memory.remember\n"
        "def remember(*given, **options):\n"
        "    print('noise'); os.write(1, b'noise')\n"
        "    warnings.warn('noise'); os.system('echo noise')\n"
        "    return quiet(*given, **options)\n"
        "m.Memory.remember = remember\n"
    )
    server = started(path, code=noisy)
    say(server, HELLO, READY, "this is no JSON", asked("remember", {"topic": "a", "content": "x"}))
    answers: list[dict[str, Any]] = []
    assert server.stdout is not None
    while not any(one.get("id") == 2 for one in answers):
        answers.append(json.loads(server.stdout.readline()))
    rest, errors = server.communicate(timeout=PATIENCE_S)
    assert rest == b""
    assert all(one["jsonrpc"] == "2.0" for one in answers)
    assert errors.count(b"noise") >= 4
    assert server.returncode == 0


@pytest.mark.slow
def test_two_agents_and_another_process_share_one_memory(path: Path) -> None:
    async def agent(name: str) -> int:
        async def life(client: Client) -> int:
            for number in range(5):
                note = {"topic": f"{name}/{number}", "content": f"{name} wrote {number}."}
                assert not (await client.call_tool("remember", note)).is_error
                assert not (await client.call_tool("recall", {"question": f"{name}?"})).is_error
            return len(
                (await client.call_tool("topics", {"limit": 200})).structured_content["topics"]
            )

        return await meet(Client(stdio(path)), life)

    async def both() -> list[int]:
        return await asyncio.gather(agent("ann"), agent("bo"))

    hades.open(path).close()
    script = (
        f"import hades\nm = hades.open({str(path)!r})\n"
        "for n in range(40): m.remember(f'other/{n}', 'x')\n"
    )
    other = subprocess.Popen([sys.executable, "-c", script], env=hades_environment())
    counts = asyncio.run(both())
    assert other.wait(PATIENCE_S) == 0
    assert max(counts) >= 10
    with hades.open(path) as memory:
        assert len(memory.topics()) == 50


@pytest.mark.slow
def test_a_cancelled_call_stops_and_the_server_goes_on(path: Path) -> None:
    async def life(client: Client) -> Any:
        begun = asyncio.Event()

        async def heard(_progress: float, _total: float | None, message: str | None) -> None:
            if message and message.startswith("embedding"):
                begun.set()

        long = client.call_tool(
            "ingest_text", {"topic": "manual", "text": LONG}, progress_callback=heard
        )
        working = asyncio.create_task(long)
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        return await client.call_tool("topics", {})

    topics = asyncio.run(meet(Client(stdio(path), mode="legacy"), life))
    assert [one["name"] for one in topics.structured_content["topics"]] == ["manual"]
    # It was stopped: the text is kept, and waits to be indexed.
    with hades.open(path, read_only=True) as memory:
        assert memory.pending == 1


@pytest.mark.slow
def test_the_server_ends_when_its_client_goes_even_in_the_middle_of_work(path: Path) -> None:
    server = started(path)
    say(server, HELLO, READY, asked("ingest_text", {"topic": "manual", "text": LONG}))
    until_told(server, lambda one: "embedding" in str(one.get("params", {}).get("message", "")))
    server.communicate(timeout=PATIENCE_S)
    assert server.returncode == 0


@pytest.mark.slow
def test_the_server_ends_when_its_client_is_killed(path: Path) -> None:
    client = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, sys\n"
            "pipe = subprocess.PIPE\n"
            "server = subprocess.Popen(sys.argv[1:], stdin=pipe, stdout=pipe)\n"
            "print('started', flush=True); server.wait()",
            *hades_command("mcp", "--memory", str(path)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=hades_environment(),
    )
    assert client.stdout is not None
    assert client.stdout.readline() == b"started\n"
    client.send_signal(signal.SIGKILL)
    # The server has the same standard error, which closes when it has ended too.
    client.communicate(timeout=PATIENCE_S)


@pytest.mark.slow
def test_an_interrupt_ends_it(path: Path) -> None:
    server = started(path)
    say(server, HELLO)
    until_told(server, lambda one: one.get("id") == 1)
    server.send_signal(signal.SIGINT)
    assert server.wait(PATIENCE_S) == -signal.SIGINT
    server.communicate()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--space", "nowhere"], "There is no space 'nowhere'"),
        (["--read-only"], "There is no memory"),
    ],
)
def test_what_cannot_be_served_is_told_at_once(
    path: Path, options: list[str], sentence: str
) -> None:
    done = subprocess.run(
        hades_command("mcp", "--memory", str(path), *options),
        input=b"",
        capture_output=True,
        env=hades_environment(),
    )
    assert done.returncode == 2
    assert done.stdout == b""
    assert sentence in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
def test_starting_loads_nothing_a_question_needs() -> None:
    code = "import sys, hades.serve.mcp.stdio; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=hades_environment()
    )
    heavy = {"numba", "onnxruntime", "tantivy", "numpy", "fastapi"}
    assert not heavy & set(done.stdout.split())
    code = "import sys, hades.cli; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=hades_environment()
    )
    assert not {"mcp", "mcp_types", "starlette"} & set(done.stdout.split())
