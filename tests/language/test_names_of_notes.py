"""The names in notes and conversations become entities, with their kinds."""

from __future__ import annotations

import json
from pathlib import Path

import hades


def test_a_turn_of_a_conversation_begins_a_sentence(memory: hades.Memory, tmp_path: Path) -> None:
    chat = tmp_path / "chat.jsonl"
    turns = [("Mira", "Absolutely! Great idea."), ("Oskar", "Woohoo Mira, see you in Bergen.")]
    lines = [
        {"speaker": who, "text": text, "when": f"2024-05-01T10:0{at}:00Z"}
        for at, (who, text) in enumerate(turns)
    ]
    chat.write_text("\n".join(map(json.dumps, lines)))
    memory.ingest(chat)
    memory.index()
    found = {entity.name for entity in memory.entities()}
    assert {"Mira", "Oskar", "Bergen"} <= found
    assert not {"Absolutely", "Great", "Woohoo", "Woohoo Mira"} & found


def test_notes_give_their_names_and_kinds_as_entities(memory: hades.Memory) -> None:
    memory.remember("log/1", "Fixed. Since 12 May 2024 Gateway pages Mira. Reason: disk.")
    memory.remember("log/2", "Mira told Dr Oskar Lind.")
    memory.remember("log/3", "We met Ann Moor in Norway. Zed Quill is a Danish poet.")
    memory.index()
    found = {entity.name: entity.kind for entity in memory.entities()}
    assert {
        "Gateway": "concept",
        "Mira": "concept",
        "Oskar Lind": "person",
        "Ann Moor": "person",
        "Norway": "place",
        "Zed Quill": "person",
    }.items() <= found.items()
    assert not {"Fixed", "Reason", "12 May 2024 Gateway"} & set(found)
