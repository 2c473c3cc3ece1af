"""Much of one thing: very long notes, and many versions of one topic that wait together."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import hades
from hades.ingest import phases
from hades.store import chunks

CODES = "".join(random.Random(7).choices("bcdfghjklmnpqrstvwxz", k=130_000))
"""One word of 130 kB, which the encoder reads in few and short passages."""
LONG = f"{CODES}\n\nThe kettle stands in the cellar.\n"


def why_no_vector(found: hades.Recall) -> str:
    return " ".join(note.detail for note in found.reasons if note.reason == "no_embeddings")


def test_far_inside_a_long_note_words_find_passages(memory: hades.Memory) -> None:
    memory.remember("long", LONG)
    memory.index()
    assert (memory.unembedded, memory.pending) == (0, 0)
    found = memory.recall("Where does the kettle stand?")
    assert any("cellar" in passage.chunk.text for passage in found.passages)
    assert why_no_vector(found).endswith("beyond the first 100,000 characters of a note")
    memory.remember("new", "The lamp is in the hall.")
    assert "yet" not in why_no_vector(memory.recall("Where is the lamp?"))


def test_times_are_read_in_the_beginning_of_a_long_note(memory: hades.Memory) -> None:
    memory.remember("long", f"{LONG}\n\nThe sweep comes on 3 May 2031.")
    memory.remember("short", "The painter comes on 3 May 2031.")
    hits = memory.search("who comes", since="2031-05-01", until="2031-05-31", by="event")
    assert [hit.chunk.topic for hit in hits] == ["short"]


def test_shorter_notes_and_documents_get_all_vectors(memory: hades.Memory, tmp_path: Path) -> None:
    memory.remember("shorter", LONG[:99_000])
    (tmp_path / "long.txt").write_text(LONG)
    memory.ingest(tmp_path / "long.txt")
    memory.index()
    assert memory.unembedded == 0
    assert not why_no_vector(memory.recall("Where does the kettle stand?"))


STARTS = [*range(1, 15), 3, 20, 8, 8, *range(15, 25)]
"""The days on which versions of one topic begin: some were noted later than others."""


def told(memory: hades.Memory, *, at_once: bool) -> list[list[str]]:
    """Write the versions, and return which passages hold at each of three moments."""
    memory.create_space(str(at_once))
    view = memory.in_space(str(at_once))
    for number, day in enumerate(STARTS):
        view.remember("log", f"Reading {number} of the pump.", valid_from=f"2024-03-{day:02}")
        if not at_once:
            view.search("pump")
    return [
        [hit.chunk.text for hit in view.at(f"2024-03-{day:02}").search("reading of the pump")]
        for day in (2, 9, 30)
    ]


def test_versions_that_wait_together_hold_as_if_indexed_alone(memory: hades.Memory) -> None:
    assert len(STARTS) > phases.PART_STATES
    assert told(memory, at_once=True) == told(memory, at_once=False)


def test_versions_in_order_are_not_searched_for_a_later_start(
    memory: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "_NEXT_START", "this is not SQL")
    with memory.batch():
        for number in range(phases.PART_STATES + 1):
            memory.remember("log", f"Reading {number} of the pump.")
    assert f"Reading {phases.PART_STATES}" in str(memory.ask("What is the reading of the pump?"))
