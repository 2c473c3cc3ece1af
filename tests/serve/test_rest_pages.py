"""Pages of edges and entities: together they are the whole list, whoever writes meanwhile."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rest_making import Asker, S, asking

import hades
from hades.client.connection import encode_cursor
from tests.shell import Shell

CODE = "from engine import warm_up\n\ndef load_all():\n    return warm_up()\n"
ENGINE = "def warm_up():\n    return 1\n\nclass FlowGraph:\n    def push_back(self): ...\n"
PROSE = (
    "# Guide\n\nThe `warm_up` comes before `load_all`. See [engine](engine.py).\n\n"
    "## Flows\n\nA FlowGraph has `push_back`. Personalised PageRank (PPR) ranks. PPR is fast.\n"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with edges of all kinds, some of them over, and names that are one."""
    here = tmp_path_factory.mktemp("made")
    made, folder = here / "notes.hades", here / "docs"
    folder.mkdir()
    with hades.open(made) as memory:
        memory.relate("engine.warm_up", "is", "slow")
        for lasting in (True, False, True):  # what is there again has two times
            (folder / "app.py").write_text(CODE if lasting else "x = 1\n")
            (folder / "engine.py").write_text(ENGINE)
            (folder / "guide.md").write_text(PROSE if lasting else "# Guide\n\nPPR ranks.\n")
            memory.ingest(folder)
        for number in range(7):
            memory.relate("Ann", "knows", f"Bob {number}")
        memory.unrelate("Ann", "knows", "Bob 3")
        memory.relate("Bob 5", "knows", "Ann", weight=0.5)
        memory.merge("Bob 1", "Bob 2")
        memory.create_space("other")
        memory.in_space("other").relate("Zoe", "knows", "Ann")
    return made


@pytest.fixture
def path(made: Path, path: Path) -> Path:
    """A copy of it for one test."""
    shutil.copytree(made.parent, path.parent, dirs_exist_ok=True)
    return path


@pytest.fixture
def ask(path: Path) -> Iterator[Asker]:
    with asking(path) as asker:
        yield asker


def pages(
    ask: Asker, what: str, limit: int, between: Callable[[], object] = lambda: None
) -> list[Any]:
    """All items, page by page."""
    found: list[Any] = []
    cursor = ""
    while cursor is not None:
        page = ask.get(f"{S}/{what}&limit={limit}{cursor and f'&cursor={cursor}'}").json()
        assert len(page["items"]) <= limit
        assert page["items"] or not cursor
        found += page["items"]
        cursor = page["next"]
        between()
    return found


def place(edge: dict[str, Any]) -> tuple[bool, int]:
    """Told edges come first, by their number; those that follow from texts have none."""
    return edge["id"] <= 0, abs(edge["id"])


def one_by_one(items: list[Any]) -> list[str]:
    return sorted(json.dumps(item, sort_keys=True) for item in items)


@pytest.mark.parametrize("limit", [1, 2, 7, 1_000])
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", []),
        ("&all=true", ["--all"]),
        ("&relation=documents", ["--relation", "documents"]),
        ("&relation=contains&all=true", ["--relation", "contains", "--all"]),
        ("&name=Ann&direction=out", ["Ann", "--direction", "out"]),
        ("&name=docs/guide.md", ["docs/guide.md"]),
    ],
)
def test_pages_of_edges_are_the_whole_list(
    ask: Asker, path: Path, limit: int, query: str, wanted: list[str]
) -> None:
    whole = Shell(path).json("edges", *wanted)
    assert len(whole) > 2
    found = pages(ask, f"edges?{query}", limit)
    assert one_by_one(found) == one_by_one(whole)
    assert found == sorted(found, key=place)
    assert found == pages(ask, f"edges?{query}", 1_000)


@pytest.mark.parametrize("limit", [1, 2, 7, 1_000])
@pytest.mark.parametrize("glob", [None, "Bob*", "*a*"])
def test_pages_of_entities_are_the_whole_list(
    ask: Asker, path: Path, limit: int, glob: str | None
) -> None:
    with hades.open(path, read_only=True) as memory:
        whole = memory.entities(glob)
        alone = {one.name: memory.entity(one.name) for one in whole}
    assert len(whole) > 2
    query = "" if glob is None else f"&glob={glob}"
    listed = Shell(path).json("entities", *([] if glob is None else [glob]))
    assert pages(ask, f"entities?{query}", limit) == listed
    assert [alone[one.name] for one in whole] == whole


def test_what_is_written_between_pages_moves_nothing(ask: Asker, path: Path) -> None:
    edges, entities = pages(ask, "edges?", 1_000), pages(ask, "entities?", 1_000)
    written = iter(range(10_000))

    def write() -> None:
        number = next(written)
        told = {"source": f"A{number}", "relation": "knows", "target": f"Z{number}"}
        assert ask.post(f"{S}/edges", told).status_code == 200
        text = {"content": f"Of `warm_up` and A{number}."}
        assert ask.put(f"{S}/states/n{number}", text).status_code == 201
        assert ask.post(f"{S}/index").status_code == 200

    def key(edge: Any) -> tuple[str, ...]:
        return (str(edge["id"]), edge["source"]["name"], edge["relation"], edge["target"]["name"])

    seen = [key(edge) for edge in pages(ask, "edges?", 5, write)]
    assert len(seen) == len(set(seen))
    assert {key(edge) for edge in edges} <= set(seen)
    names = [one["name"] for one in pages(ask, "entities?", 5, write)]
    assert names == sorted(names)
    assert {one["name"] for one in entities} <= set(names)


@pytest.mark.parametrize(
    ("what", "key"),
    [
        ("edges", [0, 10**30, ""]),
        ("edges", [1, -(10**30), ""]),
        ("edges", [7, 7, "x"]),
        ("edges", ["", 1, ""]),
        ("entities", ["a", 10**30]),
        ("entities", ["a"]),
    ],
)
def test_a_cursor_that_is_none_is_refused_or_the_end(ask: Asker, what: str, key: Any) -> None:
    answer = ask.get(f"{S}/{what}?cursor={encode_cursor(key)}")
    assert answer.status_code in (200, 422)
    if answer.status_code == 200:
        assert answer.json() == {"items": [], "next": None}
