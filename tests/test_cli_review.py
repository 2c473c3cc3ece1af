"""Review, subgraph and working memory on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from hades.cli import app


def _hades(path: Path, *words: str) -> Result:
    return CliRunner().invoke(app, [*words, "--memory", str(path)])


def test_a_proposal_is_listed_approved_and_rejected(path: Path) -> None:
    _hades(path, "propose", "Ann", "knows", "Bob", "--evidence", "a rumour")
    _hades(path, "propose", "notes/x", "--content", "It works.", "--confidence", "0.3")
    listed = _hades(path, "review", "list").output
    assert "Ann --[knows]--> Bob  a rumour" in listed
    assert "notes/x: It works." in listed
    done = json.loads(_hades(path, "review", "approve", "1", "--json").output)
    assert (done["status"], done["fields"]["target"]) == ("applied", "Bob")
    assert (
        "rejected: a mistake" in _hades(path, "review", "reject", "2", "--why", "a mistake").output
    )
    assert "nothing waits" in _hades(path, "review", "list").output
    assert len(json.loads(_hades(path, "review", "list", "--status", "all", "--json").output)) == 2
    again = _hades(path, "review", "approve", "1")
    assert (again.exit_code, again.stderr) == (
        2,
        f"hades: Proposal 1 was applied already by {done['decided_by']}.\n",
    )


def test_a_note_that_settles_its_topic_shows_what_waits_for_review(path: Path) -> None:
    _hades(path, "relate", "project/a", "blocked_by", "bugs/y")
    assert "review" not in _hades(path, "remember", "bugs/y", "Crash on save.").output
    said = _hades(path, "remember", "bugs/y", "Fixed in 1.2.").output
    assert "remembered bugs/y@2" in said
    assert "end project/a --[blocked_by]--> bugs/y" in said
    assert "bugs/y@2 says “fixed”" in _hades(path, "review", "list").output
    assert "applied" in _hades(path, "review", "approve", "1").output
    assert "no edges" in _hades(path, "edges", "project/a").output


def test_what_one_is_sure_of_is_applied_at_once(path: Path) -> None:
    _hades(path, "relate", "Ann", "knows", "Bob")
    said = _hades(path, "propose", "Ann", "--alias", "Annie", "--confidence", "0.9").output
    assert "Ann, alias Annie" in said
    assert "applied" in said
    assert "person" in _hades(path, "kind", "Annie", "person").output


def test_a_part_of_the_graph_and_a_working_memory(path: Path) -> None:
    _hades(path, "remember", "design/x", "Rejected due to Bug Y.")
    _hades(path, "remember", "bugs/y", "Bug Y corrupts data.")
    _hades(path, "relate", "design/x", "rejected_because", "bugs/y", "--evidence", "seen")
    drawn = _hades(path, "subgraph", "design/x").output
    assert "design/x --[rejected_because]--> bugs/y  seen" in drawn
    nodes = json.loads(_hades(path, "subgraph", "design/x", "--json").output)["nodes"]
    assert {"design/x", "bugs/y"} <= {node["name"] for node in nodes}
    shown = _hades(path, "working-memory", "design/x").output
    assert "[latest] design/x@1" in shown
    assert "Bug Y corrupts data." in shown
    found = json.loads(_hades(path, "working-memory", "design/x", "--json").output)
    assert [item["why"] for item in found["items"]] == ["latest", "related"]
