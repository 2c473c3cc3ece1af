"""Claude Agent SDK: the server in its process, called through the SDK by a scripted Claude Code."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import hades

pytest.importorskip("claude_agent_sdk", reason="the extra `claude-agent-sdk` is not installed")

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, TextBlock, query

from hades.adapters.claude_agent_sdk import hades_server

pytestmark = pytest.mark.slow


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """A program in place of Claude Code."""
    script = tmp_path / "claude"
    scripted = Path(__file__).parent / "scripted_claude.py"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} {scripted} "$@"\n')
    script.chmod(0o755)
    return script


def call_tools(claude: Path, server: Any, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Have the scripted program call tools; return the names of all tools, then the answers."""

    async def run() -> list[Any]:
        options = ClaudeAgentOptions(cli_path=claude, mcp_servers={"hades": server})
        return [
            json.loads(block.text)
            async for message in query(prompt=json.dumps(calls), options=options)
            if isinstance(message, AssistantMessage)
            for block in message.content
            if isinstance(block, TextBlock)
        ]

    return asyncio.run(run())


def test_claude_writes_and_recalls(memory: hades.Memory, claude: Path) -> None:
    names, wrote, recalled, unknown, wrong = call_tools(
        claude,
        hades_server(memory),
        ("remember", {"topic": "ann/boat", "content": "Ann's boat is called Juniper."}),
        ("recall", {"question": "What is the boat called?"}),
        ("history", {"topic": "none"}),
        ("recall", {"text": "?"}),
    )
    assert names == ["forget", "history", "recall", "remember"]
    assert wrote == [False, "Remembered as ann/boat@1."]
    assert recalled[0] is False
    assert "Juniper" in recalled[1]
    assert unknown == [True, "There is no topic 'none' in the space 'default'."]
    assert wrong[0] is True
    assert memory.get("ann/boat").content == "Ann's boat is called Juniper."


def test_it_can_be_limited_to_reading(memory: hades.Memory, claude: Path) -> None:
    server = hades_server(memory, writes=False)
    names, refused = call_tools(claude, server, ("remember", {"topic": "a", "content": "b"}))
    assert names == ["history", "recall"]
    assert refused[0] is True
    assert memory.topics() == []
