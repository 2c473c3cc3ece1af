"""Which steps an answer in several steps may take."""

from __future__ import annotations

from making import UNHURRIED

import hades


def chains(answer: hades.Answer) -> list[str]:
    """Return the texts of an answer that have several steps."""
    return [sentence.text for sentence in answer.sentences if " → " in sentence.text]


def test_the_step_with_the_name_of_the_question_is_the_first(memory: hades.Memory) -> None:
    memory.remember("yard/codes", "Alarm codes: Long Shed 4471. Slip Shed 9062. Net Loft 3305.")
    memory.relate("boats/halcyon", "stored_in", "sheds/slip-shed")
    question = "What is the alarm code for the shed that Halcyon is in?"
    recall = memory.ask(question, plan=UNHURRIED).recall
    assert not any(fact.via for fact in recall.facts if "halcyon" in fact.edge.source.name)


def test_steps_do_not_end_in_a_version_that_a_later_one_replaces(memory: hades.Memory) -> None:
    memory.relate("boats/halcyon", "owned_by", "people/raymond-syme")
    memory.remember("people/raymond-syme", "Raymond Syme lives in Truro.")
    memory.remember("people/raymond-syme", "Raymond Syme lives in Fowey now.")
    answer = memory.ask("Which town does the owner of Halcyon live in?", plan=UNHURRIED)
    assert any("Fowey" in text for text in chains(answer))
    assert not any("Truro" in text for text in chains(answer))
