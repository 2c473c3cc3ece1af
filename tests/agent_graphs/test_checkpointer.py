"""Checkpoints of LangGraph in a memory: the conformance suite, sizes, deletion."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import END, START, StateGraph

import hades
from hades.agents import checkpointer
from hades.agents.checkpointer import HadesCheckpointer


def _config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}


@pytest.mark.parametrize("place", ["path", pytest.param("postgres", marks=pytest.mark.slow)])
def test_it_passes_the_conformance_suite(place: str, request: pytest.FixtureRequest) -> None:
    async def check() -> None:
        with hades.open(request.getfixturevalue(place)) as memory:

            @checkpointer_test(name="hades")
            async def made() -> AsyncIterator[BaseCheckpointSaver[Any]]:
                yield HadesCheckpointer(memory)

            report = await validate(made)
            assert {name: result.failures for name, result in report.results.items()} == {
                name: [] for name in report.results
            }
            assert report.passed_all()

    asyncio.run(check())


class _Count(TypedDict):
    number: int


def test_a_graph_continues_in_the_next_run(path: Path) -> None:
    def graph(memory: hades.Memory) -> Any:
        building = StateGraph(_Count)
        building.add_node("add", lambda state: {"number": state["number"] + 1})
        building.add_edge(START, "add")
        building.add_edge("add", END)
        return building.compile(checkpointer=HadesCheckpointer(memory))

    with hades.open(path) as memory:
        assert graph(memory).invoke({"number": 1}, _config("a/b*")) == {"number": 2}
    with hades.open(path) as memory:
        assert graph(memory).get_state(_config("a/b*")).values == {"number": 2}
        assert graph(memory).get_state(_config("a/b")).values == {}


def test_questions_do_not_see_checkpoints_and_nothing_of_them_is_cut(path: Path) -> None:
    with hades.open(path) as memory:
        saver = HadesCheckpointer(memory)
        assert saver.get_tuple(_config("t")) is None
        assert [space.name for space in memory.spaces()] == ["default"]  # reading writes nothing
        checkpoint = {**empty_checkpoint(), "channel_values": {"secret": "swordfish"}}
        saver.put(_config("t"), checkpoint, {}, {})  # type: ignore[typeddict-item]
        inside = memory.in_space("checkpoints")
        inside.index()
        assert inside.stats()["chunks"] == 0
        assert memory.search("swordfish") == []


def test_a_large_checkpoint_is_stored_in_parts_and_deleted_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointer, "PART_CHARACTERS", 1_000)
    text = random.Random(1).randbytes(1_000).hex()
    with hades.open(path) as memory:
        saver = HadesCheckpointer(memory)
        checkpoint: Any = {**empty_checkpoint(), "channel_values": {"text": text}}
        stored = saver.put(_config("t"), checkpoint, {}, {})
        found = saver.get_tuple(stored)
        assert found is not None
        assert found.checkpoint["channel_values"]["text"] == text
        inside = memory.in_space("checkpoints")
        assert len(inside.topics("p/*")) >= 1
        saver.copy_thread("t", "u")
        saver.delete_thread("t")
        assert [topic.name for topic in inside.topics() if "/t/" in topic.name] == []
        assert saver.get_tuple(_config("u")) is not None


def test_pruning_keeps_what_a_delta_channel_builds_on(path: Path) -> None:
    with hades.open(path) as memory:
        saver, config = HadesCheckpointer(memory), _config("t")
        counters = {"counters_since_delta_snapshot": {"log": (1, 1)}}
        for values, metadata in (({}, {}), ({"log": ["a"]}, {}), ({}, counters)):
            checkpoint: Any = {**empty_checkpoint(), "channel_values": values}
            config = saver.put(config, checkpoint, metadata, {})  # type: ignore[arg-type]
        saver.prune(["t"])
        assert len(list(saver.list(_config("t")))) == 2
        with pytest.raises(hades.InvalidInput, match="keep_latest or delete"):
            saver.prune(["t"], strategy="half")


def test_a_config_without_a_thread_is_refused(path: Path) -> None:
    with hades.open(path) as memory, pytest.raises(hades.InvalidInput, match="needs a thread"):
        HadesCheckpointer(memory).get_tuple({"configurable": {}})
