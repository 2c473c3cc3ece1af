"""Triples, under whatever names their fields have."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

import hades


def read(memory: hades.Memory, folder: Path, *rows: object) -> list[tuple[str, str]]:
    """Import rows as JSON lines; what was skipped, and why."""
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(memory.import_triples(path).skipped)


def test_a_triple_with_all_it_may_say(memory: hades.Memory, tmp_path: Path) -> None:
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
    assert read(memory, tmp_path, row) == []
    (edge,) = memory.edges(all=True)
    assert (edge.source.name, edge.relation, edge.target.name) == (
        *("Ed Wood", "directed by", "Tim Burton"),
    )
    assert edge.valid_from == datetime(1994, 9, 28, tzinfo=UTC)
    assert edge.valid_to == datetime(2020, 1, 1, tzinfo=UTC)
    assert (edge.weight, edge.evidence) == (0.5, "a film by Tim Burton")
    assert dict(edge.metadata) == {"source": "p7"}


@pytest.mark.parametrize("names", [("s", "p", "o"), ("head", "relation", "tail")])
def test_other_names_for_the_fields(
    memory: hades.Memory, tmp_path: Path, names: tuple[str, str, str]
) -> None:
    row = dict(zip(names, ("Paris", "capital of", "France"), strict=True))
    assert read(memory, tmp_path, row) == []
    (edge,) = memory.edges("Paris")
    assert (edge.relation, edge.target.name) == ("capital of", "France")


def test_tables_hold_triples_too(memory: hades.Memory, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("subject,predicate,object,weight\nA,knows,B,\nA,born in,1960,1\n")
    assert memory.import_triples(path).added == 2
    told = {edge.relation: edge for edge in memory.edges("A")}
    assert (told["knows"].weight, told["born in"].target.name) == (1.0, "1960")


def test_a_number_may_be_an_object_and_a_year(memory: hades.Memory, tmp_path: Path) -> None:
    assert read(memory, tmp_path, {"s": "A", "p": "born in", "o": 1960, "start": 1960}) == []
    (edge,) = memory.edges("A")
    assert edge.target.name == "1960"
    assert edge.valid_from == datetime(1960, 1, 1, tzinfo=UTC)


def test_a_triple_that_cannot_be_used_says_why(memory: hades.Memory, tmp_path: Path) -> None:
    good = {"subject": "A", "predicate": "knows", "object": "B"}
    reasons = [
        ({"object": None}, "There is no object; the fields are: subject, predicate, object."),
        ({"object": ["B"]}, "The field 'object' is not a text."),
        ({"subject": "  "}, "There is no subject; the fields are: subject, predicate, object."),
        ({"weight": 2}, "The weight is a number from 0 to 1, not '2'."),
        ({"weight": "much"}, "The weight is a number from 0 to 1, not 'much'."),
        ({"valid_from": "soon"}, "Cannot read the time 'soon': write it as 2024-03-31."),
        (
            {"valid_from": "2024", "valid_to": "2023"},
            "It ends before it begins: valid_to must be later than valid_from.",
        ),
    ]
    rows = [good | more for more, _ in reasons]
    skipped = read(memory, tmp_path, *rows, good)
    assert [where.rpartition(".jsonl")[2] for where, _ in skipped] == [
        f", line {number}" for number, _ in enumerate(reasons, 1)
    ]
    assert [why for _, why in skipped] == [why for _, why in reasons]
    assert [str(edge) for edge in memory.edges()] == ["A --[knows]--> B"]


def test_triples_are_no_corpus_and_a_corpus_is_no_triples(
    memory: hades.Memory, tmp_path: Path
) -> None:
    for names in (
        ("subject", "predicate", "object"),
        ("s", "p", "o"),
        ("head", "relation", "tail"),
    ):
        triples = tmp_path / "triples.jsonl"
        triples.write_text(json.dumps(dict(zip(names, "abc", strict=True))))
        ((_, why),) = memory.ingest(triples).skipped
        assert "import-triples" in why
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"id": "1", "title": "T", "text": "t"}))
    assert memory.ingest(corpus).added == 1


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
