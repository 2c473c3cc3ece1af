"""Answers from units of documents: those that the reader found most likely to answer.

If the question asks for many things, the answer is the whole list that contains the best unit. If
it asks how to do something, the answer includes the steps or the code beside that unit.
"""

from __future__ import annotations

from collections.abc import Sequence

from hades.domain.answer import Answer, Passage, Recall, Sentence
from hades.domain.question import Question, Sign
from hades.language.sentences import has_layout
from hades.language.units import Unit, units
from hades.recall.answer.document_sentences import SENTENCES_AT_MOST, alike, shown
from hades.recall.answer.told import LIST_WORDS, WORDS, sure_facts

SHARE_OF_BEST = 0.3
"""A further unit needs at least this share of the best unit's probability."""


def from_units(recall: Recall) -> Answer:
    """Answer with the likeliest units, after sure facts."""
    chosen = sure_facts(recall)[:SENTENCES_AT_MOST]
    unsaid = () if chosen else recall.unknown
    read = [
        (unit, number, passage)
        for number, passage in enumerate(recall.passages, start=1)
        for unit in passage.units
    ]
    read[1:] = sorted(read[1:], key=lambda row: -row[0].chance)
    room = LIST_WORDS if recall.asked.many else WORDS
    for unit, number, passage in read:
        if chosen and unit.chance < SHARE_OF_BEST * read[0][0].chance:
            break
        if len(chosen) >= SENTENCES_AT_MOST:
            break
        text = _extended(passage, unit.text, recall.asked)
        length = len(text.split())
        if chosen and (length > room or any(alike(text, other.text) for other in chosen)):
            continue
        chosen.append(Sentence(shown(text), unit.chance, number))
        room -= length
    return Answer(recall.question, tuple(chosen), recall, unsaid)


def _extended(passage: Passage, text: str, asked: Question) -> str:
    """Return a unit with what belongs to it.

    For a question about how to do something, that is the whole section if it is short and has steps
    or code. For such a question, or one that asks for many things, it is the whole list.
    """
    own = units(passage.chunk.text)
    at = next((unit for unit in own if unit.told == text), None)
    if at is None:
        return text
    if Sign.HOW_TO in asked.signs and has_layout(passage.chunk.text):
        whole = _together(own)
        if len(whole.split()) <= LIST_WORDS:
            return whole
    if not at.is_code and at.lead.endswith(":") and (asked.many or Sign.HOW_TO in asked.signs):
        return _together([unit for unit in own if unit.lead == at.lead])
    return text


def _together(own: Sequence[Unit]) -> str:
    """Return units in lines; those with the same lead are items below it."""
    lines = []
    lead = ""
    for unit in own:
        if unit.lead and unit.lead != lead:
            lines.append(unit.lead)
        lead = unit.lead
        lines.append(f"- {unit.text}" if lead and not unit.is_code else unit.text)
    return "\n".join(lines)
