"""A memory written by any release opens, and gives the same from a file, an export or a server.

`released_making.py` wrote the files; a release adds its own.
"""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

import hades
from tests.store.released_making import RELEASED

VERSIONS = sorted(path.name.removesuffix(".hades.gz") for path in RELEASED.glob("*.hades.gz"))


def _unpacked(version: str, suffix: str, folder: Path) -> Path:
    packed = (RELEASED / f"{version}{suffix}.gz").read_bytes()
    path = folder / f"{version}{suffix}"
    path.write_bytes(gzip.decompress(packed))
    return path


def _dump(memory: hades.Memory) -> str:
    out = io.StringIO()
    memory.export(out)
    return out.getvalue()


def _shows_its_content(memory: hades.Memory) -> None:
    assert memory.check() == []
    assert memory.get("design/approach_x").content == "Approach X is viable after the fix of Bug Y."
    first = memory.at("2024-02-01").get("design/approach_x")
    assert (first.version, first.tags, first.metadata) == (1, ("decision",), {"ticket": 7})
    assert memory.get("log/plan").content.endswith("measured.\nThe end.")
    assert memory.get("log/plan", 1).content.endswith("59 of the plan was measured.")
    assert [state.forgotten for state in memory.history("gone")] == [False, True]
    with pytest.raises(hades.NotFound):
        memory.history("secret")
    facts = {(edge.source.name, edge.relation, edge.target.name) for edge in memory.edges()}
    assert ("design/approach_x", "viable_after_fix", "refactoring/q1") in facts
    assert ("Ann Lee", "likes", "tea") in facts
    changed = memory.when_changed("design/approach_x", "rejected_because")
    assert changed.at.date().isoformat() == "2024-02-20"
    assert memory.entity("A. Lee").name == "Ann Lee"
    assert memory.in_space("work").get("tasks").content == "Ship the release."
    assert len(memory.proposals()) == 1
    assert memory.hierarchy().current is not None
    assert memory.summaries("log/plan")


def _answers_and_goes_on(memory: hades.Memory) -> None:
    answer = memory.ask("Why was approach X rejected?")
    assert "Bug Y" in str(answer)
    assert memory.remember("log/plan", "A new plan.").version == 3


@pytest.mark.parametrize("version", VERSIONS)
def test_a_file_of_a_release_opens_and_answers(version: str, tmp_path: Path) -> None:
    with hades.open(_unpacked(version, ".hades", tmp_path)) as memory:
        _shows_its_content(memory)
        _answers_and_goes_on(memory)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_export_of_a_release_is_imported_into_both_engines(
    version: str, tmp_path: Path, postgres: str
) -> None:
    export = _unpacked(version, ".jsonl", tmp_path)
    dumps = []
    for place in (tmp_path / "new.hades", postgres):
        with hades.open(place) as memory:
            memory.import_(export)
            dumps.append(_dump(memory))
            _shows_its_content(memory)
            _answers_and_goes_on(memory)
    assert dumps[0] == dumps[1]


def test_this_release_has_files() -> None:
    assert hades.__version__ in VERSIONS
