"""Answers from notes and told facts: whole short texts, each under its name.

Half a note misleads, since a sentence may depend on a reason or a date beside it. So the best notes
and facts are quoted whole, up to sixty words; of a long note, the sentences with most of the
question. A list has each item once, and events are in order of time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hades.domain.answer import (
    Answer,
    EventTime,
    Fact,
    Intent,
    Passage,
    Recall,
    Sentence,
    TimeKind,
    TimeWords,
    Wants,
)
from hades.domain.graph import Reason
from hades.domain.statement import day
from hades.language.english.intent import asks_for_list
from hades.language.english.periods import UNITS
from hades.language.english.stems import stem
from hades.language.english.terms import QuestionTerms, said, terms_of, text_around, unsaid_names
from hades.language.english.time_words import asks_for_everything, asks_for_next
from hades.language.names import name_parts, numberless
from hades.language.sentences import sentences
from hades.language.words import words

WORDS, LIST_WORDS = 60, 150
WHOLE_WORDS, ITEM_WORDS = 35, 20
"""The most words of a note that is quoted whole, as an answer or as an item of a list."""
FEW_NOTES = 3
"""Up to so many notes on what happened are quoted as an answer, more as items of a list."""
FEW_WORDS = 2
"""If no text found has a word of such a short question, it is about something unknown."""
FACT_MEANT, FACT_SURE = 0.3, 0.5
"""The belief from which a question means a fact even if it names something else, and from which the
fact is an answer among documents."""
SHARE_TO_COME = 0.5
"""The share of the best belief from which a note about the future comes before those about the
past, if the question asks for a date to come."""
SHARE_OF_BEST, LIST_SHARE_OF_BEST = 0.2, 0.05
"""The share of the best belief that an answer, or an item of a list, needs."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A note or a fact that may be part of the answer."""

    text: str
    belief: float
    number: int
    kind: str
    topic: str
    when: datetime
    ended: bool = False
    over: bool = False
    """Whether it only speaks of the past, though the question asks for what is to come."""

    @property
    def sentence(self) -> Sentence:
        return Sentence(self.text, round(self.belief, 4), self.number, self.kind)


def from_notes(recall: Recall) -> Answer:
    """Answer with notes and facts, best first or by time; empty if the question's names are not
    in them."""
    terms = terms_of(recall.question)
    if not terms.weights and recall.wants is Wants.STATE:
        return Answer(recall.question, (), recall)  # a greeting asks for nothing
    happened = recall.wants is Wants.HAPPENINGS
    many = happened or asks_for_list(recall.question)
    room = LIST_WORDS if many else WORDS
    few = happened and len(recall.passages) <= FEW_NOTES
    units = list(_units(recall, terms, ITEM_WORDS if many and not few else WHOLE_WORDS))
    if recall.time is not None and recall.time.kind in (TimeKind.ORIGIN, TimeKind.PAST):
        units = [unit for unit in units if unit.ended] or units
    units.sort(key=lambda unit: -unit.belief)
    if any(unit.over for unit in units):
        to_come = [unit for unit in units if not unit.over]
        to_come = [unit for unit in to_come if unit.belief >= units[0].belief * SHARE_TO_COME]
        if asks_for_next(recall.question):
            units = to_come
        units = to_come + [unit for unit in units if unit not in to_come]
    unsaid = tuple(_unsaid(recall, units))
    if unsaid and not recall.is_surely_answered:
        return Answer(recall.question, (), recall, unsaid)
    least = units[0].belief * (LIST_SHARE_OF_BEST if many else SHARE_OF_BEST) if units else 0.0
    if happened and recall.time and asks_for_everything(recall.question, recall.time):
        least = 0.0  # the time alone chooses
    chosen: list[_Unit] = []
    told = set[str]()
    for unit in units:
        length, alike = len(unit.text.split()), numberless(unit.text) if happened else unit.text
        if unit.belief < least or (chosen and length > room) or alike in told:
            continue
        chosen.append(unit)
        told.add(alike)
        room -= length
    if happened:
        chosen.sort(key=lambda unit: (unit.when, unit.topic))
    return Answer(recall.question, tuple(unit.sentence for unit in chosen), recall, unsaid)


def from_summaries(recall: Recall) -> Answer:
    """Answer with the lines of the summaries in order of time, or with those of a brief in its
    order, each part under its name."""
    facts = [_fact(fact, number) for number, fact in enumerate(recall.facts, start=1)]
    units = [
        _Unit(
            text=f"{_part_of(one)}{one.chunk.topic}: {one.chunk.text} ({day(one.valid_from)})",
            belief=one.belief.mean,
            number=number,
            kind="passage",
            topic=one.chunk.topic,
            when=one.valid_from,
        )
        for number, one in enumerate(recall.passages, start=1)
    ]
    units += facts
    if recall.intent is not Intent.BRIEF:
        units.sort(key=lambda unit: (unit.when, unit.topic))
    return Answer(recall.question, tuple(unit.sentence for unit in units), recall)


def _part_of(passage: Passage) -> str:
    """Return the part of a brief that a line is from, as the beginning of a sentence."""
    heading = passage.chunk.heading
    return f"{heading.capitalize()}: " if heading else ""


def sure_facts(recall: Recall) -> list[Sentence]:
    """Return, as sentences, the facts that a question means with a belief of FACT_SURE or more."""
    units = (_fact(fact, number) for number, fact in enumerate(recall.facts, start=1))
    return [unit.sentence for unit in units if unit.belief >= FACT_SURE]


def _unsaid(recall: Recall, units: Sequence[_Unit]) -> list[str]:
    """Return the question's names that no text contains, and its numbers that the best text lacks.

    These are the two best simple signs that a question cannot be answered: 102 is not 103. If the
    reader read notes, the plain words of a short question are not checked; if it is sure that a
    note answers, numbers are not checked either.
    """
    asked = recall.question.replace(recall.time.said, " ") if recall.time else recall.question
    terms = terms_of(asked)
    texts = (*map(text_around, recall.passages), *(fact.text for fact in recall.facts))
    told = [_said(text) for text in texts]
    missing = []
    # If the best answer is a fact we are sure about, the question may word its relation
    # differently; do not report that as missing.
    if not (units and units[0].kind == "fact" and units[0].belief >= FACT_MEANT):
        missing = unsaid_names(terms.names, told, recall.passages)
    few = recall.wants is Wants.STATE and len(terms.weights) <= FEW_WORDS
    if few and recall.answered is None and not any(set(terms.weights) & text for text in told):
        # The words of the question, which has no capitalised names.
        missing = missing or [word for word in words(asked) if stem(word) in terms.weights]
    if recall.is_surely_answered:
        return missing
    numbers = [term for term in terms.weights if any(sign.isdigit() for sign in term)]
    # A note seldom has two numbered things, so db07 and db08 may be in two notes.
    first = units[: max(1, len(numbers))]
    best = frozenset[str]().union(*(_said(unit.text) for unit in first))
    lacking = [term for term in numbers if units and term not in best]
    return list(dict.fromkeys((*missing, *lacking)))


def _said(text: str) -> frozenset[str]:
    parts = name_parts(text)
    plain = (part.lstrip("0") or part for part in parts)  # `db07` matches "db 07" and "db 7"
    return said(" ".join((text, *parts))) | said(" ".join(plain))


def _units(recall: Recall, terms: QuestionTerms, whole: int) -> Iterator[_Unit]:
    dated = recall.wants is not Wants.STATE
    window = recall.time if recall.wants is Wants.HAPPENINGS else None
    for number, fact in enumerate(recall.facts, start=1):
        yield _fact(fact, number)
    for number, passage in enumerate(recall.passages, start=1):
        if passage.superseded or _is_of_another_time(recall, passage):
            continue
        if window is not None and passage.events:
            passage = _narrowed(passage, window)
            if not passage.events and not _is_in(window, passage.valid_from):
                continue
        yield _note(passage, number, terms, whole, dated)


def _narrowed(passage: Passage, window: TimeWords) -> Passage:
    """Return a note without the sentences that speak of other times than a window."""
    events = [event for event in passage.events if not event.over and _overlaps(event, window)]
    of_then = {event.sentence for event in events}
    gone = {event.sentence for event in passage.events if not event.is_vague} - of_then
    lines = (" ".join(line.split()) for line in sentences(passage.held or passage.chunk.text))
    text = " ".join(line for line in lines if line not in gone)
    return replace(passage, chunk=replace(passage.chunk, text=text), events=tuple(events), held="")


def _overlaps(event: EventTime, window: TimeWords) -> bool:
    since, until = window.since or event.since, window.until or event.until
    return event.since < until and since < event.until


def _is_in(window: TimeWords, moment: datetime) -> bool:
    return (window.since or moment) <= moment and (window.until is None or moment < window.until)


def _is_of_another_time(recall: Recall, passage: Passage) -> bool:
    """Return whether nothing was noted at the time asked about and the passage does not name it."""
    nothing = any(note.reason is Reason.NOTHING_NOTED for note in recall.reasons)
    if nothing and recall.wants is Wants.HAPPENINGS:
        return True
    when = said(recall.time.said) - UNITS if recall.time and nothing else None
    return when is not None and not (when and when <= said(passage.chunk.text))


def _fact(fact: Fact, number: int) -> _Unit:
    edge = fact.edge
    return _Unit(
        *(fact.text, fact.score, number, "fact"),
        *(edge.source.name, edge.valid_from, edge.valid_to is not None),
    )


def _note(passage: Passage, number: int, terms: QuestionTerms, whole: int, dated: bool) -> _Unit:
    """Return a note with its topic in front: whole up to `whole` words, else its best sentences."""
    chunk = passage.chunk
    text = passage.held or _on_one_line(chunk.text)
    if len(text.split()) > whole:
        text = _best(sentences(passage.held or chunk.text), terms, whole, passage.best)
    undated, when = text, ""
    text = _with_dates(text, passage) if dated else text
    if text == undated or any(event.is_vague for event in passage.events):
        when = _when_noted(passage, dated=dated)
    begun = passage.events[0].since if dated and passage.events else passage.valid_from
    return _Unit(
        *(f"{chunk.topic}: {text}{when}", passage.belief.mean, number, "passage"),
        *(chunk.topic, begun, passage.valid_to is not None),
        over=bool(passage.events) and all(event.over for event in passage.events),
    )


def _when_noted(passage: Passage, *, dated: bool) -> str:
    """Return, in brackets, when a note was written or held, as far as an answer tells it."""
    if passage.held:
        return f" (noted {day(passage.valid_from)})"  # later versions do not repeat it
    if passage.valid_to is not None:
        return f" (from {day(passage.valid_from)} to {day(passage.valid_to)})"
    return f" ({day(passage.valid_from)})" if dated else ""


def _with_dates(text: str, passage: Passage) -> str:
    """Return a text of a note with the times of its sentences in brackets after them.

    If none of the sentences names a time, they go on with the one before them that tells the past.
    """
    times = dict[str, str]()
    for event in passage.events:
        before = times.get(event.sentence, "")
        times[event.sentence] = f"{before}, {event}" if before else str(event)
    told = text
    for sentence, when in times.items():
        told = told.replace(sentence, f"{sentence} ({when})", 1)
    past = [event for event in passage.events if event.since <= passage.valid_from]
    return f"{text} ({past[0]})" if told == text and past else told


def _on_one_line(text: str) -> str:
    """Return a text without line breaks, unless it has code."""
    if "```" in text or any(line.startswith(("    ", "\t")) for line in text.splitlines()):
        return text.strip()
    return " ".join(text.split())


def _best(parts: Sequence[str], terms: QuestionTerms, most: int, first: str) -> str:
    """Return the sentences that answer best, in their order in the text, up to `most` words.

    The sentence `first` is always among them.
    """
    worth = [
        sum(weight for term, weight in terms.weights.items() if term in own)
        + terms.is_answered_in_kind(part)
        + (sum(terms.weights.values()) + 1) * (part == first)
        for part, own in ((part, said(part)) for part in parts)
    ]
    around = [0.0, *worth, 0.0]
    kept: set[int] = set()
    words = 0
    # A sentence beside a good one gains half of its worth.
    total = [one + max(around[at], around[at + 2]) / 2 for at, one in enumerate(worth)]
    for at in sorted(range(len(parts)), key=lambda at: -total[at]):
        length = len(parts[at].split())
        if not kept or words + length <= most:
            kept.add(at)
            words += length
    return " ".join(" ".join(parts[at].split()) for at in sorted(kept))
