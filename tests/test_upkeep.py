"""Backups, restoring, purging: under the eyes of others."""

from __future__ import annotations

import multiprocessing
import random
import time
from pathlib import Path

import pytest

import hades


def _keep_writing(path: Path, stop: Path) -> None:
    number = 0
    with hades.open(path) as memory:
        while not stop.exists():
            with memory.batch():
                memory.remember("left", str(number))
                memory.remember("right", str(number))
            number += 1


@pytest.mark.slow
def test_a_backup_under_writing_is_one_moment(path: Path, tmp_path: Path) -> None:
    with hades.open(path) as memory, memory.batch():
        for number in range(300):
            memory.remember(f"ballast/{number}", "x" * 2000 + str(number))
        memory.remember("left", "0")
        memory.remember("right", "0")
    stop = tmp_path / "stop"
    writer = multiprocessing.get_context("spawn").Process(target=_keep_writing, args=(path, stop))
    writer.start()
    with hades.open(path) as memory:
        while memory.get("left").content == "0":
            time.sleep(0.01)
        for number in range(5):
            memory.backup(tmp_path / f"backup{number}.hades")
        with pytest.raises(hades.InvalidInput, match="exists already"):
            memory.backup(tmp_path / "backup0.hades")
    stop.touch()
    writer.join()
    assert writer.exitcode == 0
    for number in range(5):
        with hades.open(tmp_path / f"backup{number}.hades") as copy:
            assert copy.check() == []
            assert copy.get("left").content == copy.get("right").content


def test_restoring_under_an_open_reader_and_writer(path: Path, tmp_path: Path) -> None:
    with hades.open(path) as memory, hades.open(path) as other:
        memory.remember("a", "one")
        memory.backup(tmp_path / "backup.hades")
        memory.remember("a", "two")
        memory.remember("b", "new")
        assert other.get("a").content == "two"
        memory.restore(tmp_path / "backup.hades")
        for seen in (memory, other):
            assert seen.get("a").content == "one"
            with pytest.raises(hades.NotFound):
                seen.get("b")
        other.remember("a", "three")
        assert memory.get("a").content == "three"
        assert memory.check() == []


class _Stopped(Exception):
    pass


@pytest.mark.slow
def test_a_backup_tells_how_far_it_is_and_can_be_stopped(path: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []

    def stop_half_way(what: str, done: int, total: int) -> None:
        told.append((what, done, total))
        if 2 * done > total:
            raise _Stopped

    with hades.open(path) as memory:
        with memory.batch():
            for number in range(600):
                memory.remember(f"ballast/{number}", random.Random(number).randbytes(1000).hex())
        before = sorted(tmp_path.iterdir())
        with pytest.raises(_Stopped):
            memory.backup(tmp_path / "backup.hades", stop_half_way)
        assert sorted(tmp_path.iterdir()) == before
        assert len(told) > 2
        assert told == sorted(told)
        memory.backup(tmp_path / "backup.hades", lambda *step: told.append(step))
        assert told[-1][1] == told[-1][2] > 0
        memory.remember("late", "not in the backup")
        with pytest.raises(_Stopped):
            memory.restore(tmp_path / "backup.hades", _stop_restoring)
        assert memory.get("late").content == "not in the backup"
        assert not list(tmp_path.glob(".*"))


def _stop_restoring(what: str, done: int, total: int) -> None:
    if what == "restoring" and 2 * done > total:
        raise _Stopped


def test_restoring_what_is_no_backup_changes_nothing(path: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a backup at all")
    with hades.open(path) as memory:
        memory.remember("a", "one")
        for bad in (tmp_path / "text", tmp_path / "missing", tmp_path):
            with pytest.raises(hades.HadesError):
                memory.restore(bad)
        assert memory.get("a").content == "one"


SECRET = "xyzzy-plugh-7261"


def _bytes_of(folder: Path) -> bytes:
    return b"".join(p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())


def test_purge_leaves_no_byte_behind(path: Path) -> None:
    with hades.open(path) as memory:
        for number in range(20):
            text = f"My password is {SECRET} " + "and more " * (200 + number)
            memory.remember(f"people/{SECRET}", text, tags=[SECRET], metadata={"pin": SECRET})
            memory.remember(f"other/{number}", "harmless " * 100)
        memory.relate(f"people/{SECRET}", "told", f"Agent {SECRET}", evidence=f"said {SECRET}")
        memory.relate("other/1", "mentions", f"people/{SECRET}")
        memory.remember("other/1", "still harmless")
        assert SECRET.encode() in _bytes_of(path.parent)
        gone = memory.purge(f"people/{SECRET}")
        assert gone["wiped"] == 1
        assert (gone["states"], gone["edges"]) == (20, 2)
        assert SECRET.encode() not in _bytes_of(path.parent)
        assert memory.get("other/1").content == "still harmless"
        assert memory.check() == []
        assert SECRET not in str(memory.log(1000))
        with pytest.raises(hades.NotFound):
            memory.at("yesterday").get(f"people/{SECRET}")


def test_purge_leaves_no_byte_in_the_indexes(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", f"Agent {SECRET} lives here")
        memory.remember("b", "nothing of it")
        assert memory.search(SECRET.split("-")[0], retriever="words")
        assert SECRET.split("-")[0].encode() in _bytes_of(path.parent)
        memory.purge("a")
        assert SECRET.split("-")[0].encode() not in _bytes_of(path.parent)
        assert [h.chunk.topic for h in memory.search("nothing")] == ["b"]


def test_purging_an_entity(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("note", "kept")
        memory.relate("note", "about", f"Agent {SECRET}", evidence=SECRET)
        memory.relate("Bob", "knows", "note")
        memory.purge(f"agent {SECRET}")
        assert [str(e) for e in memory.edges()] == ["Bob --[knows]--> note"]
        assert [e.name for e in memory.entities()] == ["Bob"]
        assert SECRET.encode() not in _bytes_of(path.parent)


def test_a_purge_under_a_reader_says_that_bytes_remain(path: Path) -> None:
    with (
        hades.open(path, busy_timeout_s=0.1) as memory,
        hades.open(path, read_only=True) as reader,
    ):
        memory.remember("a", SECRET)
        with reader.snapshot():
            reader.get("a")
            assert memory.purge("a")["wiped"] == 0
        with pytest.raises(hades.NotFound):
            reader.get("a")


def test_dropping_a_space_leaves_no_byte_behind(path: Path) -> None:
    with hades.open(path) as memory:
        memory.create_space("private")
        private = memory.in_space("private")
        private.remember("a", SECRET)
        private.relate("a", "knows", f"Agent {SECRET}")
        memory.drop_space("private")
        assert SECRET.encode() not in _bytes_of(path.parent)
        assert memory.remember("b", "fine").version == 1
        assert memory.check() == []


@pytest.mark.slow
def test_purging_among_hundreds_leaves_no_byte(path: Path) -> None:
    with hades.open(path) as memory:
        with memory.batch():
            for number in range(300):
                memory.remember(f"person-{number:04}-xyzzy", f"secret-{number:04} " * 20)
            for number in range(0, 300, 7):
                memory.remember(f"person-{number:04}-xyzzy", f"secret-{number:04} edited " * 30)
        with memory.batch():
            for number in range(0, 300, 2):
                memory.purge(f"person-{number:04}-xyzzy")
        memory.remember("after", "the batch the file is wiped")
    left = path.read_bytes()
    for number in range(0, 300, 2):
        assert f"person-{number:04}-xyzzy".encode() not in left
        assert f"secret-{number:04}".encode() not in left


def test_a_left_over_log_is_not_replayed_into_a_new_memory(path: Path) -> None:
    Path(f"{path}-wal").write_bytes(b"old pages")
    with pytest.raises(hades.Conflict, match="left from a memory"):
        hades.open(path)


def test_a_restored_memory_gives_out_no_number_twice(path: Path, tmp_path: Path) -> None:
    with hades.open(path) as memory:
        memory.backup(tmp_path / "b.hades")
        memory.create_space("b")
        old = memory.in_space("b")
        memory.relate("A", "r", "x")
        memory.relate("B", "r", "y")
        memory.merge("A", "B")
        assert len(memory.edges("A")) == 2
        change = memory.change
        memory.restore(tmp_path / "b.hades")
        assert memory.change > change
        assert memory.log()[0].action == "restore"
        memory.create_space("c")
        memory.in_space("c").remember("secret of c", "x")
        with pytest.raises(hades.NotFound):
            old.topics()
        memory.relate("A", "r", "x")
        memory.relate("B", "r", "y")
        assert len(memory.edges("A")) == 1


def test_restoring_waits_for_a_writer_then_says_so(path: Path, tmp_path: Path) -> None:
    with hades.open(path, busy_timeout_s=0.3) as memory, hades.open(path) as other:
        memory.remember("a", "x")
        memory.backup(tmp_path / "b.hades")
        with other.batch():
            other.remember("b", "y")
            with pytest.raises(hades.Unavailable, match="writing"):
                memory.restore(tmp_path / "b.hades")
        with memory.batch(), pytest.raises(hades.InvalidInput, match="inside a batch"):
            memory.restore(tmp_path / "b.hades")
        assert memory.get("b").content == "y"
