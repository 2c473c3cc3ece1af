"""Ingestion spread over real Ray workers: what is stored is what a local ingestion stores."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import hades
from hades.errors import InvalidInput, Unavailable
from hades.ingest.spread import RayWorkers
from tests.attack import files

pytestmark = pytest.mark.workers

NO_RAY = "Ray is not installed: the extra `cluster`"
SKIPPED = [
    ("c/binary.md", "c/binary.md is binary, not text: no reader knows what is in it."),
    ("c/slow.docx", "It takes longer than 1 s to read (ingest_seconds)."),
]


class Stopped(Exception):
    """Somebody pressed Ctrl-C."""


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """Ray on this machine, started as `hades ingest --ray local` does; all tests share it."""
    if find_spec("ray") is None:
        pytest.skip(NO_RAY)
    with closing(RayWorkers("local", lambda: None)) as workers:
        assert list(workers(abs, [-2, -1])) == [2, 1]
        yield sys.modules["ray"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of several kinds, enough for several parts of every phase; two are bad."""
    folder = tmp_path_factory.mktemp("corpus")
    for number in range(90):
        (folder / f"{number:02}.md").write_text(
            f"# Report {number}\n\nAnn Lee of Acme Works saw item {number} in Oslo.\n"
            f"\n## Later\n\nThe Norwegian Museum of Things bought number {number}.\n"
        )
        (folder / f"m{number:02}.py").write_text(
            f"def f{number}(x):\n    return f{number - 1}(x)\n"
        )
    turns = [{"speaker": "Ann", "text": f"I saw {n}.", "session": "s"} for n in range(5)]
    (folder / "chat.jsonl").write_text("\n".join(map(json.dumps, turns)))
    (folder / "binary.md").write_bytes(b"\0\1\2")
    (folder / "slow.docx").write_bytes(files.merged_rows())
    return folder


@pytest.fixture(scope="module")
def expected(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """All that a local ingestion stores."""
    path = tmp_path_factory.mktemp("local") / "m.hades"
    with hades.open(path, clock=lambda: 10**15) as memory, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADES_INGEST_SECONDS", "1")
        assert memory.ingest(corpus, prefix="c").skipped == SKIPPED
    return stored(path)


def stored(path: Path) -> dict[str, list[Any]]:
    """Every row of a memory, vectors included; all but what it got by chance."""
    with closing(sqlite3.connect(path)) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        rows = {name: list(database.execute(f'SELECT * FROM "{name}"')) for (name,) in tables}
    by_chance = ("generation", "secret:")
    rows["meta"] = [row for row in rows["meta"] if not row[0].startswith(by_chance)]
    return rows


def busy_workers() -> list[int]:
    """Processes below this one in which Ray does a part just now."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    parents = {int(row[0]): int(row[1]) for row in rows}
    busy = [int(row[0]) for row in rows if row[2].startswith("ray::_work")]
    return [pid for pid in busy if parents.get(parents[pid]) == os.getpid()]


@pytest.fixture
def memory(ray: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[hades.Memory]:
    monkeypatch.setenv("HADES_INGEST_SECONDS", "1")
    with hades.open(tmp_path / "m.hades", clock=lambda: 10**15) as memory:
        yield memory


def test_ray_stores_what_a_local_ingestion_stores(
    memory: hades.Memory, corpus: Path, expected: dict[str, list[Any]], tmp_path: Path
) -> None:
    assert memory.ingest(corpus, prefix="c", ray="local").skipped == SKIPPED
    assert stored(tmp_path / "m.hades") == expected
    again = memory.ingest(corpus, prefix="c", ray="local")
    assert (again.added, again.changed, again.unchanged) == (0, 0, 181)


def test_killed_workers_change_nothing(
    memory: hades.Memory, corpus: Path, expected: dict[str, list[Any]], tmp_path: Path
) -> None:
    killed = set()

    def kill_one(what: str, _done: int, _total: int) -> None:
        if what not in killed and (busy := busy_workers()):
            os.kill(busy[0], signal.SIGKILL)
            killed.add(what)

    memory.ingest(corpus, prefix="c", ray="local", on_progress=kill_one)
    assert killed  # in which phases depends on the machine
    assert stored(tmp_path / "m.hades") == expected


def test_a_stopped_ingestion_goes_on_where_it_stood(
    memory: hades.Memory, corpus: Path, expected: dict[str, list[Any]], tmp_path: Path
) -> None:
    def stop(what: str, done: int, _total: int) -> None:
        if what == "embedding" and done > 64:
            raise Stopped

    with pytest.raises(Stopped):
        memory.ingest(corpus, prefix="c", ray="local", on_progress=stop)
    memory.ingest(corpus, prefix="c")
    assert stored(tmp_path / "m.hades") == expected


def test_ray_is_reached_from_this_machine_only_and_tells_nobody(ray: Any) -> None:
    assert [node["NodeManagerAddress"] for node in ray.nodes()] == ["127.0.0.1"]
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_a_worker_that_fails_is_one_sentence(ray: Any) -> None:
    workers = RayWorkers("local", lambda: None)
    with pytest.raises(Unavailable, match=r"Ray failed \(.*'int'.*\): ingest again"):
        list(workers(len, [1]))  # type: ignore[list-item]


def test_an_address_is_checked(tmp_path: Path, corpus: Path) -> None:
    with (
        hades.open(tmp_path / "m.hades") as memory,
        pytest.raises(InvalidInput, match="docs is not a Ray cluster"),
    ):
        memory.ingest(corpus, ray="docs")


def test_a_cluster_that_is_not_there_is_one_sentence(tmp_path: Path, corpus: Path) -> None:
    if find_spec("ray") is None:
        pytest.skip(NO_RAY)
    code = "import hades, sys; hades.open(sys.argv[1]).ingest(sys.argv[2], ray='127.0.0.1:9')"
    command = [sys.executable, "-c", code, str(tmp_path / "m.hades"), str(corpus)]
    failed = subprocess.run(command, capture_output=True, text=True)
    last = failed.stderr.splitlines()[-1]
    assert last.startswith("hades.errors.Unavailable: Ray at 127.0.0.1:9 cannot be used: ")


def test_without_ray_the_extra_is_named(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        hades.open(tmp_path / "m.hades") as memory,
        pytest.raises(Unavailable, match=r"extra `cluster`: pip install .*\[cluster\]"),
    ):
        memory.ingest(corpus, ray="local")
