"""The reader orders notes, decides what a later version replaces, and when to be unsure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from word_encoder import write_word_encoder, write_word_reader

import hades
from hades.domain.plain import plain
from hades.models.encoder import load_encoder, reader_of
from hades.models.reader import READER_GRAPH, SentenceReader
from hades.recall.rank import rank_candidates, reading

DOUBT = "Not sure: nothing found says this directly."


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_word_encoder(tmp_path_factory.mktemp("models") / "words")
    write_word_reader(folder)
    return folder


@pytest.fixture
def memory(models: Path, tmp_path: Path) -> Iterator[hades.Memory]:
    with hades.open(tmp_path / "m.hades", encoder=f"folder:{models}") as memory:
        yield memory


def test_the_reader_counts_what_question_and_sentence_share(models: Path) -> None:
    reader = reader_of(load_encoder(f"folder:{models}"))
    assert reader is not None
    logits = reader.speaks("Where is the blue lamp?", ["The blue lamp fell.", "A lamp.", "Rain."])
    assert logits.tolist() == [1.0, -2.0, -5.0]
    pairs = [("The lamp is off.", "The lamp glows."), ("The lamp is off.", "Rain fell.")]
    assert reader.replaces("Where is the lamp?", pairs).tolist() == [2.0, -2.0]
    assert reader.speaks("Where is the lamp?", []).shape == (0,)


def test_long_and_broken_texts_are_read(models: Path) -> None:
    reader = reader_of(load_encoder(f"folder:{models}"))
    assert reader is not None
    texts = ["lamp " * 500, "", "\ud800 lamp", "🏮" * 200]
    assert np.isfinite(reader.speaks("lamp " * 500, texts)).all()


def test_an_answer_that_nothing_says_directly_is_given_with_doubt(memory: hades.Memory) -> None:
    memory.remember("lamp", "The blue lamp stands in the attic.")
    memory.remember("chair", "The oak chair came from Porto.")
    known = memory.ask("Where does the blue lamp stand?")
    assert known.sentences
    assert known.shortfall == ""
    unknown = memory.ask("Which insurance covers flooding?")
    assert unknown.sentences
    assert unknown.shortfall == DOUBT
    assert str(unknown).startswith(f"{DOUBT} Closest:\n")
    assert (plain(unknown)["shortfall"], plain(unknown)["is_doubtful"]) == (DOUBT, True)
    assert (plain(known)["shortfall"], plain(known)["is_doubtful"]) == ("", False)
    assert unknown.recall.answered is not None
    assert known.recall.answered is not None
    assert unknown.recall.answered < known.recall.answered


def test_doubt_about_notes_is_none_about_a_document(memory: hades.Memory) -> None:
    memory.remember("lamp", "The blue lamp stands in the attic.")
    memory.remember("policy", "Flooding is covered by insurance.", kind="document")
    found = memory.recall("Which insurance covers flooding?")
    assert [passage.chunk.topic for passage in found.passages] == ["policy", "lamp"]
    assert found.is_surely_answered


def test_notes_far_from_a_question_about_documents_are_not_read(
    memory: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    speaks = SentenceReader.speaks

    def counted(reader: SentenceReader, question: str, texts: Sequence[str]) -> object:
        read.extend(texts)
        return speaks(reader, question, texts)

    monkeypatch.setattr(SentenceReader, "speaks", counted)
    monkeypatch.setattr(rank_candidates, "READ_FROM", 0.7)  # this encoder finds all texts alike
    memory.remember("lamp", "The blue lamp stands in the attic.")
    memory.remember("policy", "Flooding is covered by insurance.", kind="document")
    memory.recall("flooding insurance")
    assert read == ["policy. Flooding is covered by insurance."]
    memory.recall("blue lamp insurance")
    assert "lamp. The blue lamp stands in the attic." in read


def test_a_name_that_no_note_has_does_not_deny_the_rest(memory: hades.Memory) -> None:
    memory.remember("lamp", "The blue lamp stands in the attic.")
    answer = memory.ask("Where does the blue lamp of Quentin stand?")
    assert "attic" in answer.sentences[0].text
    assert answer.shortfall == "Nothing found says anything about “Quentin”."


def test_a_number_that_no_note_has_does_not_deny_the_rest(memory: hades.Memory) -> None:
    memory.remember("lamp", "The blue lamp stands in the attic.")
    answer = memory.ask("Where does the blue lamp 17 stand?")
    assert "attic" in str(answer)
    assert answer.shortfall == ""


def test_what_is_read_comes_first_and_is_quoted(memory: hades.Memory) -> None:
    filler = " ".join(f"Shelf {word} holds jars." for word in ("one", "two", "three", "four"))
    text = f"{filler} The copper kettle leaks steam. {filler} The door is shut. {filler}"
    memory.remember("kitchen", text)
    memory.remember("garden", "The copper beech grew.")
    answer = memory.ask("Why does the copper kettle leak steam?")
    first = answer.recall.passages[0]
    assert first.chunk.topic == "kitchen"
    assert first.best == "The copper kettle leaks steam."
    assert first.best in answer.sentences[0].text


def test_a_later_sentence_replaces_the_earlier_one(memory: hades.Memory) -> None:
    memory.remember("choir", "Rehearsal is on Tuesday in the chapel. The piano was tuned.")
    memory.remember("choir", "Rehearsal moved to Thursday.")
    answer = memory.ask("On which weekday is rehearsal?")
    assert "Thursday" in answer.sentences[0].text
    assert "Tuesday" not in str(answer)


def test_an_earlier_sentence_that_is_not_replaced_still_answers(memory: hades.Memory) -> None:
    memory.remember("choir", "Rehearsal is on Tuesday. The piano tuner is called Bruno.")
    memory.remember("choir", "Rehearsal moved to Thursday.")
    answer = memory.ask("Who is the tuner?")
    assert "Bruno" in answer.sentences[0].text
    assert "Tuesday" not in answer.sentences[0].text


def test_the_plan_switches_the_reader_off(memory: hades.Memory) -> None:
    memory.remember("lamp", "The blue lamp stands in the attic.")
    off = memory.recall("Which insurance covers flooding?", plan={"reranker": {"reader": False}})
    assert off.answered is None
    assert not any(passage.best for passage in off.passages)


def test_without_time_notes_are_ranked_unread(
    memory: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_slow(*_: object) -> reading.NoteReading:
        raise TimeoutError

    memory.remember("lamp", "The blue lamp stands in the attic.")
    monkeypatch.setattr(reading, "_judged", too_slow)
    found = memory.recall("Where is the blue lamp?")
    assert [passage.chunk.topic for passage in found.passages] == ["lamp"]
    assert found.answered is None
    reasons = [(one.reason, one.detail) for one in found.reasons if one.stage == "rank"]
    assert any(
        why is hades.Reason.TIMEOUT and "without the reader" in told for why, told in reasons
    )


def test_a_damaged_reader_is_told(tmp_path: Path) -> None:
    words = write_word_encoder(tmp_path / "words")
    (words / READER_GRAPH).write_bytes(b"not a graph")
    with hades.open(tmp_path / "m.hades", encoder=f"folder:{words}") as memory:
        memory.remember("lamp", "The blue lamp stands in the attic.")
        with pytest.raises(hades.InvalidInput, match=r"reader.onnx cannot be loaded as a model"):
            memory.recall("Where is the blue lamp?")
        assert memory.get("lamp").content == "The blue lamp stands in the attic."


def test_an_encoder_without_a_reader_has_none(tmp_path: Path) -> None:
    words = write_word_encoder(tmp_path / "words")
    assert reader_of(load_encoder(f"folder:{words}")) is None
