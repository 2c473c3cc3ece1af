"""The desk: calls from many callers, carried to one memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import hades
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor.executor import Executor

ANN = Caller("key:ann", Role.WRITER, frozenset({"default"}))
EVE = Caller("key:eve", Role.READER, frozenset({"default"}))


def test_what_is_written_is_found_at_once(path: Path) -> None:
    async def life() -> list[str]:
        await desk.write(ANN, "default", lambda m: m.remember("fruit/apple", "Apples are red."))
        found = await desk.read(EVE, "default", lambda v: v.search("apples"), fresh=True)
        return [hit.chunk.topic for hit in found]

    desk = Executor.open(path)
    assert asyncio.run(life()) == ["fruit/apple"]
    desk.close()
    with hades.open(path) as memory:
        assert memory.log(1)[0].actor in ("key:ann", "hades")


def test_a_reader_writes_nothing_and_nobody_enters_a_space_of_others(path: Path) -> None:
    desk = Executor.open(path)
    with pytest.raises(hades.Denied, match="role writer"):
        asyncio.run(desk.write(EVE, "default", lambda m: m.remember("a", "x")))
    with pytest.raises(hades.Denied, match="the space 'secret'"):
        asyncio.run(desk.read(EVE, "secret", lambda v: v.topics()))
    desk.close()
