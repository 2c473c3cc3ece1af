"""A purge erases what was made of a topic, wherever it was put."""

from __future__ import annotations

from pathlib import Path

import pytest

import hades
from tests.conftest import HeldClock

SECRET = "Xyzzyplugh"
TOPIC = f"people/{SECRET}"
FEW = {"at_least": 1}


def _files_with(folder: Path, text: str) -> list[str]:
    return [
        str(one.relative_to(folder))
        for one in sorted(folder.rglob("*"))
        if one.is_file() and text.lower().encode() in one.read_bytes().lower()
    ]


@pytest.fixture
def told(path: Path, clock: HeldClock) -> hades.Memory:
    """A memory in which a topic went into everything that is made of topics."""
    memory = hades.open(path, clock=clock, actor="ann")
    clock.set("2024-01-01")
    memory.relate("Maya", "works_at", "Globex")
    memory.remember("rent", "The rent of the office is 900 euros.")
    memory.remember("friend", "Maya is a friend.")
    for number in range(14):
        clock.tick(86_400)
        memory.remember(
            "person",
            f"Agent {SECRET} came on day {number}. The rent of the office is {910 + number} euros.",
        )
        memory.remember("lunch", f"Soup number {number}.")
    clock.tick(86_400)
    memory.remember("person", f"Maya works at {SECRET} Ltd. Ben reports to {SECRET}.")
    with pytest.raises(hades.Refused):
        memory.remember(
            "person", f"Ben reports to {SECRET}. Maya works at {SECRET} Ltd.", gate=True
        )
    return memory


def test_a_purge_reaches_everything_made_of_a_topic(
    told: hades.Memory, path: Path, clock: HeldClock
) -> None:
    with told as memory:
        clock.set("2024-05-01")
        memory.extract(threshold=0.9)
        memory.extract(threshold=1.0)
        assert memory.consolidate(**FEW).made
        memory.remember("person", f"Agent {SECRET} left.", valid_from="2024-01-05")
        clock.tick()
        assert memory.consolidate(**FEW).made  # second versions of summaries
        memory.index()
        assert memory.archive(older_than="30d", keep_versions=1)["states"]
        memory.once("key", "request", lambda: {"said": f"person@15 is {SECRET}"})
        for _ in range(2):
            assert SECRET in memory.recall("Where does Maya work?").context
            assert SECRET in memory.get("person").content
        gone = memory.purge("person")
        assert gone["wiped"] == 1
        assert _files_with(path.parent, SECRET) == []
        assert memory.check() == []
        for question in ("Where does Maya work?", "What happened in January 2024?"):
            assert SECRET not in str(memory.recall(question))
        with pytest.raises(hades.NotFound):
            memory.get("person")


def test_what_an_archive_that_is_away_holds_is_erased_when_it_is_back(
    told: hades.Memory, path: Path, clock: HeldClock
) -> None:
    with told as memory:
        clock.set("2024-05-01")
        memory.consolidate(**FEW)
        memory.remember("lunch", "Late soup.", valid_from="2024-01-05")
        memory.consolidate(**FEW)
        clock.set("2024-09-01")
        memory.index()
        memory.archive(older_than="30d", keep_versions=1)
        archive, away = path.with_name(f"{path.name}.archive"), path.with_name("away")
        names = [one.name for one in archive.rglob("*.xz")]
        archive.rename(away)
        assert memory.purge("person")["wiped"] == 0
        assert _files_with(path.parent, SECRET) == []  # it is compressed there
        assert any("erased text may still be there" in one.what for one in memory.check())
        away.rename(archive)
        memory.repair()
        assert memory.check() == []
        assert {one.name for one in archive.rglob("*.xz")} < set(names)
        assert "Soup number 13" in memory.get("lunch", 14).content
