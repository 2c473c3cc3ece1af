"""Attacks on a server: callers who want everything, and texts that pass for citations."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hades.serve.auth import connection
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor
from hades.serve.graphql import query
from hades.serve.pool import Overloaded

sys.path.insert(0, str(Path(__file__).parent.parent / "serve"))

from served_making import running

GREEDY, ANN = Caller("key:greedy", Role.WRITER), Caller("key:ann", Role.WRITER)


@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_caller_with_many_calls_waits_for_their_own(path: Path, kind: str) -> None:
    executor = Executor.open(path, readers=1, waiting=4)
    call = getattr(executor, kind)
    go_on, order = threading.Event(), []

    def work(who: str) -> None:
        go_on.wait()
        order.append(who)

    async def life() -> list[object]:
        greedy = [
            asyncio.ensure_future(call(GREEDY, "default", lambda _: work("greedy")))
            for _ in range(9)
        ]
        await asyncio.sleep(0)
        ann = [asyncio.ensure_future(call(ANN, "default", lambda _: work("ann"))) for _ in range(2)]
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(*ann)
        return await asyncio.gather(*greedy, return_exceptions=True)

    done = asyncio.run(life())
    executor.close()
    assert order == ["greedy", "ann", "greedy", "ann", "greedy"]
    assert [type(one) for one in done] == [type(None)] * 3 + [Overloaded] * 6


def test_idle_connections_leave_the_admin_socket_its_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PLACES", {False: 5, True: 2})
    with running(tmp_path) as served:
        http = urlsplit(served.listening["http"].where)
        idle = [socket.create_connection((http.hostname, http.port)) for _ in range(30)]
        with served.by("admin") as operator:
            assert operator.get("/v1").status_code == 200
        for one in idle:
            one.close()
        with served.by("http", served.key(Role.READER)) as client:
            assert client.get("/v1").status_code == 200


def test_a_field_costs_what_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "WORK_SECONDS_AT_MOST", 0.0)
    asked = '{ space { edges(relation: "nothing has this") { items { id } } } }'
    with running(tmp_path) as served, served.by("ro") as client:
        (error,) = client.post("/graphql", json={"query": asked}).json()["errors"]
    assert "ask for less" in error["message"]
