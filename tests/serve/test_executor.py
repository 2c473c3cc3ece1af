"""The executor: calls of many callers, carried to one memory; overload is refused."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import hades
from hades.serve.executor import Executor
from hades.serve.pool import Overloaded, TimedOut
from tests.callers import caller

ANN = caller("key:ann", "writer")
EVE = caller("key:eve", "reader", "default")


@pytest.fixture
def executor(path: Path) -> Iterator[Executor]:
    made = Executor.open(path, readers=1, waiting=2, timeout_s=20)
    yield made
    made.close()


def test_what_is_written_is_found_at_once(path: Path) -> None:
    async def life() -> list[str]:
        await executor.write(ANN, "default", lambda m: m.remember("fruit/apple", "Apples are red."))
        found = await executor.read(EVE, "default", lambda v: v.search("apples"), fresh=True)
        return [hit.chunk.topic for hit in found]

    executor = Executor.open(path)
    assert asyncio.run(life()) == ["fruit/apple"]
    executor.close()
    with hades.open(path) as memory:
        assert "key:ann" in {one.actor for one in memory.log(10)}


def test_new_notes_are_indexed_in_advance_in_a_space_with_questions(path: Path) -> None:
    async def life() -> None:
        for space in ("asked", "unasked"):
            await executor.write(ANN, None, lambda m, space=space: m.create_space(space))  # type: ignore[misc]
            await executor.write(ANN, space, lambda m: m.remember("fruit/apple", "Red."))
        await executor.read(ANN, "asked", lambda v: v.recall("Are apples red?"), fresh=True)
        for space in ("unasked", "asked"):
            await executor.write(ANN, space, lambda m: m.remember("fruit/pear", "Green."))
        while executor.memory.in_space("asked").pending:
            await asyncio.sleep(0.01)

    executor = Executor.open(path)
    asyncio.run(life())
    assert executor.memory.in_space("unasked").pending == 2
    executor.close()


def test_a_reader_writes_nothing_and_nobody_enters_a_space_of_others(executor: Executor) -> None:
    with pytest.raises(hades.Denied, match="role writer"):
        asyncio.run(executor.write(EVE, "default", lambda m: m.remember("a", "x")))
    with pytest.raises(hades.Denied, match="the space 'secret'"):
        asyncio.run(executor.read(EVE, "secret", lambda v: v.topics()))


def test_one_too_many_is_refused_at_once_and_writers_are_not_kept_out(executor: Executor) -> None:
    go_on = threading.Event()

    async def life() -> None:
        reads = [
            asyncio.ensure_future(executor.read(ANN, "default", lambda _: go_on.wait()))
            for _ in range(3)
        ]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await executor.read(ANN, "default", lambda v: v.topics())
        assert executor.pools["read"].refused == 1
        await executor.write(ANN, "default", lambda m: m.remember("a", "x"))
        go_on.set()
        assert await asyncio.gather(*reads) == [True] * 3
        assert len(await executor.read(ANN, "default", lambda v: v.topics())) == 1

    asyncio.run(life())
    assert not any(pool.waiting for pool in executor.pools.values())


def test_a_slow_call_is_given_up_on_but_counts_until_it_is_done(path: Path) -> None:
    executor = Executor.open(path, readers=1, waiting=2, timeout_s=0.5)
    go_on = threading.Event()

    def slow(memory: hades.Memory) -> None:
        go_on.wait()
        memory.remember("slow", "x")

    async def life() -> None:
        with pytest.raises(TimedOut, match="may still finish"):
            await executor.write(ANN, "default", slow)
        assert executor.pools["write"].running == 1
        with pytest.raises(Overloaded, match="nothing was done"):
            await executor.write(ANN, "default", lambda m: m.remember("never", "x"))
        assert executor.pools["write"].waiting == 0

    asyncio.run(life())
    go_on.set()
    executor.close()
    with hades.open(path) as memory:
        assert [topic.name for topic in memory.topics()] == ["slow"]


def test_a_write_waits_for_another_process_again_and_again(path: Path) -> None:
    executor = Executor.open(path, busy_timeout_s=0.01)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    tries = []

    def remember(memory: hades.Memory) -> int:
        tries.append(1)
        return memory.remember("a", "x").version

    async def life() -> int:
        writing = asyncio.ensure_future(executor.write(ANN, "default", remember))
        while len(tries) < 2:
            await asyncio.sleep(0.01)
        other.execute("ROLLBACK")
        return await writing

    assert asyncio.run(life()) == 1
    other.close()
    executor.close()


def test_what_was_half_done_is_not_done_twice(path: Path) -> None:
    executor = Executor.open(path, busy_timeout_s=0.01)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    tries = []

    def two_writes(memory: hades.Memory) -> None:
        tries.append(1)
        memory.remember("first", "x")
        other.execute("BEGIN IMMEDIATE")
        memory.remember("second", "x")

    with pytest.raises(hades.Unavailable, match="Another process"):
        asyncio.run(executor.write(ANN, "default", two_writes))
    assert tries == [1]
    other.close()
    executor.close()


def test_long_work_stops_when_the_server_does(path: Path) -> None:
    executor = Executor.open(path)
    begun = threading.Event()

    def long(memory: hades.Memory, told: object) -> None:
        begun.set()
        while True:
            told("digging", 0, 0)  # type: ignore[operator]

    async def life() -> None:
        work = asyncio.ensure_future(executor.work(ANN, "default", long, lambda *_: None))
        await asyncio.to_thread(begun.wait)
        await asyncio.to_thread(executor.close)
        with pytest.raises(hades.Unavailable, match="stopping"):
            await work

    asyncio.run(life())
