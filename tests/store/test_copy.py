"""A memory is copied whole, also in parts; what messages show of an address has no password."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from shell import Shell

import hades
from hades.domain.address import without_password
from hades.domain.times import system_clock
from hades.store.copy import copy
from hades.store.store import Store

_KILLED = """
import os, signal, sys
import hades.store.copy as module
module._AT_ONCE = 20
def tell(what, done, total):
    if what == sys.argv[3] and done > total // 2:
        os.kill(os.getpid(), signal.SIGKILL)
module.copy(sys.argv[1], sys.argv[2], on_progress=tell)
"""


def _records(place: str | Path) -> list[dict[str, object]]:
    store = Store(place, create=False, read_only=True, busy_timeout_s=1, clock=system_clock)
    with closing(store), closing(store.dump()) as records:
        return list(records)


def _killed(source: object, target: object, when: str) -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED, str(source), str(target), when])
    assert done.returncode == -9


def test_a_memory_goes_to_a_server_and_comes_back_the_same(
    story: hades.Memory, path: Path, new_postgres: str, tmp_path: Path
) -> None:
    story.remember("gone", "erased for good")
    story.purge("gone")
    story.close()
    told: list[tuple[str, int, int]] = []
    counts = hades.copy(path, new_postgres, on_progress=lambda *told_of: told.append(told_of))
    hades.copy(new_postgres, f"{new_postgres}b")
    assert hades.copy(f"{new_postgres}b", tmp_path / "back.hades") == counts
    assert told[-1][1] == told[-1][2] == sum(counts.values())
    assert _records(path) == _records(new_postgres) == _records(tmp_path / "back.hades")
    with hades.open(new_postgres) as there, hades.open(path) as here:
        question = "Why was approach X rejected?"
        assert str(there.ask(question)) == str(here.ask(question))
        # No number is given out twice, that of what was erased included.
        before = here.inside.store.database.last_id("topics", "id")
        there.remember("new", "written in the copy")
        assert there.inside.store.topics.id(there.inside.space_id, "new") == before + 1


@pytest.mark.parametrize("when", ["copying", "comparing"])
@pytest.mark.parametrize("engine", ["file", "server"])
def test_a_copy_that_was_killed_goes_on(
    story: hades.Memory, path: Path, new_postgres: str, tmp_path: Path, engine: str, when: str
) -> None:
    story.close()
    target: str | Path = new_postgres if engine == "server" else tmp_path / "copy.hades"
    _killed(path, target, when)
    with pytest.raises(hades.Unavailable, match="unfinished copy"):
        hades.open(target)
    told: list[tuple[str, int, int]] = []
    hades.copy(path, target, on_progress=lambda *told_of: told.append(told_of))
    copied = [done for what, done, _ in told if what == "copying"]
    assert copied[:1] > [told[-1][2] // 2] if when == "copying" else not copied
    assert _records(path) == _records(target)


def test_it_begins_anew_when_the_memory_has_changed_meanwhile(
    story: hades.Memory, path: Path, tmp_path: Path
) -> None:
    _killed(path, tmp_path / "copy.hades", "copying")
    story.forget("design/approach_x")
    with story.batch():  # what no change number tells of
        story.inside.store.set_meta("extractor", "names")
    hades.copy(path, tmp_path / "copy.hades")
    assert _records(path) == _records(tmp_path / "copy.hades")


def test_what_changed_without_a_number_is_noticed_by_the_hashes(
    story: hades.Memory, path: Path, tmp_path: Path
) -> None:
    _killed(path, tmp_path / "copy.hades", "comparing")
    with story.batch():
        story.inside.store.set_meta("extractor", "names")
    hades.copy(path, tmp_path / "copy.hades")
    assert _records(path) == _records(tmp_path / "copy.hades")


def test_a_place_in_use_is_refused(memory: hades.Memory, path: Path, tmp_path: Path) -> None:
    memory.remember("a", "one")
    with pytest.raises(hades.Conflict, match="holds a memory already"):
        hades.copy(path, path)
    with hades.open(tmp_path / "other.hades") as other:
        other.remember("b", "two")
    with pytest.raises(hades.Conflict, match="holds a memory already"):
        hades.copy(path, tmp_path / "other.hades")
    with pytest.raises(hades.InvalidInput, match="neither a file nor"):
        hades.copy(path, "http://127.0.0.1:8674")
    with pytest.raises(hades.NotFound):
        hades.copy(tmp_path / "none.hades", tmp_path / "copy.hades")
    assert not (tmp_path / "copy.hades").exists()


def test_what_postgres_cannot_hold_is_named(
    memory: hades.Memory, path: Path, new_postgres: str
) -> None:
    memory.relate("a", "leads_to", "b")
    with memory.batch():  # as an import could bring it
        memory.inside.store.database.run("UPDATE edges SET evidence = ?", "a NUL: \0")
    with pytest.raises(hades.InvalidInput, match="cannot hold a row of edges"):
        hades.copy(path, new_postgres)


def test_the_unfinished_copy_of_another_memory_is_refused(
    story: hades.Memory, path: Path, tmp_path: Path
) -> None:
    _killed(path, tmp_path / "copy.hades", "copying")
    with hades.open(tmp_path / "other.hades") as other:
        other.remember("b", "two")
    with pytest.raises(hades.Conflict, match="unfinished copy of another"):
        hades.copy(tmp_path / "other.hades", tmp_path / "copy.hades")


def test_the_command(story: hades.Memory, path: Path, tmp_path: Path) -> None:
    story.close()
    shell = Shell(tmp_path / "copy.hades")
    copied = shell.alone("copy", str(path), str(tmp_path / "copy.hades"), "--json")
    assert '"topics"' in copied
    assert "approach_x" in shell("topics")


ADDRESSES = [
    "postgresql://u:SECRET@h:1/notes",
    "postgresql://u:a@SECRET@127.0.0.1:1/notes",
    "postgresql://u:p?SECRET@127.0.0.1:1/notes",
    "postgresql://u@127.0.0.1:1/notes?password=SECRET",
    "postgresql+psycopg://u:SECRET@h/notes",
    "mysql://u:SECRET@h/notes",
    "http://:SECRET@127.0.0.1:8674",
    "host=h password=SECRET",
    "host=h password='SECRET words'",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_message_shows_a_password(address: str) -> None:
    assert "SECRET" not in without_password(address)
    if "://" in address:
        with pytest.raises(hades.HadesError) as refused:
            copy(address, address)
        assert "SECRET" not in str(refused.value)


def test_the_rest_of_an_address_is_shown() -> None:
    for shown in ("postgresql://ann@/notes?host=/run/pg&schema=a", "https://h:1/x", "notes.hades"):
        assert without_password(shown) == shown
