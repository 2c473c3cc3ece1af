"""Any value in any column of numbers of an export: it is refused, or everything goes on working."""

from __future__ import annotations

import base64
import json
import math
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import UNHURRIED

import hades
from hades.operations.idempotency import once
from hades.store.catalogue import TABLES

LONG = os.environ.get("HADES_ATTACK") == "long"
EXAMPLES = 500 if LONG else 10
RANGES = {
    table: {name: column.range for name, column in about.columns.items() if column.range}
    for table, about in TABLES.items()
}
QUESTION = "Why was approach X rejected?"
NOT_EXPORTED = {"migrations", "actors", "relations", "encoders", "heads", "archived"}
"""Tables whose rows are names in the records of others, or are derived."""


def _fill(memory: hades.Memory, folder: Path) -> None:
    """Write something of everything."""
    memory.remember("gone", "purged")
    memory.purge("gone")
    approach = "Approach X was rejected because of Bug Y. Ann Lee decided it."
    memory.remember("design/approach_x", approach, valid_from="2024-03-04")
    memory.remember("design/approach_x", approach + " So be it.", importance=0.5)
    bug = "Bug Y crashes the parser of Approach X when input is empty."
    memory.remember("bugs/bug_y", bug, valid_from="2024-03-04")
    slow = "Ann Lee rejected the approach because it was slow."
    memory.remember("people/ann", slow, valid_from="2024-03-04")
    memory.relate("design/approach_x", "rejected_because", "Bug Y", valid_to="2090-01-01")
    memory.relate("Bob", "knows", "Ann Lee", kind="person", weight=0.5)
    memory.change_fact("Bob", "knows", to="Anne Lee")
    memory.add_alias("Anne Lee", "Annie")
    memory.merge("Anne Lee", "Ann Lee")
    memory.propose("people/ann", "likes", "tea", confidence=0.1)
    once(memory.inside, "key", "request", dict)
    (folder / "docs").mkdir()
    (folder / "docs/a.md").write_text("# Guide\n\nAtlas uses Redis. See [b](b.md).\n")
    (folder / "docs/b.md").write_text("# Redis\n\nRedis is a queue that Atlas uses.\n")
    memory.ingest(folder / "docs")
    memory.index()
    memory.consolidate(at_least=2)
    memory.index()
    memory.organise()
    for _ in range(3):
        shown = memory.recall(QUESTION, plan=UNHURRIED)
        memory.feedback(shown.id, used=["path:2"], rejected=["path:1"], useful=["1"])
    memory.remember("late", "A later note about Redis.")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """An export with records of every table that has numbers."""
    folder = tmp_path_factory.mktemp("exported")
    with hades.open(folder / "all.hades", actor="ann") as memory:
        _fill(memory, folder)
    with hades.open(folder / "all.hades", actor="ann") as memory:  # which wrote the uses
        memory.export(folder / "all.jsonl")
    made = [json.loads(line) for line in (folder / "all.jsonl").read_text().splitlines()]
    tables = {record.get("table") for record in made}
    assert RANGES.keys() - NOT_EXPORTED - tables == {"bridges", "meta", "owed"} - tables
    return made


def _beyond(least: float, most: float) -> Iterator[Any]:
    """Yield values that are in no range from `least` to `most`."""
    yield from (least - 1, most + max(1, most * 1e-6), -(2**63), 2**63, 10**400)
    yield from (math.nan, math.inf, -math.inf, True, False)


def test_a_number_out_of_the_range_of_its_column_is_refused(
    memory: hades.Memory, tmp_path: Path
) -> None:
    before = memory.change
    file = tmp_path / "one.jsonl"
    for table in sorted(RANGES.keys() - NOT_EXPORTED):
        for number, (column, limits) in enumerate(RANGES[table].items()):
            beyond = list(_beyond(*limits))
            for value in beyond if LONG else beyond[number % len(beyond) :][:1]:
                record = {"table": table, column: value}
                file.write_text(f'{{"hades": 2}}\n{json.dumps(record)}\n{{"end": 1}}\n')
                with pytest.raises(hades.InvalidInput) as refused:
                    memory.import_(file)
                assert "\n" not in str(refused.value)
                assert len(str(refused.value)) < 400
    assert memory.change == before


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("mentions", "introduces", 2**31),
        ("presences", "id", -1),
        ("placements", "ordinal", -(2**63)),
        ("edges", "belief_a", -1),
        ("edges", "weight", math.nan),
        ("topics", "id", True),
    ],
)
def test_the_sentence_names_the_field(
    memory: hades.Memory, tmp_path: Path, table: str, column: str, value: Any
) -> None:
    record = {"table": table, column: value}
    (tmp_path / "one.jsonl").write_text(f'{{"hades": 2}}\n{json.dumps(record)}\n{{"end": 1}}\n')
    with pytest.raises(hades.InvalidInput, match=f"'{column}' of a record of {table} is out of"):
        memory.import_(tmp_path / "one.jsonl")


def _use(memory: hades.Memory, folder: Path) -> None:
    """Read, write, check and export; an export of what was imported can be imported."""
    assert memory.check() == []
    for topic in memory.topics():
        memory.chunks(topic.name), memory.history(topic.name)
    memory.edges(all=True), memory.entities(), memory.log(), memory.query_log(), memory.brief()
    memory.recall(QUESTION), memory.ask("Who decided it?"), memory.at("2024-03-05").ask(QUESTION)
    memory.remember("new", "A new note: Ann Lee likes Redis.")
    memory.relate("Bob", "knows", "Carl")
    memory.consolidate(at_least=2)
    memory.organise()
    memory.feedback(memory.recall(QUESTION).id, useful=["1"])
    memory.export(folder / "graph.json", "node-link")
    memory.export(folder / "again.jsonl")
    assert memory.check() == []
    with hades.open(folder / "again.hades") as again:
        again.import_(folder / "again.jsonl")


def _try(
    memory: hades.Memory, records: list[dict[str, Any]], folder: Path, number: int, value: Any
) -> None:
    """Put a value into one of all fields of numbers, and import the result into a new space."""
    fields = [
        (line, column)
        for line, record in enumerate(records)
        for column in sorted(record.keys() & RANGES.get(record.get("table", ""), {}).keys())
    ]
    line, column = fields[number % len(fields)]
    changed = [*records[:line], records[line] | {column: value}, *records[line + 1 :]]
    (folder / "changed.jsonl").write_text("\n".join(map(json.dumps, changed)))
    before = memory.change
    into = folder.name if before else None
    try:
        memory.import_(folder / "changed.jsonl", into=into)
    except hades.HadesError as refused:
        message = str(refused)
        assert memory.change == before
        assert into not in {space.name for space in memory.spaces()}
    else:
        message = ""
        _use(memory.in_space(into) if into else memory, folder)
    assert "\n" not in message


numbers = st.integers(-(2**63), 2**63) | st.sampled_from([0, 1, 2, 3, 127, 128, 2**31, 2**53])
values = numbers | st.floats() | st.booleans() | st.text(max_size=3) | st.none()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["file", "postgres"])
def test_an_import_with_any_number_works_or_is_refused(
    records: list[dict[str, Any]],
    place: str,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    server = request.getfixturevalue("postgres") if place == "postgres" else None

    @settings(max_examples=EXAMPLES)
    @given(st.integers(0, 10**6), values)
    def try_it(number: int, value: Any) -> None:
        folder = tmp_path_factory.mktemp("import")
        with hades.open(server or folder / "new.hades") as memory:
            _try(memory, records, folder, number, value)

    try_it()


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("pending", "outline", base64.b64encode(b"no outline").decode()),
        ("pending", "outline", base64.b64encode(zlib.compress(b"[]")).decode()),
        ("mentions", "positions", "YQ=="),
        ("embeddings", "vector", "YQ=="),
        ("embeddings", "vector", ""),
    ],
)
def test_bytes_that_cannot_be_read_are_refused(
    tmp_path: Path, table: str, column: str, value: str
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("# Guide\n\nAtlas uses Redis.\n")
    with hades.open(tmp_path / "theirs.hades") as memory:
        memory.ingest(tmp_path / "docs")
        memory.index()
        memory.remember("late", "A note that waits to be indexed.")
        memory.export(tmp_path / "all.jsonl")
    records = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    for record in records:
        if record.get("table") == table:
            record[column] = value
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, records)))
    with hades.open(tmp_path / "ours.hades") as memory:
        with pytest.raises(hades.InvalidInput):
            memory.import_(tmp_path / "all.jsonl")
        assert memory.topics() == []


def test_an_import_cannot_refer_to_rows_of_other_spaces(tmp_path: Path) -> None:
    with hades.open(tmp_path / "theirs.hades") as memory:
        memory.relate("Bob", "knows", "Ann")
        memory.export(tmp_path / "all.jsonl")
    text = (tmp_path / "all.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    (edge,) = (line for line in lines if line.get("table") == "edges")
    with hades.open(tmp_path / "ours.hades") as memory:
        memory.relate("secret plan", "costs", "millions")
        before = memory.change
        for back in (1, 2):
            edge["source"] = (1 - back << 3) | 1
            (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, lines)))
            with pytest.raises(hades.InvalidInput, match="'source' of a record of edges"):
                memory.import_(tmp_path / "all.jsonl", into="theirs")
        assert memory.change == before
