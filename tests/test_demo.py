"""`hades demo`: what a newcomer sees first."""

from __future__ import annotations

import json
from pathlib import Path

import hades
from tests.shell import run_hades


def test_the_demo_shows_what_holds_why_and_what_held(tmp_path: Path) -> None:
    kept = tmp_path / "kept.hades"
    done = run_hades("demo", "--keep", str(kept))
    assert done.exit_code == 0
    now, why, then, document, code = done.output.split("$ hades ask ")[1:6]
    assert "viable since the storage layer" in now
    assert "rejected because bugs/412, from 10 January to 20 February 2024" in why
    assert "viable" in why
    assert "--at 2024-01-31" in then
    assert "viable" not in then
    assert "path: design/sharding --[rejected_because" in then
    assert "Mira Novak is on call" in document
    assert "walk_many calls hades.graph.ppr.seeded" in code
    with hades.open(kept, create=False) as memory:
        assert "Bug 412" in str(
            memory.at("2024-01-31").ask("Why was sharding the orders table rejected?")
        )
    again = run_hades("demo", "--keep", str(kept))
    assert (again.exit_code, "exists already" in again.stderr) == (2, True)


def test_the_demo_as_json_keeps_nothing(tmp_path: Path) -> None:
    done = run_hades("demo", "--json")
    answers = json.loads(done.stdout)
    assert [answer["at"] for answer in answers] == [None, None, "2024-01-31", None, None]
    assert not list(tmp_path.iterdir())
