"""`hades ask --agent` and `hades chat`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from serving import ANN
from shell import Shell

import hades
from tests.callers import caller


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    path = tmp_path_factory.mktemp("agents") / "notes.hades"
    with hades.open(path) as memory:
        memory.remember("people/maya", "Maya Lind leads Atlas. She joined in 2021.")
        memory.remember("infra/queue", "We decided to use Redis as queue.")
    return Shell(path)


@pytest.mark.slow
def test_ask_by_an_agent_shows_the_answer_and_every_step(shell: Shell) -> None:
    told = shell("ask", "Who leads Atlas?", "--agent")
    assert "Maya Lind leads Atlas" in told
    assert "judge: " in told
    result = shell.json("ask", "Who leads Atlas?", "--agent", "--glob", "people/*")
    assert {"current_answer", "reasoning", "historical_context", "edges", "obsolete_edges"} < set(
        result
    )
    planned = shell("ask", "Compare Atlas and Redis and say what is open", "--agent")
    assert [line[0] for line in planned.splitlines() if line[1:3] == ". "] == list("1234")
    assert "\n   [1] people/maya@1" in planned
    assert "\ufffd" not in planned
    assert "neither --dry-run" in shell.refused("ask", "Who?", "--agent", "--dry-run")
    assert "at most 4,000 characters" in shell.refused("ask", "a" * 5_000, "--agent")


def test_a_chat_continues_in_the_next_run(shell: Shell) -> None:
    first = shell(
        "chat", stdin="Who leads Atlas?\n\nthanks!\nremember that Atlas runs on rack 4.\n"
    )
    assert "Maya Lind leads Atlas" in first
    assert "Ask about what this memory knows" in first
    assert "(done)" in first
    second = shell("chat", "--json", stdin="And when did she join?\n")
    assert json.loads(second)["question"] == "And when did she join?"
    assert "2021" in json.loads(second)["reply"]
    messages = shell.json("chat", "--show")
    assert [message["role"] for message in messages] == ["user", "assistant"] * 4
    assert "no conversation 'other'" in shell.refused("chat", "--show", "--thread", "other")


def test_a_line_that_is_too_long_does_not_end_a_chat(shell: Shell) -> None:
    lines = "a" * 100_000 + "\nWho leads Atlas?\n"
    result = shell.run("chat", "--thread", "long", stdin=lines)
    assert result.exit_code == 0
    assert result.stderr == "hades: A line has at most 4,000 characters.\n"
    assert "Maya Lind" in result.stdout
    assert len(shell.json("chat", "--thread", "long", "--show")) == 2


def test_a_chat_over_a_server_needs_a_space_that_an_admin_creates(server: Any, path: Path) -> None:
    with server.serving(path), hades.open(server.address) as admin:
        admin.remember("people/maya", "Maya Lind leads Atlas.")
        server.caller = caller("eve", "writer")
        shell = Shell(server.address)
        assert "ask an admin for `hades spaces create checkpoints`" in shell.refused(
            "chat", stdin="Who leads Atlas?\n"
        )
        server.caller = ANN
        admin.create_space("checkpoints")
        server.caller = caller("eve", "writer")
        result = shell.run("chat", stdin="Who leads Atlas?\nremember that Ann leads Borealis.\n")
        assert "Maya Lind leads Atlas" in result.stdout
        assert "not a server: use `remember` there" in result.stderr


def test_without_langgraph_the_extra_is_named(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for words in (("ask", "Who leads Atlas?", "--agent"), ("chat",)):
        assert "need the extra `agents`: pip install" in shell.refused(*words)
