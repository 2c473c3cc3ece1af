"""The question read together with a passage finds the passage that comes next."""

from __future__ import annotations

from pathlib import Path

from word_encoder import write_word_encoder

import hades

QUESTION = "In which town was the director of Harbour Nights born?"
FILM = "Harbour Nights: A 1974 drama film written and directed by Ilona Kesk."
NEXT = "Ilona Kesk\nIlona Kesk (born 1931 in Tartu) was an Estonian film maker and painter."
NEARER_IN_WORDS = "Harbour Nights (album)\nThe album was recorded in the director's home town."


def memory_of_pages(folder: Path, encoder: str = "minilm") -> hades.Memory:
    memory = hades.open(folder / "m.hades", encoder=encoder)
    for page in (FILM.replace(": ", "\n"), NEXT, NEARER_IN_WORDS):
        title, _, text = page.partition("\n")
        memory.remember(title, f"# {title}\n\n{text}", kind="document")
    return memory


def notes_of_reading(found: hades.Recall) -> set[hades.Reason]:
    return {note.reason for note in found.reasons if note.stage == "read_on"}


def test_a_second_passage_is_read_if_it_adds_words(
    tmp_path: Path,
) -> None:
    with memory_of_pages(tmp_path) as memory:
        for question, count in (
            (QUESTION, 1),
            ("Was the album recorded in the home town of an Estonian painter?", 2),
            ("Which 1974 drama film was written and directed by Ilona Kesk?", 1),
        ):
            (stage,) = [s for s in memory.recall(question).telemetry if s.stage == "read_on"]
            assert stage.found == count
        found = memory.recall(QUESTION, plan={"retriever": {"read_on": 0}})
        assert hades.Reason.SWITCHED_OFF in notes_of_reading(found)


def test_an_encoder_without_a_companion_reads_nothing_and_says_so(tmp_path: Path) -> None:
    words = write_word_encoder(tmp_path / "words")
    (words / "hop.onnx").unlink()
    with memory_of_pages(tmp_path, f"folder:{words}") as memory:
        assert hades.Reason.FALLBACK in notes_of_reading(memory.recall(QUESTION))


def test_short_of_time_nothing_is_read(tmp_path: Path) -> None:
    with memory_of_pages(tmp_path) as memory:
        found = memory.recall(QUESTION, plan={"retriever": {"timeout_ms": 90}})
        assert hades.Reason.TIMEOUT in notes_of_reading(found)


def test_notes_are_not_read_on_from(tmp_path: Path) -> None:
    with hades.open(tmp_path / "m.hades") as memory:
        memory.remember("film", "Harbour Nights was directed by Ilona Kesk.")
        (stage,) = [one for one in memory.recall(QUESTION).telemetry if one.stage == "read_on"]
        assert stage.found == 0
