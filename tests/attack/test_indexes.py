"""Damaged index files: whatever is done to one, the question is answered as without it.

`python tests/attack/test_indexes.py ROUNDS` damages every file in many more ways.
"""

from __future__ import annotations

import logging
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from making import UNHURRIED

import hades
from hades.index import array_store, graph_cache, indexes, space_words, tables
from hades.ingest.phases import Phase

QUESTION = "Why did the disk of Ada Lovelace fail?"


def _flip(first: float, last: float) -> Callable[[Path, random.Random], None]:
    """Flip bits of a few bytes within a part of the file."""

    def damage(path: Path, chance: random.Random) -> None:
        data = bytearray(path.read_bytes())
        for _ in range(min(3, len(data))):
            at = chance.randrange(int(first * len(data)), max(1, int(last * len(data))))
            data[at] ^= 1 << chance.randrange(8)
        path.write_bytes(data)

    return damage


def _swap(path: Path, chance: random.Random) -> None:
    folder = next(one for one in path.parents if one.suffix == ".index")
    others = [one for one in files_of(folder.parent) if one != path]
    path.write_bytes(chance.choice(others).read_bytes())


def _folder_instead(path: Path, _chance: random.Random) -> None:
    path.unlink()
    (path / "inside").mkdir(parents=True)


WAYS: dict[str, Callable[[Path, random.Random], Any]] = {
    "cut short": lambda path, chance: os.truncate(path, chance.randrange(path.stat().st_size)),
    "made longer": lambda path, _: path.write_bytes(path.read_bytes() + b"more"),
    "zeros": lambda path, _: path.write_bytes(bytes(path.stat().st_size)),
    "empty": lambda path, _: path.write_bytes(b""),
    "its beginning flipped": _flip(0, 0.05),
    "its body flipped": _flip(0.05, 1),
    "another's content": _swap,
    "of another version": lambda path, _: path.write_bytes(
        path.read_bytes().replace(b"HADESIX1", b"HADESIX9").replace(b"version", b"version9")
    ),
    "gone": lambda path, _: path.unlink(),
    "a folder instead": _folder_instead,
    "unreadable": lambda path, _: path.chmod(0),
}


@pytest.fixture(scope="module", autouse=True)
def _saved_at_once() -> Iterator[None]:
    """Small memories are not saved: here they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_cache, "SAVED_FROM_MENTIONS", 1)
        patch.setattr(tables, "SAVED_AFTER_ROWS", 1)
        patch.setattr(indexes, "SAVED_AFTER_ROWS", 1)
        patch.setattr(space_words, "MERGED_FROM", 1)
        yield


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("built"))


def build(folder: Path) -> Path:
    """A memory with everything that is derived from it saved."""
    with hades.open(folder / "m.hades") as memory:
        for number in range(12):
            memory.remember(f"notes/{number}", f"# Disk {number}\n\nAda Lovelace saw it fail.")
            memory.relate(f"notes/{number}", "about", f"Rack {number % 3}")
        # An index made anew no longer counts what was replaced in it: so nothing is.
        memory.remember("notes/3", "# Disk 3\n\nIt was replaced by Bob.")
        told(memory)
    return folder


NO_USES = UNHURRIED | {"reranker": {"timeout_ms": 60_000, "strength": 0}}
"""A plan by which what was asked before changes nothing."""


def told(memory: hades.View) -> list[Any]:
    hits = [memory.search(QUESTION, retriever=one) for one in (None, "meaning", "words", "names")]
    passages = memory.recall(QUESTION, plan=NO_USES).passages
    return [hits, [(one.chunk.id, one.score) for one in passages], memory.neighbours("notes/1")]


def files_of(folder: Path) -> list[Path]:
    found = sorted((folder / "m.hades.index").rglob("*"))
    return [one for one in found if one.is_file() and "lock" not in one.name]


def damaged_answers(built: Path, number: int, way: str, seed: int) -> list[Any]:
    """What is told after one file was damaged in one way; asked by a process that opens it."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(shutil.copytree(built, Path(place) / "copy"))
        WAYS[way](files_of(copy)[number], random.Random(seed))
        with hades.open(copy / "m.hades") as memory:
            return told(memory)


@pytest.mark.parametrize("way", WAYS)
def test_the_answer_is_that_of_an_undamaged_index(built: Path, way: str) -> None:
    with hades.open(built / "m.hades") as memory:
        expected = told(memory)
    count = len(files_of(built))
    assert count >= 8
    arrays = [at for at, file in enumerate(files_of(built)) if file.parent.suffix == ".index"]
    chance = random.Random(way)
    chosen = {*chance.sample(arrays, 3), *chance.sample(range(count), 2)}
    for number in sorted(chosen):
        assert damaged_answers(built, number, way, seed=1) == expected, files_of(built)[number]


def test_one_plain_line_is_logged(built: Path, tmp_path: Path, caplog: Any) -> None:
    copy = Path(shutil.copytree(built, tmp_path / "copy"))
    (copy / "m.hades.index" / "arrays").write_bytes(b"junk")
    with caplog.at_level(logging.WARNING), hades.open(copy / "m.hades") as memory:
        told(memory)
    assert [record.getMessage().split("(")[0] for record in caplog.records] == [
        f"the index {copy / 'm.hades.index' / 'arrays'} is damaged "
    ]


def test_a_large_index_is_verified_beside_the_questions(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(array_store, "VERIFIED_AT_ONCE_BYTES", 0)
    with hades.open(built / "m.hades") as memory:
        expected = told(memory)
    copy = Path(shutil.copytree(built, tmp_path / "copy"))
    for file in files_of(copy):
        if file.parent.suffix == ".index":
            _flip(0.9, 1)(file, random.Random(1))
    with hades.open(copy / "m.hades") as memory:
        told(memory)
        assert array_store.late_damage(copy / "m.hades.index", wait=True)
        assert told(memory) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "end", ["threading.main_thread().join()", "os.kill(os.getpid(), signal.SIGKILL)"]
)
def test_a_process_that_ends_while_words_are_merged_damages_nothing(
    path: Path, caplog: pytest.LogCaptureFixture, end: str
) -> None:
    with hades.open(path) as memory:
        for number in range(space_words.MERGED_FROM):
            memory.remember(f"barrels/{number}", f"Barrel {number} is green.")
        memory.recall("Which barrel is green?")
    script = f"""
import os, signal, threading, hades
from hades.index import space_words

def files(*given, after=space_words._files):
    {end}
    return after(*given)

space_words._files = files
memory = hades.open({str(path)!r})
memory.remember("buoy", "The buoy is red.")
memory.recall("Which buoy is red?")
"""
    subprocess.run([sys.executable, "-c", script], check=False)
    with caplog.at_level(logging.WARNING), hades.open(path) as memory:
        assert memory.check() == []
        assert memory.recall("Which buoy is red?").passages[0].chunk.text == "The buoy is red."
    assert not caplog.records


def test_check_finds_every_damaged_file(built: Path, tmp_path: Path) -> None:
    for number, file in enumerate(files_of(built)):
        copy = Path(shutil.copytree(built, tmp_path / str(number)))
        with hades.open(copy / "m.hades") as memory:
            assert memory.check() == []
            _flip(0.5, 1)(files_of(copy)[number], random.Random(number))
            (problem,) = memory.check()
            assert problem.what.startswith("the index is damaged"), file


@pytest.mark.parametrize(
    ("step", "phase"),
    [("pending", Phase.CHUNKS), ("first_of_notes", None), ("pending", Phase.EDGES)],
)
def test_what_is_purged_while_it_is_indexed_leaves_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str, phase: Phase | None
) -> None:
    """Another process purges a note between two steps of the question that indexes it."""
    with hades.open(path) as memory, hades.open(path) as other:
        memory.remember("kept", "The zebra eats grass.")
        memory.remember("secret", "# Agent Xyzzy\n\nAgent Xyzzy rides the zebra.")
        chunks, read = (
            type(memory.inside.store.chunks),
            getattr(type(memory.inside.store.chunks), step),
        )

        def purging(self: Any, *args: Any) -> Any:
            found = read(self, *args)
            if phase is None or args[0] == phase:
                monkeypatch.setattr(chunks, step, read)
                other.purge("secret")
            return found

        monkeypatch.setattr(chunks, step, purging)
        assert [hit.chunk.topic for hit in memory.search("zebra")] == ["kept"]
        assert getattr(chunks, step) is read
        orphans = (
            "SELECT chunk FROM mentions UNION SELECT node >> 3 FROM embeddings WHERE node & 7 = 2 "
            "EXCEPT SELECT id FROM chunks"
        )
        with closing(sqlite3.connect(path)) as raw:
            assert not raw.execute(orphans).fetchall()
        assert not [one for one in memory.entities() if "Xyzzy" in one.name]


def test_a_lock_says_who_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_store, "LOCK_SECONDS", 0.1)
    with (
        array_store.locked(tmp_path),
        pytest.raises(hades.Unavailable, match=f"by process {os.getpid()}"),
        array_store.locked(tmp_path),
    ):
        pass


def attack(rounds: int) -> None:
    """Damage every file in every way, again and again; one line a way."""
    for module, name in ((graph_cache, "SAVED_FROM_MENTIONS"), (tables, "SAVED_AFTER_ROWS")):
        setattr(module, name, 1)
    indexes.SAVED_AFTER_ROWS = 1
    with tempfile.TemporaryDirectory() as place:
        made = Path(place)
        build(made)
        with hades.open(made / "m.hades") as memory:
            expected = told(memory)
        for way in WAYS:
            wrong, done = 0, 0
            for seed in range(rounds):
                for number in range(len(files_of(made))):
                    done += 1
                    try:
                        wrong += damaged_answers(made, number, way, seed) != expected
                    except BaseException as error:  # a panic of the word index is no Exception
                        wrong += 1
                        print(way, files_of(made)[number].name, repr(error)[:200])
            print(f"{way}: {wrong} of {done} answers wrong", flush=True)


if __name__ == "__main__":
    logging.disable()
    attack(int(sys.argv[1]))
