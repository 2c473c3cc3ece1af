"""Two servers on one file: a condition holds at the moment of the write, whoever else writes."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier

import httpx
import pytest

sys.path.append(str(Path(__file__).parents[1] / "serve"))

from process_making import hades_serve

RACES = 300 if os.environ.get("HADES_ATTACK") == "long" else 25
STATES = "/v1/spaces/default/states"


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[httpx.Client]]:
    folder = tmp_path_factory.mktemp("races")
    memory = folder / "notes.hades"
    other = folder / "other"
    other.mkdir()
    sockets = [f"--{name}-socket={other / name}.sock" for name in ("ro", "rw", "admin")]
    with (
        hades_serve(memory, "--no-tcp") as first,
        hades_serve(memory, "--no-tcp", *sockets) as second,
        first.client() as one,
        second.client() as another,
    ):
        yield [one, another]


def _race(*calls: Callable[[], httpx.Response]) -> list[httpx.Response]:
    """The answers to calls that are made at the same moment."""
    start = Barrier(len(calls))

    def run(call: Callable[[], httpx.Response]) -> httpx.Response:
        start.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


@pytest.mark.slow
def test_a_topic_is_made_once(clients: list[httpx.Client]) -> None:
    new = {"If-None-Match": "*"}
    seen: Counter[tuple[int, ...]] = Counter()
    for number in range(RACES):
        where = f"{STATES}/race/{number}"
        answers = _race(
            *(partial(one.put, where, json={"content": str(one)}, headers=new) for one in clients)
        )
        seen[tuple(sorted(answer.status_code for answer in answers))] += 1
    assert seen == {(201, 412): RACES}


@pytest.mark.slow
def test_nothing_newer_is_forgotten(clients: list[httpx.Client]) -> None:
    one, another = clients
    lost = 0
    for number in range(RACES):
        where = f"{STATES}/gone/{number}"
        etag = one.put(where, json={"content": "first"}).headers["etag"]
        written, gone = _race(
            partial(one.put, where, json={"content": "second"}),
            partial(another.delete, where, headers={"If-Match": etag}),
        )
        assert (written.status_code, gone.status_code) in {(200, 200), (200, 412), (201, 200)}
        lost += gone.status_code == 200 and gone.json()["version"] != 2
    assert lost == 0
