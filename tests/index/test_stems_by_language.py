"""Texts and questions are stemmed in their own language."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.domain.times import FOREVER
from hades.index.array_store import read_json, write_json
from hades.index.space_words import FORMAT
from hades.index.words import Presence, Words, stems

TEXTS = {
    1: "Die Häuser der Nachbarn sind verkauft.",
    2: "Les clés de la voiture sont dans le tiroir.",
    3: "Han cambiado los códigos de las impresoras.",
    4: "The printers were sold with the houses.",
    5: "Sandrine Aubry habite à Grenoble.",
}
ROWS = [(Presence(n, n, n, 1, 0, FOREVER, 0, FOREVER), text) for n, text in TEXTS.items()]


@pytest.mark.parametrize("written", [True, False])
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Wem gehört das Haus vom Nachbar?", 1),
        ("Où est la clé des voitures ?", 2),
        ("¿Cuál es el código de la impresora?", 3),
        ("cual es el codigo de esta impresora", 3),
        ("Which printer was sold?", 4),
        ("Where does Aubry live?", 5),
        ("Où est Aubry ?", 5),
    ],
)
def test_other_forms_of_a_word_are_found(written: bool, question: str, expected: int) -> None:
    words = Words().put(ROWS) if written else Words().with_recent(ROWS)
    assert words.best(question, 1, 1, 5)[0][0] == expected


@given(st.text(max_size=60), st.sampled_from(["german", "french", "arabic", "greek", "russian"]))
def test_english_stems_stay_beside_those_of_another_language(text: str, language: str) -> None:
    assert stems(text, language)[: len(stems(text))] == stems(text)


def test_an_index_of_an_older_format_is_rebuilt(tmp_path: Path) -> None:
    with hades.open(tmp_path / "m.hades") as memory:
        for number in range(70):  # enough to be written to disk
            memory.remember(f"haus/{number}", f"Die Häuser der Straße {number} sind verkauft.")
        memory.search("Haus", retriever="words")
    revision = next(tmp_path.glob("**/spaces/*.json"))
    old = read_json(revision)
    assert old.pop("format") == FORMAT
    write_json(revision, old)
    with hades.open(tmp_path / "m.hades") as memory:
        assert memory.search("Wo ist das Haus 7?", retriever="words")
    assert read_json(revision)["format"] == FORMAT
