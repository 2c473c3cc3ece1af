"""Uses of states: counted by questions, written many at once, without a change."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import hades
from hades.domain.times import from_micros
from hades.store import uses
from tests.conftest import HeldClock

QUESTION = "Why was approach X rejected?"


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, path: Path) -> str | Path:
    return str(request.getfixturevalue("postgres")) if request.param == "postgres" else path


@pytest.fixture
def noted(place: str | Path, clock: HeldClock) -> str | Path:
    with hades.open(place, clock=clock) as memory:
        memory.remember("design/approach_x", "Approach X was rejected because of Bug Y.")
        memory.remember("lunch", "The soup was good.", valid_from="2023")
        memory.index()
    return place


def counted(view: hades.View, topic: str = "design/approach_x") -> int:
    return view.get(topic).access_count


def test_questions_are_counted_when_the_memory_is_closed(
    noted: str | Path, clock: HeldClock
) -> None:
    with hades.open(noted, clock=clock) as memory:
        change = memory.change
        memory.recall(QUESTION)
        memory.ask(QUESTION)
        memory.search(QUESTION)  # looks around, and uses nothing
        assert counted(memory) == 0
    clock.tick()
    with hades.open(noted, clock=clock) as memory:
        state = memory.get("design/approach_x")
        assert (state.access_count, memory.change) == (1, change)  # once a day
        assert state.last_used == from_micros(clock.micros - 1_000_000)
        assert memory.history("design/approach_x") == [state]
        assert {one.name: one.access_count for one in memory.topics()}[state.topic] == 1
        assert memory.check() == []


def test_many_are_written_at_once_while_it_is_open(
    noted: str | Path, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hades.open(noted, clock=clock) as memory:
        memory.recall(QUESTION)
        monkeypatch.setattr(uses, "WRITTEN_FROM_STATES", 1)
        memory.in_space("default", actor="ben").recall(QUESTION)
        assert counted(memory) == 2
        monkeypatch.undo()
        memory.in_space("default", actor="cleo").recall(QUESTION)
        assert counted(memory) == 2
        memory.inside.store.uses._due = 0.0  # the time is up
        memory.in_space("default", actor="dora").recall(QUESTION)
        assert counted(memory) == 4


def test_an_actor_counts_once_a_day_and_on_four_days(
    noted: str | Path, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uses, "WRITTEN_FROM_STATES", 1)
    with hades.open(noted, clock=clock, actor="ann") as memory:
        counts = []
        for _ in range(6):
            for _ in range(11):
                memory.recall(QUESTION)
            counts.append(counted(memory))
            last = memory.get("design/approach_x").last_used
            assert last == from_micros(clock.micros)
            clock.tick(86_400)
        assert counts == [1, 2, 3, 4, 4, 4]
        memory.in_space("default", actor="ben").recall(QUESTION)
        assert counted(memory) == 5


def test_a_purged_state_is_not_used_any_more(noted: str | Path, clock: HeldClock) -> None:
    with hades.open(noted, clock=clock) as memory:
        memory.recall(QUESTION)
        memory.purge("design/approach_x")
        clock.tick()
        memory.remember("design/approach_x", "Another one of that name.")
    with hades.open(noted, clock=clock) as memory:
        assert counted(memory) == 0
        assert counted(memory, "lunch") == 1
        memory.purge("lunch")
        assert memory.inside.store.database.value("SELECT count(*) FROM uses") == 0


def test_reading_only_writes_nothing(noted: str | Path, clock: HeldClock) -> None:
    with hades.open(noted, clock=clock, read_only=True) as memory:
        memory.recall(QUESTION)
    with hades.open(noted, clock=clock) as memory:
        assert counted(memory) == 0


def test_another_writer_is_not_waited_for(
    noted: str | Path, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uses, "WRITTEN_FROM_STATES", 1)
    with hades.open(noted, clock=clock) as memory, hades.open(noted, clock=clock) as other:
        with other.batch():
            other.remember("more", "Something else.")
            assert memory.recall(QUESTION).passages
            assert counted(memory) == 0
        memory.in_space("default", actor="ben").recall(QUESTION)
        assert counted(memory) == 2


def test_whoever_measures_does_not_count(noted: str | Path, clock: HeldClock) -> None:
    with hades.open(noted, clock=clock) as memory:
        memory.inside.store.uses.counts = False
        memory.recall(QUESTION)
    with hades.open(noted, clock=clock) as memory:
        assert counted(memory) == 0


def test_no_more_wait_than_are_allowed(
    noted: str | Path, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uses, "WAITING_AT_MOST", 1)
    with hades.open(noted, clock=clock) as memory:
        memory.recall(QUESTION)
        assert len(memory.inside.store.uses._waiting) == 1


def test_an_export_and_a_copy_have_them(
    noted: str | Path, clock: HeldClock, tmp_path: Path
) -> None:
    with hades.open(noted, clock=clock) as memory:
        memory.recall(QUESTION)
    with hades.open(noted, clock=clock) as memory:
        memory.export(tmp_path / "all.jsonl")
        state = memory.get("design/approach_x")
    hades.copy(noted, tmp_path / "copy.hades")
    with hades.open(tmp_path / "new.hades", clock=clock) as memory:
        memory.import_(tmp_path / "all.jsonl")
        assert memory.get(state.topic) == state
    with hades.open(tmp_path / "copy.hades", clock=clock) as memory:
        assert memory.get(state.topic) == state


def test_a_backup_put_back_takes_back_what_waits(path: Path, tmp_path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "Ada keeps bees.")
        memory.backup(tmp_path / "backup.hades")
        memory.recall("Who keeps bees?")
        memory.restore(tmp_path / "backup.hades")
        assert not memory.inside.store.uses._waiting


@pytest.mark.slow
def test_a_process_that_is_killed_loses_only_uses(path: Path) -> None:
    code = (
        "import os, signal, sys, hades\n"
        "memory = hades.open(sys.argv[1])\n"
        "memory.remember('a', 'Ada keeps bees.')\n"
        "assert memory.recall('Who keeps bees?').passages\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert ran.returncode == -signal.SIGKILL
    with hades.open(path) as memory:
        assert (memory.get("a").access_count, memory.check()) == (0, [])


def test_a_child_process_does_not_write_its_parents_again(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "Ada keeps bees.")
        memory.recall("Who keeps bees?")
        if (child := os.fork()) == 0:
            memory.close()
            os._exit(0)
        os.waitpid(child, 0)
    with hades.open(path) as memory:
        assert counted(memory, "a") == 1
