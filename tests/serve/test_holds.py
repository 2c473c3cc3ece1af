"""Holds: a batch or a snapshot over several calls, each of them whole or not at all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

import hades
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor.executor import Executor, Overloaded, TimedOut
from hades.serve.executor.holds import OF_ONE_CALLER, SNAPSHOTS_AT_MOST, Holds

ANN = Caller("key:ann", Role.WRITER)
BOB = Caller("key:bob", Role.WRITER)
EVE = Caller("key:eve", Role.READER)


@pytest.fixture
def desk(path: Path) -> Iterator[Executor]:
    made = Executor.open(path)
    yield made
    made.close()


def _hurried(desk: Executor, silence_s: float, age_s: float = 60) -> Executor:
    """The same desk, whose holds end sooner."""
    desk.holds = Holds(desk._write, silence_s=silence_s, age_s=age_s)
    return desk


async def _topics(desk: Executor, hold: str | None = None, caller: Caller = EVE) -> list[str]:
    found = await desk.read(caller, "default", lambda v: v.topics(), hold=hold)
    return [topic.name for topic in found]


def _remember(desk: Executor, topic: str, hold: str | None = None) -> Awaitable[hades.State]:
    return desk.write(ANN, "default", lambda m: m.remember(topic, "x"), hold=hold)


def test_a_batch_is_seen_by_others_only_when_committed(desk: Executor) -> None:
    async def life() -> None:
        hold = await desk.hold(ANN, "default", "batch")
        await _remember(desk, "a", hold)
        await _remember(desk, "b", hold)
        assert await _topics(desk, hold, ANN) == ["a", "b"]
        assert await _topics(desk) == []
        await desk.release(ANN, hold, commit=True)
        assert await _topics(desk) == ["a", "b"]

    asyncio.run(life())


def test_a_batch_can_be_undone_and_a_failing_call_fails_alone(desk: Executor) -> None:
    async def life() -> None:
        hold = await desk.hold(ANN, "default", "batch")
        await _remember(desk, "a", hold)
        await desk.release(ANN, hold, commit=False)
        hold = await desk.hold(ANN, "default", "batch")
        await _remember(desk, "b", hold)
        with pytest.raises(hades.InvalidInput):
            await _remember(desk, "", hold)
        await desk.release(ANN, hold, commit=True)
        assert await _topics(desk) == ["b"]

    asyncio.run(life())


def test_work_waits_longer_for_a_batch_than_a_write_does(path: Path) -> None:
    async def life() -> str:
        hold = await desk.hold(ANN, "default", "batch")
        work = asyncio.ensure_future(
            desk.work(ANN, "default", lambda m, _: m.remember("a", "x").id, lambda *_: None)
        )
        await asyncio.sleep(0.5)  # far beyond what a write waits at once
        assert not work.done()
        await desk.release(ANN, hold, commit=True)
        return await work

    desk = Executor.open(path, busy_timeout_s=0.05)
    try:
        assert asyncio.run(life()) == "a@1"
    finally:
        desk.close()


def test_other_writes_wait_for_a_batch_and_then_happen(desk: Executor) -> None:
    async def life() -> None:
        hold = await desk.hold(ANN, "default", "batch")
        waiting = asyncio.ensure_future(_remember(desk, "later"))
        second = asyncio.ensure_future(desk.hold(BOB, "default", "batch"))
        await _remember(desk, "a", hold)
        assert not waiting.done()
        assert desk.standing().waiting["write"] == 1  # a batch waits outside that line
        await desk.release(ANN, hold, commit=True)
        await waiting
        await desk.release(BOB, await second, commit=False)
        assert await _topics(desk) == ["a", "later"]

    asyncio.run(life())


def test_a_snapshot_sees_one_moment(desk: Executor) -> None:
    async def life() -> None:
        await _remember(desk, "before")
        hold = await desk.hold(EVE, "default", "snapshot")
        await _remember(desk, "after")
        assert await _topics(desk, hold) == ["before"]
        assert await _topics(desk) == ["after", "before"]
        with pytest.raises(hades.NotFound, match="no hold"):
            await _remember(desk, "x", hold)  # another's
        await desk.release(EVE, hold, commit=False)
        with pytest.raises(hades.NotFound, match="no hold"):
            await _topics(desk, hold)

    asyncio.run(life())


def test_nothing_is_written_in_a_snapshot_and_nothing_is_searched_in_a_batch(
    desk: Executor,
) -> None:
    async def life() -> None:
        hold = await desk.hold(ANN, "default", "snapshot")
        with pytest.raises(hades.InvalidInput, match="for reading"):
            await _remember(desk, "x", hold)
        await desk.release(ANN, hold, commit=True)
        hold = await desk.hold(ANN, "default", "batch")
        with pytest.raises(hades.InvalidInput, match="before or after"):
            await desk.read(ANN, "default", lambda v: v.search("x"), hold=hold)
        await desk.release(ANN, hold, commit=True)

    asyncio.run(life())


def test_questions_are_answered_while_a_batch_is_open(desk: Executor) -> None:
    async def life() -> None:
        await _remember(desk, "apple")
        hold = await desk.hold(ANN, "default", "batch")
        await desk.read(EVE, "default", lambda v: v.recall("apple"), fresh=True)
        await desk.release(ANN, hold, commit=True)
        found = await desk.read(EVE, "default", lambda v: v.search("apple"), fresh=True)
        assert [hit.chunk.topic for hit in found] == ["apple"]

    asyncio.run(life())


def test_a_reader_holds_no_batch_and_nobody_a_space_of_others(desk: Executor) -> None:
    guest = Caller("key:guest", Role.WRITER, frozenset({"theirs"}))
    with pytest.raises(hades.Denied, match="role writer"):
        asyncio.run(desk.hold(EVE, "default", "batch"))
    with pytest.raises(hades.Denied, match="the space"):
        asyncio.run(desk.hold(guest, "default", "snapshot"))
    with pytest.raises(hades.NotFound, match="theirs"):
        asyncio.run(desk.hold(guest, "theirs", "batch"))
    with pytest.raises(hades.InvalidInput, match="batch or a snapshot"):
        asyncio.run(desk.hold(ANN, "default", "lock"))  # type: ignore[arg-type]


@pytest.mark.parametrize("limits", [(0.05, 60.0), (60.0, 0.05)], ids=["silent", "old"])
def test_a_hold_left_alone_is_undone_and_lets_others_write(
    desk: Executor, limits: tuple[float, float]
) -> None:
    _hurried(desk, *limits)

    async def life() -> None:
        hold = await desk.hold(ANN, "default", "batch")
        await _remember(desk, "lost", hold)
        await _remember(desk, "kept")  # waits until the hold is gone
        with pytest.raises(hades.NotFound, match="undone"):
            await desk.release(ANN, hold, commit=True)
        assert await _topics(desk) == ["kept"]
        assert desk.standing().holds == {"batch": 0, "snapshot": 0}

    asyncio.run(life())


def test_a_call_given_up_on_undoes_its_batch(path: Path) -> None:
    desk = Executor.open(path, timeout_s=0.2)
    go_on = asyncio.Event()

    def slow(loop: asyncio.AbstractEventLoop) -> Callable[[hades.Memory], None]:
        def call(memory: hades.Memory) -> None:
            memory.remember("slow", "x")
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result()

        return call

    async def life() -> None:
        hold = await desk.hold(ANN, "default", "batch")
        with pytest.raises(TimedOut, match="undone"):
            await desk.write(ANN, "default", slow(asyncio.get_running_loop()), hold=hold)
        go_on.set()
        with pytest.raises(hades.NotFound):
            await desk.release(ANN, hold, commit=True)
        assert await _topics(desk) == []

    asyncio.run(life())
    desk.close()


def test_snapshots_are_few(desk: Executor) -> None:
    callers = [Caller(f"key:{number}", Role.READER) for number in range(SNAPSHOTS_AT_MOST)]

    async def life() -> None:
        holds = [(one, await desk.hold(one, "default", "snapshot")) for one in callers]
        with pytest.raises(Overloaded):
            await desk.hold(EVE, "default", "snapshot")
        assert desk.standing().holds["snapshot"] == SNAPSHOTS_AT_MOST
        for one, hold in holds:
            await desk.release(one, hold, commit=False)
        await desk.release(EVE, await desk.hold(EVE, "default", "snapshot"), commit=False)

    asyncio.run(life())


def test_nobody_has_all_the_snapshots_or_several_batches(desk: Executor) -> None:
    async def life() -> None:
        for _ in range(OF_ONE_CALLER["snapshot"]):
            await desk.hold(EVE, "default", "snapshot")
        with pytest.raises(Overloaded, match="open already"):
            await desk.hold(EVE, "default", "snapshot")
        await desk.hold(BOB, "default", "snapshot")
        hold = await desk.hold(ANN, "default", "batch")
        with pytest.raises(Overloaded, match="open already"):
            await desk.hold(ANN, "default", "batch")
        await desk.release(ANN, hold, commit=True)
        await desk.release(ANN, await desk.hold(ANN, "default", "batch"), commit=True)

    asyncio.run(life())


def test_writes_come_in_between_batches(desk: Executor) -> None:
    async def life() -> None:
        callers = [Caller(f"key:{number}", Role.WRITER) for number in range(5)]
        first = await desk.hold(ANN, "default", "batch")
        waiting = [asyncio.ensure_future(desk.hold(one, "default", "batch")) for one in callers]
        await asyncio.sleep(0)
        write = asyncio.ensure_future(_remember(desk, "between"))
        await asyncio.sleep(0)
        waiting[0].cancel()  # gives up its place
        await desk.release(ANN, first, commit=True)
        await write
        assert sum(one.done() and not one.cancelled() for one in waiting) <= 1
        for one, hold in zip(callers[1:], waiting[1:], strict=True):
            await desk.release(one, await hold, commit=True)

    asyncio.run(life())


def test_a_commit_is_answered_as_kept_whatever_fails_after_it(desk: Executor) -> None:
    def failing(error: Exception) -> Callable[[hades.Memory], None]:
        def fail() -> None:
            raise error

        def call(memory: hades.Memory) -> None:
            memory.remember(type(error).__name__, "x")
            memory._store.afterwards(fail)

        return call

    async def life() -> None:
        for error in (hades.Unavailable("The disk is full."), OSError("Not empty")):
            hold = await desk.hold(ANN, "default", "batch")
            await desk.write(ANN, "default", failing(error), hold=hold)
            await desk.release(ANN, hold, commit=True)
            await desk.release(ANN, hold, commit=True)  # asked again, it says the same
            with pytest.raises(hades.NotFound):
                await desk.release(ANN, hold, commit=False)
            with pytest.raises(hades.NotFound):
                await desk.release(BOB, hold, commit=True)
        assert await _topics(desk) == ["OSError", "Unavailable"]

    asyncio.run(life())


def test_a_commit_that_fails_says_so_each_time(
    desk: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = desk._written()._store.database  # type: ignore[attr-defined]
    run = engine.run

    def broken(sql: str, *values: object) -> object:
        if sql == "COMMIT":
            raise OSError("no more room")
        return run(sql, *values)

    async def life() -> None:
        hold = await desk.hold(ANN, "default", "batch")
        await _remember(desk, "lost", hold)
        monkeypatch.setattr(engine, "run", broken)
        for _ in range(2):
            with pytest.raises(OSError, match="no more room"):
                await desk.release(ANN, hold, commit=True)
        assert await _topics(desk) == []

    asyncio.run(life())


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_slow_commit_is_never_called_undone(
    path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    desk = Executor.open(path, timeout_s=0.3)
    engine = desk._written()._store.database  # type: ignore[attr-defined]
    run, go_on = engine.run, threading.Event()

    def slow(sql: str, *values: object) -> object:
        if sql == "COMMIT":
            assert go_on.wait(20)
        return run(sql, *values)

    def write(memory: hades.Memory) -> None:
        memory.remember("kept", "x")
        if when == "after":
            memory._store.afterwards(lambda: go_on.wait(20))

    async def life() -> None:
        hold = await desk.hold(ANN, "default", "batch")
        await desk.write(ANN, "default", write, hold=hold)
        if when == "before":
            monkeypatch.setattr(engine, "run", slow)
            with pytest.raises(TimedOut, match="not known whether"):
                await desk.release(ANN, hold, commit=True)
        else:
            await desk.release(ANN, hold, commit=True)  # it is on disk, so it is kept
        go_on.set()
        await desk.release(ANN, hold, commit=True)
        assert await _topics(desk) == ["kept"]

    asyncio.run(life())
    desk.close()


def test_leaving_undoes_a_batch_nobody_is_calling_in(desk: Executor) -> None:
    async def life() -> None:
        hold = await desk.hold(ANN, "default", "batch")
        await _remember(desk, "lost", hold)
        waiting = asyncio.ensure_future(_remember(desk, "kept"))
        await asyncio.sleep(0)
        desk.leave()
        async with asyncio.timeout(5):  # sooner than the silence that would end it
            await waiting
        with pytest.raises(hades.NotFound, match="undone"):
            await desk.release(ANN, hold, commit=True)
        with pytest.raises(hades.Unavailable, match="stopping"):
            await desk.hold(ANN, "default", "batch")
        assert await _topics(desk) == ["kept"]

    asyncio.run(life())


def test_closing_undoes_what_is_held(path: Path) -> None:
    desk = Executor.open(path)

    async def life() -> None:
        hold = await desk.hold(ANN, "default", "batch")
        await _remember(desk, "lost", hold)
        waiting = asyncio.ensure_future(_remember(desk, "late"))
        await asyncio.sleep(0)
        await asyncio.to_thread(desk.close)
        with pytest.raises(hades.Unavailable, match="stopping"):
            await waiting
        with pytest.raises(hades.Unavailable, match="stopping"):
            await _remember(desk, "later")

    asyncio.run(life())
    with hades.open(path) as memory:
        assert memory.topics() == []
