"""Questions in German, French and Spanish are answered from notes in their language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hades

NOTES = {
    "werkstatt/brennofen": "Reparatur am Brennofen: neue Heizspirale, 240 Euro bei Keramik Vogt.",
    "haushalt/waschmaschine": "Die Waschmaschine läuft wieder, wir haben 187 Euro bezahlt.",
    "maison/chauffe-eau": "Le plombier est passé pour le chauffe-eau, payé 265 € par chèque.",
    "guardería": "La guardería de Lucía sale a 175 euros al mes.",
    "car/brakes": "New brakes fitted at Dunmore Motors, both front discs.",
    "bike": "Bike service booked for Tuesday, with a chain.",
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hades.Memory]:
    folder: Path = tmp_path_factory.mktemp("languages")
    with hades.open(folder / "m.hades") as memory:
        for topic, text in NOTES.items():
            memory.remember(topic, text)
        yield memory


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Was hat die Reparatur vom Brennofen gekostet?", "240 Euro"),
        ("Wie viel haben wir für die Waschmaschine bezahlt?", "187 Euro"),
        ("Combien a coûté la réparation du chauffe-eau ?", "265 €"),
        ("¿Cuánto cuesta al mes la guardería de Lucía?", "175 euros"),
    ],
)
def test_a_note_in_the_language_of_the_question_answers(
    memory: hades.Memory, question: str, expected: str
) -> None:
    assert expected in memory.ask(question).sentences[0].text


def test_a_noun_that_no_note_has_is_no_reason_to_refuse(memory: hades.Memory) -> None:
    answer = memory.ask("Was hat die Instandsetzung vom Brennofen gekostet?")
    assert "240 Euro" in answer.sentences[0].text
    assert not answer.unsaid


def test_values_of_a_note_in_another_language_are_not_mixed_in(memory: hades.Memory) -> None:
    answer = memory.ask("How much did the new brakes cost?")
    assert [sentence.text.split(":")[0] for sentence in answer.sentences][:1] == ["car/brakes"]
    assert "240" not in str(answer)


def test_a_message_keeps_accents(memory: hades.Memory) -> None:
    answer = memory.ask("Where does Zoë Şahin live?")
    assert "“Zoë Şahin”" in answer.shortfall
