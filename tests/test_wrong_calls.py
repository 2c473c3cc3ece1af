"""Wrong calls are refused in a sentence, and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import hades

STRANGE_INPUT: list[Callable[[Any], object]] = [
    lambda m: m.get("\udcff"),
    lambda m: m.get(["a"]),
    lambda m: m.get("a", 1 << 70),
    lambda m: m.get("a", "1"),
    lambda m: m.topics("\udcff"),
    lambda m: m.topics(limit=1 << 70),
    lambda m: m.log(1 << 70),
    lambda m: m.log("x"),
    lambda m: m.edge(1 << 70),
    lambda m: m.in_space("\udcff"),
    lambda m: m.at(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))),
    lambda m: m.remember("a", "x", tags=5),
    lambda m: m.remember("a", "x", expect_version="1"),
    lambda m: m.relate("a", "r", "b", kind=None),
    lambda m: m.merge("\udcff", "a"),
    lambda m: hades.open("nul\0path"),
    lambda m: hades.open("~nosuchuser123/x.hades"),
    lambda m: hades.open("x" * 5000),
]


def test_strange_input_is_refused_in_our_words(memory: hades.Memory) -> None:
    for number, strange in enumerate(STRANGE_INPUT):
        with pytest.raises(hades.HadesError) as refusal:
            strange(memory)
        assert "damaged" not in str(refusal.value), number
        assert "closed" not in str(refusal.value), number


STRANGE_RECORDS = [
    '{"table": "states", "topic": 1, "version": 1, "content": 5}',
    '{"table": "topics", "id": 99999999999999999999, "space": 1, "name": "x"}',
    '{"table": "topics", "id": 1, "space": 1, "name": " "}',
    '{"table": "spaces", "id": 1, "name": "x", "created_at": ' + "[" * 5000,
]


def test_strange_records_are_refused(memory: hades.Memory, tmp_path: Path) -> None:
    space = '{"table": "spaces", "id": 1, "name": "default", "created_at": "2024-01-01T00:00:00Z"}'
    for record in STRANGE_RECORDS:
        (tmp_path / "x.jsonl").write_text(f'{{"hades": 2}}\n{space}\n{record}\n{{"end": 2}}\n')
        with pytest.raises(hades.InvalidInput):
            memory.import_(tmp_path / "x.jsonl")
    assert [one.name for one in memory.spaces()] == ["default"]
    assert memory.topics() == []


STRANGE_GRAPHS = [
    '{"nodes": [{"id": 1}], "edges": 5}',
    '{"nodes": [{"id": 1}], "edges": [{"source": 1, "target": 1, "weight": "abc"}]}',
    "[" * 5000,
]


def test_strange_graphs_are_refused(memory: hades.Memory, tmp_path: Path) -> None:
    for graph in STRANGE_GRAPHS:
        (tmp_path / "x.json").write_text(graph)
        with pytest.raises(hades.InvalidInput):
            memory.import_(tmp_path / "x.json")
    assert memory.entities() == []


def test_metadata_has_a_depth_that_can_be_shown(memory: hades.Memory) -> None:
    def nested(depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for _ in range(depth - 1):
            value = {"a": value}
        return value

    memory.remember("fits", "x", metadata=nested(64))
    for write in (
        lambda: memory.remember("a", "x", metadata=nested(65)),
        lambda: memory.relate("a", "r", "b", metadata=nested(300)),
        lambda: memory.propose("a", content="x", metadata=nested(300)),
    ):
        with pytest.raises(hades.InvalidInput, match=r"nested|JSON"):
            write()
    assert [topic.name for topic in memory.topics()] == ["fits"]
    assert memory.get("fits").metadata == nested(64)


def test_what_is_no_name_or_number_is_refused(memory: hades.Memory) -> None:
    memory.remember("5", "x")
    memory.relate("a", "r", "b")
    for wrong in (
        lambda: memory.remember(5, "y"),  # type: ignore[arg-type]
        lambda: memory.forget(True),  # type: ignore[arg-type]
        lambda: memory.edge("1"),  # type: ignore[arg-type]
        lambda: memory.edge(-1),
        lambda: memory.subgraph(["a"]),  # type: ignore[arg-type]
        lambda: memory.unrelate(True),
        lambda: memory.log(None),  # type: ignore[arg-type]
        lambda: memory.topics(after=""),
    ):
        with pytest.raises(hades.InvalidInput):
            wrong()
    with pytest.raises(hades.NotFound):
        memory.history("nobody", limit=0)
    assert memory.get("5").content == "x"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m: m.ingest(5),
        lambda m: m.ingest(""),
        lambda m: m.ingest("a\0b"),
        lambda m: m.search("x", retriever=5),
        lambda m: m.search("x", retriever=[]),
    ],
)
def test_strange_calls_are_refused(memory: hades.Memory, wrong) -> None:
    with pytest.raises(hades.InvalidInput):
        wrong(memory)


def test_names_that_are_refused(memory: hades.Memory) -> None:
    wrong: Any
    for wrong in ("", "  ", "x" * 2001, "bad \ud800 surrogate", 7):
        with pytest.raises(hades.InvalidInput):
            memory.remember(wrong, "x")
    assert memory.topics() == []


def test_shares_go_from_0_to_1(memory: hades.Memory) -> None:
    wrong: Any
    for wrong in (-0.1, 1.1):
        with pytest.raises(hades.InvalidInput, match="from 0 to 1"):
            memory.remember("a", "x", confidence=wrong)
    for wrong in (float("nan"), float("inf"), "1", True):
        with pytest.raises(hades.InvalidInput):
            memory.remember("a", "x", confidence=wrong)
    assert memory.topics() == []


def test_metadata_must_survive_json(memory: hades.Memory) -> None:
    wrong: Any
    for wrong in ({"a": float("nan")}, {1: "a"}, {"a": object()}, {"a": {1, 2}}, {"a": "\ud800"}):
        with pytest.raises(hades.InvalidInput, match="metadata"):
            memory.remember("a", "x", metadata=wrong)
    assert memory.topics() == []


def test_metadata_has_a_size(memory: hades.Memory) -> None:
    memory.remember("a", "x", metadata={"a": "x" * 1_000_000})
    with pytest.raises(hades.InvalidInput, match="1 MB"):
        memory.remember("b", "x", metadata={"a": "ü" * 600_000})
    assert [topic.name for topic in memory.topics()] == ["a"]


def test_tags_are_a_sorted_set(memory: hades.Memory) -> None:
    assert memory.remember("a", "x", tags=["b", "a", "b"]).tags == ("a", "b")
    with pytest.raises(hades.InvalidInput, match="list"):
        memory.remember("a", "x", tags="decision")  # type: ignore[arg-type]
