"""Lines and breakers: overload is refused, slow calls are given up on, a broken store rests."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hades.serve.executor.breaker import Breaker, Open

import hades
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor.executor import Executor, Overloaded, TimedOut

ANN = Caller("key:ann", Role.WRITER)


@pytest.fixture
def desk(path: Path) -> Iterator[Executor]:
    made = Executor.open(path, readers=1, waiting=2, timeout_s=20)
    yield made
    made.close()


def _broken(_memory: object) -> None:
    raise hades.Unavailable("The disk does not answer.") from OSError(5, "Input/output error")


def test_one_too_many_is_refused_at_once_and_writers_are_not_kept_out(desk: Executor) -> None:
    go_on = threading.Event()

    async def life() -> None:
        reads = [
            asyncio.ensure_future(desk.read(ANN, "default", lambda _: go_on.wait()))
            for _ in range(3)
        ]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await desk.read(ANN, "default", lambda v: v.topics())
        assert desk.standing().refused == {"read": 1, "write": 0, "work": 0, "export": 0}
        await desk.write(ANN, "default", lambda m: m.remember("a", "x"))
        go_on.set()
        assert await asyncio.gather(*reads) == [True] * 3
        assert len(await desk.read(ANN, "default", lambda v: v.topics())) == 1

    asyncio.run(life())
    assert desk.standing().waiting == {"read": 0, "write": 0, "work": 0, "export": 0}


def test_a_slow_call_is_given_up_on_but_counts_until_it_is_done(path: Path) -> None:
    desk = Executor.open(path, readers=1, waiting=2, timeout_s=0.1)
    go_on = threading.Event()

    def slow(memory: hades.Memory) -> None:
        go_on.wait()
        memory.remember("slow", "x")

    async def life() -> None:
        with pytest.raises(TimedOut, match="may still be done"):
            await desk.write(ANN, "default", slow)
        assert desk.standing().running["write"] == 1
        with pytest.raises(Overloaded, match="nothing was done"):
            await desk.write(ANN, "default", lambda m: m.remember("never", "x"))
        assert desk.standing().waiting["write"] == 0

    asyncio.run(life())
    go_on.set()
    desk.close()
    with hades.open(path) as memory:
        assert [topic.name for topic in memory.topics()] == ["slow"]


def test_a_write_waits_for_another_process_again_and_again(path: Path) -> None:
    desk = Executor.open(path, busy_timeout_s=0.01)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")

    async def life() -> int:
        writing = asyncio.ensure_future(
            desk.write(ANN, "default", lambda m: m.remember("a", "x").version)
        )
        await asyncio.sleep(0.2)
        assert not writing.done()
        other.execute("ROLLBACK")
        return await writing

    assert asyncio.run(life()) == 1
    other.close()
    desk.close()


def test_what_was_half_done_is_not_done_twice(path: Path) -> None:
    desk = Executor.open(path, busy_timeout_s=0.01)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    tries = []

    def two_writes(memory: hades.Memory) -> None:
        tries.append(1)
        memory.remember("first", "x")
        other.execute("BEGIN IMMEDIATE")
        memory.remember("second", "x")

    with pytest.raises(hades.Unavailable, match="Another process"):
        asyncio.run(desk.write(ANN, "default", two_writes))
    assert tries == [1]
    other.close()
    desk.close()


def test_a_store_that_fails_again_and_again_is_left_alone_for_a_while(desk: Executor) -> None:
    now = [0.0]
    desk._write.breaker = Breaker(failures=3, pause_s=5, clock=lambda: now[0])

    async def write(call: object) -> object:
        return await desk.write(ANN, "default", call)  # type: ignore[arg-type]

    async def life() -> None:
        for _ in range(3):
            with pytest.raises(hades.Unavailable, match="does not answer"):
                await write(_broken)
        with pytest.raises(Open) as refused:
            await write(lambda m: m.remember("a", "x"))
        assert refused.value.retry_after_s == 5
        assert desk.standing().breaker == {"read": "closed", "write": "open"}
        assert await desk.read(ANN, "default", lambda v: v.topics()) == []
        now[0] = 6
        assert desk.standing().breaker["write"] == "half-open"
        with pytest.raises(hades.Unavailable, match="does not answer"):
            await write(_broken)
        assert desk.standing().breaker["write"] == "open"
        now[0] = 12
        await write(lambda m: m.remember("a", "x"))
        assert desk.standing().breaker["write"] == "closed"

    asyncio.run(life())


def test_a_wrong_call_is_no_failure_of_the_store() -> None:
    breaker = Breaker(failures=1, pause_s=5)
    breaker.worked()
    breaker.let_in()
    assert breaker.state == "closed"


def test_one_call_at_a_time_tries_a_broken_store() -> None:
    now = [0.0]
    breaker = Breaker(failures=1, pause_s=5, clock=lambda: now[0])
    breaker.failed("The disk is gone.")
    now[0] = 6
    breaker.let_in()
    with pytest.raises(Open, match="The disk is gone"):
        breaker.let_in()
    breaker.never_mind()
    breaker.let_in()


def test_long_work_stops_when_the_server_does(path: Path) -> None:
    desk = Executor.open(path)
    begun = threading.Event()

    def long(memory: hades.Memory, told: object) -> None:
        begun.set()
        while True:
            told("digging", 0, 0)  # type: ignore[operator]

    async def life() -> None:
        work = asyncio.ensure_future(desk.work(ANN, "default", long, lambda *_: None))
        await asyncio.to_thread(begun.wait)
        await asyncio.to_thread(desk.close)
        with pytest.raises(hades.Unavailable, match="stopping"):
            await work

    asyncio.run(life())
