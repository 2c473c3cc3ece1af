"""Asking on the command line, from notes to answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import hades
from hades.cli import app
from hades.models.encoder import count_tokens


class Shell:
    """Runs `hades …` on one memory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, *words: str) -> str:
        result = CliRunner().invoke(app, [*words, "--memory", str(self.path)])
        assert result.exit_code == 0, result.output
        return result.output

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))


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
    assert "1. design/approach_x@1:1" in out
    assert "   design approach x\n" not in out  # the name again, as a heading
    assert "found" not in out
    assert "│" not in out
    told = shell("recall", "Why was approach X rejected?", "--explain")
    assert told.startswith("why (it says “Why”)")
    assert "found" in told
    assert "│" in told


def test_the_context_keeps_its_budget(shell: Shell) -> None:
    words = ("recall", "Why was approach X rejected?", "--budget", "60")
    context = shell(*words, "--context")
    assert context.startswith("Question: Why was approach X rejected?")
    assert count_tokens([context])[0] <= 60
    found = shell.json(*words)
    assert found["context"] == context.removesuffix("\n")
    assert found["tokens"] == count_tokens([context])[0]
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


def test_told_facts_are_shown_and_cited(shell: Shell) -> None:
    with hades.open(shell.path) as memory:
        memory.relate("server/db07", "runs_on", "rack 2", valid_from="2024-06-01")
        memory.change_fact("server/db07", "runs_on", to="rack 4", at="2025-05-03", evidence="Ann")
    fact = "server/db07 runs on rack 4, since 3 May 2025"
    assert f"F1  {fact}  belief 0." in shell("recall", "Where does db07 run?")
    lines = shell("ask", "Where does db07 run?").splitlines()
    assert lines[0] == f"{fact} [F1]"
    assert next(line for line in lines[1:] if "[F1]" in line).startswith("[F1] edge 3  Ann  belief")
    found = shell.json("ask", "Where does db07 run?")
    assert (found["sentences"][0]["kind"], found["sentences"][0]["citation"]) == ("fact", 1)
    assert found["recall"]["facts"][0]["edge"]["target"]["name"] == "rack 4"


def test_a_time_in_words_is_shown_as_understood_and_can_be_overridden(shell: Shell) -> None:
    question = "What happened in January 2024?"
    understood = "in January 2024: 1 to 31 January 2024"
    for command in ("recall", "ask"):
        assert understood in shell(command, question).splitlines()
        said = shell(command, question, "--since", "2024-01-07", "--until", "2024-02")
        assert understood not in said
        assert "design/approach_x@1" in said
        assert "lunch@1" not in said
    found = shell("search", "What happened?", "--since", "2024-01-07")
    assert "design/approach_x:1" in found
    assert "lunch:1" not in found
    plan = '{"retriever": {"time_words": false}}'
    assert shell.json("recall", question, "--plan", plan)["time"] is None


def test_a_superseded_version_is_marked(shell: Shell) -> None:
    with hades.open(shell.path) as memory:
        memory.remember("server/db07", "It runs PostgreSQL 15.", valid_from="2025-01-10")
        memory.remember("server/db07", "It runs PostgreSQL 16.", valid_from="2025-05-03")
    lines = shell("recall", "Which PostgreSQL does db07 run?").splitlines()
    (latest,) = (line for line in lines if "server/db07@2" in line)
    (before,) = (line for line in lines if "server/db07@1" in line)
    assert before.endswith("2025-01-10 to 2025-05-03  superseded")
    assert "superseded" not in latest


def test_asked_about_something_unknown(shell: Shell) -> None:
    assert shell("ask", "Is approach Z viable?") == "Nothing found says anything of “approach Z”.\n"
    found = shell.json("ask", "Is approach Z viable?")
    assert (found["sentences"], found["unsaid"]) == ([], ["approach Z"])


def test_paths_and_neighbours(shell: Shell) -> None:
    assert "rejected_because" in shell("paths", "design/approach_x", "bugs/bug_y")
    assert "bugs/bug_y" in shell("neighbours", "design/approach_x")
    chosen = ("-r", "rejected_because", "-r", "fixed_by", "--direction", "out")
    near = shell("neighbours", "design/approach_x", *chosen, "--least-weight", "0.5")
    assert "--[rejected_because" in near
    assert "@1#0" not in near
    assert "no neighbours" in shell("neighbours", "bugs/bug_y", *chosen)
