"""Names are any text: they are kept as they are, and shown so that they play no tricks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from making import T1
from serve.mcp_making import offered, talk, text_of
from test_cli import Shell

import hades

FORGED = "FORGED@9"
ODD = f"plan\n{FORGED}, since 2020\r\x1b[31m\u202e\u2028tail"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "notes.hades"
    with hades.open(made) as memory:
        memory.remember(ODD, "Approach X was rejected.", tags=[f"tag\n{FORGED}"], valid_from=T1)
        memory.remember(ODD, "Approach X is viable.")
        memory.relate(ODD, f"about\n{FORGED}", f"Approach\n{FORGED}", evidence="so\nit is")
        memory.create_space(f"other\n{FORGED}")
        memory.index()
    return made


COMMANDS = [
    ("topics",),
    ("get", ODD),
    ("history", ODD),
    ("diff", ODD, "1", "2"),
    ("edges",),
    ("entities",),
    ("spaces", "list"),
    ("log",),
    ("recall", "Is approach X viable?"),
    ("ask", "Is approach X viable?"),
    ("search", "viable"),
    ("neighbours", ODD),
    ("paths", ODD, f"Approach\n{FORGED}"),
    ("subgraph", ODD),
    ("working-memory", ODD),
    ("get", f"no such\n{FORGED}"),
    ("forget", ODD),
    ("purge", ODD, "--yes"),
]

TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("topics", {}),
    ("history", {"topic": ODD}),
    ("recall", {"question": "Is approach X viable?"}),
    ("working_memory", {"topic": ODD}),
    ("remember", {"topic": ODD, "content": "Something else."}),
    ("relate", {"source": ODD, "relation": "r", "target": f"Z\n{FORGED}"}),
    ("pathrag_retrieve", {"query": "Approach X"}),
    ("hipporag_retrieve", {"query": "Approach X"}),
    ("forget", {"topic": ODD}),
]


def _forged(told: str) -> list[str]:
    """The lines that begin as one of ours would, but come from a name."""
    return [line for line in told.splitlines() if line.lstrip().startswith(FORGED)]


@pytest.mark.slow
def test_a_command_shows_an_odd_name_on_one_line(path: Path) -> None:
    for words in COMMANDS:
        done = Shell(path).run(*words)
        assert done.exit_code == (2 if words[-1].startswith("no such") else 0), done.output
        told = done.output
        assert not any(sign in told for sign in "\r\x1b\u202e\u2028"), words
        assert not _forged(told), words


def test_a_tool_tells_an_odd_name_on_one_line(path: Path) -> None:
    with offered(path) as server:
        for tool, arguments in TOOLS:
            told = text_of(talk(server, lambda c, t=tool, a=arguments: c.call_tool(t, a)))
            assert not _forged(told), tool


def test_an_odd_name_is_kept_as_it_is(path: Path, tmp_path: Path) -> None:
    with hades.open(path) as memory:
        assert memory.get(ODD).topic == ODD
        memory.export(tmp_path / "all.jsonl")
        with hades.open(tmp_path / "copy.hades") as copy:
            copy.import_(tmp_path / "all.jsonl")
            assert [one.name for one in copy.topics()] == [ODD]
        memory.purge(ODD)
        assert memory.topics() == []
