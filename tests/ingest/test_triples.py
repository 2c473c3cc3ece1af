"""Triples, under whatever names their fields have."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

import hades
from hades.ingest.document import Bad
from hades.ingest.readers.triples import Triple, looks_like_triple, read_triples


def read(folder: Path, *rows: object) -> list[Triple | Bad]:
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(read_triples(path))


def test_a_triple_with_all_it_may_say(tmp_path: Path) -> None:
    row = {
        "subject": "Ed  Wood",
        "predicate": "directed by",
        "object": "Tim Burton",
        "chunk": "p7",
        "valid_from": "1994-09-28",
        "valid_to": "2020",
        "weight": "0.5",
        "evidence": "a film by Tim Burton",
    }
    assert read(tmp_path, row) == [
        Triple(
            "Ed Wood",
            "directed by",
            "Tim Burton",
            source="p7",
            valid_from=datetime(1994, 9, 28, tzinfo=UTC),
            valid_to=datetime(2020, 1, 1, tzinfo=UTC),
            weight=0.5,
            evidence="a film by Tim Burton",
            where=f"{tmp_path / 't.jsonl'}, line 1",
        )
    ]


@pytest.mark.parametrize("names", [("s", "p", "o"), ("head", "relation", "tail")])
def test_other_names_for_the_fields(tmp_path: Path, names: tuple[str, str, str]) -> None:
    row = dict(zip(names, ("Paris", "capital of", "France"), strict=True))
    assert looks_like_triple(dict(row))
    (triple,) = read(tmp_path, row)
    assert isinstance(triple, Triple)
    assert (triple.subject, triple.predicate, triple.object) == ("Paris", "capital of", "France")


def test_tables_hold_triples_too(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("subject,predicate,object,weight\nA,knows,B,\nA,born in,1960,1\n")
    first, second = read_triples(path)
    assert isinstance(first, Triple)
    assert isinstance(second, Triple)
    assert (first.weight, second.object) == (1.0, "1960")


def test_a_number_may_be_an_object_and_a_year(tmp_path: Path) -> None:
    (triple,) = read(tmp_path, {"s": "A", "p": "born in", "o": 1960, "start": 1960})
    assert isinstance(triple, Triple)
    assert triple.object == "1960"
    assert triple.valid_from == datetime(1960, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"object": None}, "There is no object; the fields are: subject, predicate, object."),
        ({"object": ["B"]}, "The field 'object' is not a text."),
        ({"subject": "  "}, "There is no subject; the fields are: subject, predicate, object."),
        ({"weight": 2}, "The weight is a number from 0 to 1, not '2'."),
        ({"weight": "much"}, "The weight is a number from 0 to 1, not 'much'."),
        ({"valid_from": "soon"}, "Cannot read the time 'soon': write it as 2024-03-31."),
        ({"valid_from": "2024", "valid_to": "2023"},
         "It ends before it begins: valid_to must be later than valid_from."),
    ],
)  # fmt: skip
def test_a_triple_that_cannot_be_used_says_why(
    tmp_path: Path, more: dict[str, object], why: str
) -> None:
    good = {"subject": "A", "predicate": "knows", "object": "B"}
    first, second = read(tmp_path, good | more, good)
    assert first == Bad(f"{tmp_path / 't.jsonl'}, line 1", why)
    assert isinstance(second, Triple)


def test_a_corpus_is_not_triples() -> None:
    assert not looks_like_triple({"id": "1", "title": "T", "text": "t"})


def test_the_passage_a_fact_was_read_in_mentions_both_ends(
    memory: hades.Memory, tmp_path: Path
) -> None:
    for topic in ("films/ed_wood", "films/other"):
        memory.remember(topic, "A film about a director who made odd films.")
    memory.search("films")  # cuts what was remembered
    fact = {"subject": "Ed Wood", "predicate": "directed by", "object": "Tim Burton"}
    path = tmp_path / "facts.jsonl"
    path.write_text(json.dumps({**fact, "source": "films/ed_wood"}), encoding="utf-8")
    assert memory.import_triples(path).added == 1
    for name in ("Ed Wood", "Tim Burton"):
        (hit,) = memory.search(name, retriever="names")
        assert hit.chunk.topic == "films/ed_wood"
    change = memory.change
    assert memory.import_triples(path).unchanged == 1
    assert memory.change == change, "saying it again changes nothing"


def test_a_fact_from_an_unknown_source_is_still_a_fact(
    memory: hades.Memory, tmp_path: Path
) -> None:
    path = tmp_path / "facts.csv"
    path.write_text("subject,predicate,object,source\nParis,capital of,France,page 7\n")
    assert memory.import_triples(path).added == 1
    (edge,) = memory.edges("Paris")
    assert edge.target.name == "France"
    assert memory.search("Paris", retriever="names") == []
