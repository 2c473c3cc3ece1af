"""`hades mcp` in front of a server that does not let it in: a sentence, and the end."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import TextIO

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from serve.mcp_making import hades_command, hades_environment
from served_making import Served, Serving

from hades.serve.auth.caller import Role

pytest_plugins = ["served_fixtures"]


def told(*arguments: str, key: str) -> str:
    """What the command ends with."""
    done = subprocess.run(
        hades_command("mcp", *arguments),
        input=b"",
        capture_output=True,
        env=hades_environment() | {"HADES_KEY": key},
    )
    assert (done.returncode, done.stdout) == (2, b"")
    sentence = done.stderr.decode()
    assert sentence.count("\n") == 1
    return sentence


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("nobody", "does not know your key: put one into HADES_KEY"),
        ("", "wants a key: put one into HADES_KEY"),
        ("kö", "Your key (HADES_KEY) holds"),
        ("two\nlines", "Your key (HADES_KEY) holds"),
    ],
)
def test_a_wrong_key_is_told_with_what_to_do(served: Served, key: str, sentence: str) -> None:
    assert sentence in told("--memory", served.listening["http"].where, key=key)


def test_a_server_that_is_not_there_is_told_with_what_to_do(serving: Serving) -> None:
    with serving() as served:
        address, key = served.listening["http"].where, served.key(Role.WRITER)
        refused = told("--memory", address, "--space", "work", key=key)
        assert "hades keys create --space" in refused
    assert "start it with `hades serve`" in told("--memory", address, key=key)


def test_a_client_that_starts_the_command_is_not_kept_waiting(
    served: Served, tmp_path: Path
) -> None:
    command, *arguments = hades_command("mcp", "--memory", served.listening["http"].where)
    environment = hades_environment() | {"HADES_KEY": "nobody"}
    started = StdioServerParameters(command=command, args=arguments, env=environment)

    async def life(said: TextIO) -> None:
        with pytest.raises(ExceptionGroup) as broken:
            async with Client(stdio_client(started, said)) as client:
                await client.list_tools()
        assert broken.group_contains(MCPError, match="Connection closed")

    with (tmp_path / "said").open("w+") as said:
        asyncio.run(life(said))
        said.seek(0)
        assert "does not know your key" in said.read()
