"""Questions that follow others: `turns` are the last questions and answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hades
from hades.errors import InvalidInput

NOTES = {
    "barn/sale": "The barn is at Skogsby. It was listed on 3 May for 420,000.",
    "boat/sale": "The boat lies in the harbour. It was listed on 9 June for 12,000.",
    "flat/sale": "The flat on Odengatan was listed on 20 April.",
    "bugs/k-130": "Login loops in the browser. Petra looks into it.",
    "bugs/k-131": "Login fails on the phone. Omar looks into it.",
    "people/jonas": "Jonas Vik joined in 2020 as a welder.",
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hades.Memory]:
    folder: Path = tmp_path_factory.mktemp("turns")
    with hades.open(folder / "notes.hades") as memory:
        for topic, text in NOTES.items():
            memory.remember(topic, text)
        for name, place in (("Maya Lind", "Oslo"), ("Jonas Vik", "Luleå"), ("Ada Berg", "Malmö")):
            memory.relate(name, "lives_in", place)
        yield memory


@pytest.mark.parametrize("asked", ["barn", "boat", "flat"])
def test_a_pronoun_means_what_was_asked_about_before(memory: hades.Memory, asked: str) -> None:
    turns = [f"Where is the {asked}?"]
    found = memory.ask("When was it listed?", turns=turns)
    assert found.recall.passages[0].chunk.topic == f"{asked}/sale"
    assert str(found).startswith(f"{asked}/sale")
    assert hades.Reason.FOLLOW_UP in {note.reason for note in found.recall.reasons}
    assert memory.search("When was it listed?", 1, turns=turns)[0].chunk.topic == f"{asked}/sale"


def test_an_answer_before_it_counts_too(memory: hades.Memory) -> None:
    said = str(memory.ask("What is wrong in k-131?"))
    found = memory.recall("Who looks into it?", turns=["What is wrong in k-131?", said])
    assert found.passages[0].chunk.topic == "bugs/k-131"


def test_a_question_without_words_of_its_own_is_answered(memory: hades.Memory) -> None:
    assert not memory.ask("And for how much?").sentences
    found = memory.ask("And for how much?", turns=["Where is the boat?"])
    assert "12,000" in found.sentences[0].text


def test_facts_are_searched_with_the_names_before(memory: hades.Memory) -> None:
    found = memory.ask("And where does he live?", turns=["When did Jonas Vik join?"])
    assert found.recall.facts[0].edge.target.name == "Luleå"


def test_a_question_with_a_name_of_its_own_stands_alone(memory: hades.Memory) -> None:
    question = "When did Jonas Vik join?"
    alone, after = memory.ask(question), memory.ask(question, turns=["Where is the barn?"])
    assert str(after) == str(alone)
    assert after.recall.context == alone.recall.context


def test_no_turns_change_nothing(memory: hades.Memory) -> None:
    alone = memory.recall("When was it listed?", plan={"budget": {"docs_max": 90}})
    assert memory.recall("When was it listed?", turns=[]).context == alone.context
    assert memory.recall("When was it listed?", turns=[""]).context == alone.context


def test_turns_are_part_of_the_key_of_a_kept_answer(memory: hades.Memory) -> None:
    topics = [
        memory.recall("And the price?", turns=[f"Where is the {name}?"]).passages[0].chunk.topic
        for name in ("barn", "boat", "barn")
    ]
    assert topics == ["barn/sale", "boat/sale", "barn/sale"]


def test_turns_that_are_no_texts_are_refused(memory: hades.Memory) -> None:
    with pytest.raises(hades.InvalidInput, match="a list of texts, not 7"):
        memory.recall("What about it?", turns=7)  # type: ignore[arg-type]


def test_turns_are_bounded(memory: hades.Memory) -> None:
    """The last six turns are read, and of each its first 1,000 characters."""

    def context(*turns: str) -> str:
        return memory.recall("When was it listed?", turns=turns).context

    barn, other = "Where is the barn?", "Is that so?"
    filler = "so and so " * 99
    assert context(barn, *[other] * 5) != context(*[other] * 6)
    assert context(barn, *[other] * 6) == context(*[other] * 6)
    assert context(f"{filler}{barn}"[:1_000]) == context(f"{filler}{barn}")
    assert context(f"{filler}{filler}{barn}") == context(filler + "so and so ")
    assert context(f"barn {filler}") != context(filler)
    assert memory.recall("When was it listed?", turns=barn).context == context(barn)
    with pytest.raises(InvalidInput):
        memory.recall("When was it listed?", turns=[7])  # type: ignore[list-item]
