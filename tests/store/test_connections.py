"""Every connection is closed by its owner, never left for the garbage collector."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sqlite3
import threading
from functools import partial
from pathlib import Path

import pytest

import hades
from hades.domain.times import system_clock
from hades.store.store import Store


def _store(path: Path) -> Store:
    return Store(path, create=True, read_only=False, busy_timeout_s=1.0, clock=system_clock)


def _is_closed(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return True
    return False


def _connected_in_a_thread(store: Store, stay: threading.Event) -> sqlite3.Connection:
    made: list[sqlite3.Connection] = []
    ready = threading.Event()

    def read() -> None:
        made.append(store.database.connection)
        ready.set()
        stay.wait()

    threading.Thread(target=read, daemon=True).start()
    ready.wait()
    return made[0]


def test_closing_a_store_closes_the_connections_of_all_threads(path: Path) -> None:
    stay = threading.Event()
    store = _store(path)
    connections = [store.database.connection, _connected_in_a_thread(store, stay)]
    store.close()
    assert all(map(_is_closed, connections))
    stay.set()
    with pytest.raises(hades.Unavailable, match="closed"):
        store.change()


def test_the_connection_of_a_thread_that_ended_is_closed(path: Path) -> None:
    store = _store(path)
    made: list[sqlite3.Connection] = []
    thread = threading.Thread(target=lambda: made.append(store.database.connection))
    thread.start()
    thread.join()
    assert _is_closed(made[0])
    assert not _is_closed(store.database.connection)
    store.close()


class _Watched(sqlite3.Connection):
    """Does what connections of Python 3.13 do: it notices when the collector finds it open."""

    left_open = 0

    def __del__(self) -> None:
        _Watched.left_open += not _is_closed(self)


@pytest.mark.slow
def test_a_memory_that_nobody_closed_is_closed_when_it_is_collected(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=_Watched))
    for _ in range(3):
        memory = hades.open(path)
        memory.remember("a", "one")
        reading = threading.Thread(target=memory.topics)
        reading.start()
        reading.join()
        del memory, reading
        gc.collect()
    assert _Watched.left_open == 0
    assert _open_files(path) == 0


def test_a_file_that_cannot_be_opened_leaves_no_connection(path: Path) -> None:
    _store(path).close()
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 400)
    before = _open_files(path)
    with pytest.raises(hades.HadesError):
        _store(path)
    assert _open_files(path) == before


def _open_files(path: Path) -> int:
    found = 0
    for handle in Path("/proc/self/fd").iterdir():
        try:
            found += os.readlink(handle).startswith(str(path))
        except OSError:
            continue
    return found


def test_a_forked_child_uses_a_connection_of_its_own(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "one")
        child = os.fork()
        if child == 0:
            try:
                memory.remember("b", "two")
                memory.close()
                os._exit(0)
            except BaseException:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        memory.remember("c", "three")
        assert [topic.name for topic in memory.topics()] == ["a", "b", "c"]
        assert memory.check() == []


LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) "


@pytest.mark.parametrize("reading", ["rows", "batches"])
def test_closing_a_store_stops_what_another_thread_reads(path: Path, reading: str) -> None:
    store = _store(path)
    errors: list[Exception] = []
    begun = threading.Event()

    def read() -> None:
        store.change()
        begun.set()
        try:
            if reading == "rows":
                store.database.rows(f"{LONG} SELECT count(*) FROM n")
            else:
                for _ in store.database.batches(1000, f"{LONG} SELECT i FROM n"):
                    pass
        except hades.HadesError as error:
            errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    begun.wait()
    store.close()
    thread.join()
    assert [str(error) for error in errors] == ["This memory is closed: open it again."]


def _write_many(path: Path, name: str, count: int) -> None:
    with hades.open(path) as memory:
        for number in range(count):
            memory.remember(f"{name}/{number}", "x")


def _in_another_process(path: Path, name: str, count: int) -> None:
    worker = multiprocessing.get_context("spawn").Process(
        target=_write_many, args=(path, name, count)
    )
    worker.start()
    worker.join()
    assert worker.exitcode == 0


@pytest.mark.slow
def test_opening_a_file_twice_in_one_process_keeps_its_locks(path: Path) -> None:
    """Closing a descriptor drops POSIX locks: others then thought the file was nobody's."""
    memory = hades.open(path)
    memory.remember("first", "x")
    hades.open(path).close()
    _in_another_process(path, "b", 1)
    for number in range(20):
        memory.remember(f"a/{number}", "x")
    _in_another_process(path, "c", 20)
    memory.close()
    with hades.open(path) as again:
        assert len(again.topics("a/*")) == 20
        assert len(again.topics("c/*")) == 20
