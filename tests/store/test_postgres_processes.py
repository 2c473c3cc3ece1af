"""Several processes on one database: nothing lost, nothing doubled, everything in order."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import postgres_work as work
import pytest

import hades

pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

ROOT = Path(__file__).parent.parent.parent


def _in_processes(*calls: Callable[[], object]) -> list[Any]:
    """What each call gives, each in a process of its own, all at once."""
    with ProcessPoolExecutor(len(calls), get_context("fork")) as processes:
        return [one.result(240) for one in [processes.submit(call) for call in calls]]


def test_eight_processes_open_an_empty_database_at_once(new_postgres: str) -> None:
    _in_processes(*(partial(work.introduce, new_postgres, number) for number in range(8)))
    with hades.open(new_postgres) as memory:
        assert len(memory.topics()) == 8
        assert len({memory.get(topic.name).content for topic in memory.topics()}) == 8
        assert memory.inside.store.database.value("SELECT count(*) FROM spaces") == 1


@pytest.mark.slow
def test_racing_writers_leave_no_gap_that_a_reader_can_see(postgres: str) -> None:
    hades.open(postgres).close()
    reader = partial(work.watch, postgres, 160)
    _in_processes(reader, *(partial(work.write, postgres, number, 5) for number in range(8)))
    with hades.open(postgres) as memory:
        numbers = [change.number for change in memory.log(10_000)]
        assert numbers == list(range(160, 0, -1))
        assert memory.check() == []


def test_expected_versions_lose_no_update(postgres: str) -> None:
    with hades.open(postgres) as memory:
        memory.remember("counter", "0", kind="document")
        _in_processes(*(partial(work.count, postgres, 10) for _ in range(4)))
        assert memory.get("counter").content == "40"
        assert memory.get("counter").version == 41


@pytest.mark.slow
def test_a_write_through_one_server_is_seen_by_the_next_question_to_another(
    postgres: str, tmp_path: Path
) -> None:
    sys.path.insert(0, str(ROOT / "tests" / "serve"))
    from process_making import hades_serve

    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    with (
        hades_serve(postgres, "--no-tcp", folder=folders[0]) as one,
        hades_serve(postgres, "--no-tcp", folder=folders[1]) as two,
        hades.open(f"unix://{one.where('rw')}") as writing,
        hades.open(f"unix://{two.where('rw')}") as reading,
    ):
        for number in range(3):
            writing.remember(f"note/{number}", f"The tram number {number} stops at the harbour.")
            assert reading.get(f"note/{number}").version == 1
            found = reading.search(f"tram number {number} harbour")
            assert f"note/{number}" in {hit.chunk.topic for hit in found}
        assert (one.stop(), two.stop()) == (0, 0)


@pytest.mark.slow
def test_mixed_load_of_several_processes_loses_no_update(postgres: str) -> None:
    """The short form of `python postgres_work.py`: one operation in ten writes."""
    with hades.open(postgres) as memory:
        for number in range(work.COUNTERS):
            memory.remember(f"counter/{number}", "0", kind="document")
        spent = _in_processes(*(partial(work.mixed, postgres, 3, 2, seed) for seed in range(4)))
        written = sum(len(one["write"]) for one in spent)
        counters = [memory.get(f"counter/{number}").content for number in range(work.COUNTERS)]
        assert sum(map(int, counters)) == written > 0
