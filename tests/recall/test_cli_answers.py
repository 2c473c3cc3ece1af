"""Asking on the command line, from notes to answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import Shell

import hades


@pytest.fixture
def shell(path: Path) -> Shell:
    with hades.open(path) as memory:
        memory.remember(
            "design/approach_x",
            "Approach X was rejected because it triggers Bug Y.",
            tags=["decision"],
            valid_from="2024-01-10",
        )
        memory.remember("bugs/bug_y", "Bug Y corrupts data on restart.", valid_from="2024-01-05")
        memory.remember("lunch", "The soup was good.", valid_from="2024-01-05")
        memory.relate("design/approach_x", "rejected_because", "bugs/bug_y")
    return Shell(path)


def test_recall(shell: Shell) -> None:
    out = shell("recall", "Why was approach X rejected?")
    assert "[1] design/approach_x@1, line 1, 2024-01-10" in out
    assert "fallback" not in out
    assert "│" not in out
    told = shell("recall", "Why was approach X rejected?", "--explain")
    assert told.startswith("why, execution")
    assert "seeds" in told
    assert "│" in told


def test_the_context_keeps_its_budget(shell: Shell) -> None:
    words = ("recall", "Why was approach X rejected?", "--budget", "60")
    context = shell(*words, "--context")
    assert context.startswith("Question: Why was approach X rejected?")
    found = shell.json(*words)
    assert found["context"] == context.removesuffix("\n")
    assert found["tokens"] <= 60
    assert found["plan"]["budget"]["tokens"] == 60


def test_a_recall_can_be_narrowed_planned_and_dated(shell: Shell) -> None:
    found = shell.json("recall", "What is known?", "--tag", "decision")
    assert {p["chunk"]["topic"] for p in found["passages"]} == {"design/approach_x"}
    found = shell.json("recall", "What is known?", "--plan", '{"final_context": 1}')
    assert len(found["passages"]) == 1
    found = shell.json("recall", "Why was approach X rejected?", "--at", "2024-01-07")
    assert "design/approach_x" not in {p["chunk"]["topic"] for p in found["passages"]}


def test_ask(shell: Shell) -> None:
    out = shell("ask", "Why was approach X rejected?")
    assert "rejected because it triggers Bug Y. [1]" in out
    found = shell.json("ask", "Why was approach X rejected?")
    assert found["sentences"][0]["citation"] == 1
    assert found["unsaid"] == []
    assert "recall" not in found
    assert out.startswith(found["text"])
    assert shell.json("ask", "Why was approach X rejected?", "--whole")["recall"]["passages"]


def test_asked_about_something_unknown(shell: Shell) -> None:
    answer = shell("ask", "Is approach Z viable?")
    assert answer.startswith("Nothing found says anything about “approach Z”. Closest:\n")
    found = shell.json("ask", "Is approach Z viable?")
    assert found["sentences"]
    assert found["unsaid"] == ["approach Z"]


def test_paths_and_neighbours(shell: Shell) -> None:
    assert "rejected_because" in shell("paths", "design/approach_x", "bugs/bug_y")
    assert "bugs/bug_y" in shell("neighbours", "design/approach_x")
    chosen = ("-r", "rejected_because", "-r", "fixed_by", "--direction", "out")
    near = shell("neighbours", "design/approach_x", *chosen, "--least-weight", "0.5")
    assert "--[rejected_because" in near
    assert "@1#0" not in near
    assert "no neighbours" in shell("neighbours", "bugs/bug_y", *chosen)
