"""Names are any text: they are kept as they are, and shown so that they play no tricks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import T1
from serve.mcp_making import talk, text_of
from test_cli import Shell

import hades
from hades.domain.names import one_line
from hades.serve.executor import Executor

FORGED = "FORGED@9"
ODD = f"plan\n{FORGED}, since 2020\r\x1b[31m\u202e\u2028tail"
SHOWN = one_line(ODD)


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


@pytest.mark.parametrize(
    "words",
    [
        ("topics",),
        ("get", ODD),
        ("history", ODD),
        ("diff", ODD, "1", "2"),
        ("edges",),
        ("entities",),
        ("spaces",),
        ("log",),
        ("recall", "Is approach X viable?"),
        ("ask", "Is approach X viable?"),
        ("search", "viable"),
        ("neighbours", ODD),
        ("paths", ODD, f"Approach\n{FORGED}"),
        ("subgraph", ODD),
        ("working-memory", ODD),
        ("forget", ODD),
        ("purge", ODD, "--yes"),
        ("get", f"no such\n{FORGED}"),
    ],
)
def test_a_command_shows_an_odd_name_on_one_line(path: Path, words: tuple[str, ...]) -> None:
    told = Shell(path).run(*words).output
    assert not any(sign in told for sign in "\r\x1b\u202e\u2028")
    assert not any(line.lstrip().startswith(FORGED) for line in told.splitlines())


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("topics", {}),
        ("history", {"topic": ODD}),
        ("recall", {"question": "Is approach X viable?"}),
        ("working_memory", {"topic": ODD}),
        ("remember", {"topic": ODD, "content": "Something else."}),
        ("relate", {"source": ODD, "relation": "r", "target": f"Z\n{FORGED}"}),
        ("forget", {"topic": ODD}),
        ("pathrag_retrieve", {"query": "Approach X"}),
        ("hipporag_retrieve", {"query": "Approach X"}),
    ],
)
def test_a_tool_tells_an_odd_name_on_one_line(path: Path, tool: str, arguments: Any) -> None:
    desk = Executor.open(path)
    told = text_of(talk(desk, lambda client: client.call_tool(tool, arguments)))
    desk.close()
    assert not any(line.lstrip().startswith(FORGED) for line in told.splitlines())


def test_an_odd_name_is_kept_as_it_is(path: Path, tmp_path: Path) -> None:
    with hades.open(path) as memory:
        assert memory.get(ODD).topic == ODD
        memory.export(tmp_path / "all.jsonl")
        with hades.open(tmp_path / "copy.hades") as copy:
            copy.import_(tmp_path / "all.jsonl")
            assert [one.name for one in copy.topics()] == [ODD]
        memory.purge(ODD)
        assert memory.topics() == []


@given(st.text())
def test_a_shown_name_is_one_line_and_steers_nothing(name: str) -> None:
    shown = one_line(name)
    assert len(shown) == len(name)
    assert len(shown.splitlines()) <= 1
    assert shown.isprintable() or any(one.isspace() for one in shown)
    assert one_line(shown) == shown
