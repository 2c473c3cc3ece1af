"""Answers from notes and told facts: whole short texts, each under its name.

A sentence of a note may depend on a reason or a date in the next one, so half a note misleads. The
best notes and facts are quoted whole, up to sixty words; of a longer note, the sentences that have
most of the question. A list has each item once, and events are in order of time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hades.domain.answer import DOUBTED, Answer, EventTime, Fact, Passage, Recall, Sentence
from hades.domain.fitting import best_fitting
from hades.domain.graph import Reason
from hades.domain.plain import one_line
from hades.domain.question import (
    NAME_WEIGHT,
    Intent,
    Question,
    QuestionTerms,
    Sign,
    TimeKind,
    TimeWords,
    Wants,
)
from hades.domain.statement import day
from hades.language.english.event_times import tells_habit
from hades.language.english.periods import UNITS
from hades.language.english.stems import stem
from hades.language.english.terms import has_kind, terms_in, text_around, unsaid_names
from hades.language.english.version_words import SAYS_CHANGE
from hades.language.languages import ENGLISH, language_of
from hades.language.sentences import has_layout, on_one_line, quotes, sentences
from hades.language.words import words, written_words
from hades.recall.answer.named import names_asked, terms_and_parts

WORDS = 60
LIST_WORDS = 150
WHOLE_WORDS = 35
ITEM_WORDS = 20
"""The most words of a note that is quoted whole, as an answer or as an item of a list."""
FEW_NOTES = 3
"""Up to this many notes on what happened are quoted as sentences; more become a list."""
FEW_WORDS = 2
"""A question of at most this many words is about something unknown if no text found has one of
them."""
FACT_MEANT = 0.3
FACT_SURE = 0.5
"""From this belief on, a question means a fact even if it names something else, and the fact
answers among documents."""
CHAIN_OF_FACT = 0.75
CHAIN_OF_NOTE = 0.3
"""A chain replaces its first step if its belief is at least this share of that fact's belief, or at
least this belief if the step is a note."""
SHARE_TO_COME = 0.5
"""If the question asks for a coming date, a note about the future with at least this share of the
best belief comes before notes about the past."""
SHARE_OF_BEST = 0.17
LIST_SHARE_OF_BEST = 0.05
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
    id: str = ""
    """The passage, or `edge 12`."""
    via: tuple[str, ...] = ()
    """The ids of the steps before it, which its text contains."""

    @property
    def sentence(self) -> Sentence:
        return Sentence(self.text, round(self.belief, 4), self.number, self.kind)


def from_notes(recall: Recall) -> Answer:
    """Answer with notes and facts, the likeliest first, or by time."""
    terms = recall.asked.terms
    follows = any(note.reason is Reason.FOLLOW_UP for note in recall.reasons)
    if not terms.weights and recall.wants.is_state and not follows:
        return Answer(recall.question, (), recall)  # a greeting asks for nothing
    happened = recall.wants is Wants.HAPPENINGS
    many = happened or recall.asked.many
    room = LIST_WORDS if many else WORDS
    few = happened and len(recall.passages) <= FEW_NOTES
    units = list(_units(recall, ITEM_WORDS if many and not few else WHOLE_WORDS))
    if recall.time is not None and recall.time.kind in (TimeKind.ORIGIN, TimeKind.PAST):
        units = [unit for unit in units if unit.ended] or units
    if recall.intent is Intent.STATUS:
        units = _in_state(units, terms)
    units.sort(key=lambda unit: (-unit.belief, unit.kind != "fact"))
    units = _with_chains(_to_come_first(recall, _without_chance(recall, units, terms)))
    unsaid = _unterms_in(recall, units)
    beside = _is_beside(recall, units)
    best = max((unit.belief for unit in units), default=0.0)
    least = best * (LIST_SHARE_OF_BEST if many else SHARE_OF_BEST)
    if happened and Sign.EVERYTHING in recall.asked.signs:
        least = 0.0  # the time alone chooses
    chosen: list[_Unit] = []
    told = set[str]()
    for unit in units:
        length = len(unit.text.split())
        if unit.belief < least or (chosen and length > room) or unit.text in told:
            continue
        if unit.kind == "passage" and _is_quoted(recall.passages[unit.number - 1], told):
            continue
        chosen.append(unit)
        told.add(unit.text)
        room -= length
    if happened or recall.wants is Wants.CHANGES:
        chosen.sort(key=lambda unit: (unit.when, unit.topic))
    elif recall.time is None and Sign.PAST_TENSE not in recall.asked.signs:
        chosen = _newest_first(chosen, terms)
    return Answer(recall.question, tuple(unit.sentence for unit in chosen), recall, unsaid, beside)


def _in_state(units: list[_Unit], terms: QuestionTerms) -> list[_Unit]:
    """Return the units that tell the state that the question asks for.

    They are the current units that have all terms of the question, or else all current units.
    """
    present = [unit for unit in units if not unit.ended]
    having = [unit for unit in present if terms.weights.keys() <= terms_and_parts(unit.text)]
    return having or present or units


def _is_quoted(passage: Passage, texts: Iterable[str]) -> bool:
    """Return whether one of these texts quotes the whole passage, as a disputed fact may do."""
    return any(f"“{passage.chunk.text.strip()}”" in text for text in texts)


def tells_change(text: str, subject: frozenset[str]) -> bool:
    """Return whether a sentence of a text tells a change of a subject, given by its terms."""
    if not subject or not SAYS_CHANGE.search(text):
        return False
    return any(subject <= terms_in(part) and SAYS_CHANGE.search(part) for part in sentences(text))


def _newest_first(units: Sequence[_Unit], terms: QuestionTerms) -> list[_Unit]:
    """Put later notes that tell how the best note's topic changed before that note, with dates."""
    if not units or units[0].kind != "passage":
        return list(units)
    best, *others = units
    named = terms_in(best.topic) & terms.weights.keys()
    subject = frozenset(t for t in named if terms.weights[t] >= NAME_WEIGHT) or frozenset(named)
    later = [
        unit
        for unit in others
        if unit.kind == "passage" and unit.topic != best.topic and unit.when > best.when
        if tells_change(unit.text, subject)
    ]
    if not later:
        return list(units)
    later.sort(key=lambda unit: unit.when, reverse=True)
    first = [_dated(unit) for unit in (*later, best)]
    return [*first, *(unit for unit in others if unit not in later)]


def _dated(unit: _Unit) -> _Unit:
    when = f"{day(unit.when)})"
    return unit if unit.text.endswith(when) else replace(unit, text=f"{unit.text} ({when}")


def from_summaries(recall: Recall) -> Answer:
    """Answer with the lines of the summaries in order of time, or with those of a brief in its
    order, each part under its name."""
    facts = [_fact(fact, number) for number, fact in enumerate(recall.facts, start=1)]
    units = [
        _Unit(
            text=f"{_part_of(one)}{one_line(one.chunk.topic)}: "
            f"{one.chunk.text} ({day(one.valid_from)})",
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


def _to_come_first(recall: Recall, units: list[_Unit]) -> list[_Unit]:
    """If a question asks for a date to come, put notes about the future before those that only
    speak of the past; these are left out if it says `next`."""
    if not any(unit.over for unit in units):
        return units
    least = units[0].belief * SHARE_TO_COME
    to_come = [unit for unit in units if not unit.over and unit.belief >= least]
    if Sign.NEXT in recall.asked.signs:
        return to_come
    return to_come + [unit for unit in units if unit not in to_come]


def _with_chains(units: Sequence[_Unit]) -> list[_Unit]:
    """Replace the first step of the likeliest chain with the chain, which repeats it, if it is
    likely enough."""
    chain = max((unit for unit in units if unit.via), key=lambda unit: unit.belief, default=None)
    step = next((unit for unit in units if chain and unit.id == chain.via[0]), None)
    if chain is None or step is None:
        return list(units)
    least = CHAIN_OF_FACT * step.belief if step.kind == "fact" else CHAIN_OF_NOTE
    if chain.belief < least:
        return list(units)
    sure = replace(chain, belief=max(chain.belief, step.belief))
    at = min(units.index(chain), units.index(step))
    others = [unit for unit in units if unit is not chain and unit is not step]
    return [*others[:at], sure, *others[at:]]


def _unterms_in(recall: Recall, units: Sequence[_Unit]) -> tuple[str, ...]:
    """Return the names in the question that the memory lacks.

    If a likely fact comes first, names of one word are not reported, because the question may use
    another word for the fact's relation. Numbers are not reported if the reader is sure of a note
    whose topic has no number. If the reader read no notes, though there was time, and no text found
    has a word of a short question, all its words are reported.
    """
    unknown = recall.unknown
    if units and units[0].kind == "fact" and units[0].belief >= DOUBTED:
        return tuple(name for name in unknown if " " in name)
    numbered = units and any(sign.isdigit() for sign in units[0].topic)
    if recall.is_surely_answered and not numbered:
        return tuple(name for name in unknown if not name[-1].isdigit())
    is_judged = recall.answered is not None or recall.is_cut_short
    if unknown or is_judged or not recall.wants.is_state:
        return unknown
    asked = recall.asked.untimed
    if (_language(recall) or ENGLISH) != ENGLISH:
        return ()  # other languages inflect and compound their words
    terms = recall.asked.terms
    texts = (*map(text_around, recall.passages), *(fact.text for fact in recall.facts))
    own = terms.weights.keys()
    if len(own) > FEW_WORDS or any(own & terms_and_parts(text) for text in texts):
        return ()
    pairs = zip(words(asked), written_words(asked), strict=True)
    return tuple(written for word, written in pairs if stem(word) in terms.weights)


def _is_beside(recall: Recall, units: Sequence[_Unit]) -> bool:
    """Return whether the best text is of a topic without the question's names, or lacks a number.

    Bug 102 is not bug 103, so these signs tell best that a question cannot be answered. Numbers are
    not checked if the reader is sure that a note answers.
    """
    if not units or (units[0].kind == "fact" and units[0].belief >= FACT_MEANT):
        return False
    if recall.about_another and units[0].number == 1 and units[0].kind == "passage":
        return True
    numbers = [name for name in names_asked(recall.asked) if name.words[-1][-1].isdigit()]
    if recall.is_surely_answered or not numbers:
        return False
    # A note seldom names two numbered things; db07 and db08 may be in two notes.
    first = units[: len(numbers)]
    headings = {n: one.chunk.heading for n, one in enumerate(recall.passages, start=1)}
    around = (headings.get(unit.number, "") if unit.kind == "passage" else "" for unit in first)
    told = terms_and_parts(" ".join((*(unit.text for unit in first), *around)))
    return bool(unsaid_names(numbers, [told]))


def _without_chance(recall: Recall, units: list[_Unit], terms: QuestionTerms) -> list[_Unit]:
    """Leave out notes in another language that have no word of the question.

    The built-in encoder and its reader know English, so they find such notes by chance. They stay
    if the best note is one of them and no note in the question's language has a word of it.
    Without the reader, another encoder runs, which may know several languages.
    """
    asked = recall.asked.language
    if recall.answered is None or not asked:
        return units
    own = [unit for unit in units if _note_language(recall, unit) in (asked, "")]
    having = [
        unit for unit in units if not terms.weights.keys().isdisjoint(terms_and_parts(unit.text))
    ]
    if units[:1] == own[:1] or any(unit in having for unit in own):
        return [unit for unit in units if unit in own or unit in having]
    return units


def _note_language(recall: Recall, unit: _Unit) -> str:
    """Return the language of a note; "" for a fact, whose words are HADES' own."""
    if unit.kind != "passage":
        return ""
    return language_of(recall.passages[unit.number - 1].chunk.text)


def _language(recall: Recall) -> str:
    """Return the language of the question, or else that of the first passages; "" if unknown."""
    texts = (language_of(passage.chunk.text) for passage in recall.passages)
    return recall.asked.language or next(filter(None, texts), "")


def _units(recall: Recall, whole: int) -> Iterator[_Unit]:
    dated = not recall.wants.is_state
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
        yield _note(passage, number, recall.asked, whole, dated)


def _narrowed(passage: Passage, window: TimeWords) -> Passage:
    """Return a note without the sentences that speak of other times than a window."""
    events = [event for event in passage.events if not event.over and _overlaps(event, window)]
    of_then = {event.sentence for event in events}
    gone = {event.sentence for event in passage.events if not event.is_vague} - of_then
    lines = (" ".join(line.split()) for line in sentences(passage.held or passage.chunk.text))
    text = " ".join(line for line in lines if line not in gone)
    return replace(passage, chunk=replace(passage.chunk, text=text), events=tuple(events), held="")


def _overlaps(event: EventTime, window: TimeWords) -> bool:
    since = window.since or event.since
    until = window.until or event.until
    return event.since < until and since < event.until


def _is_in(window: TimeWords, moment: datetime) -> bool:
    return (window.since or moment) <= moment and (window.until is None or moment < window.until)


def _is_of_another_time(recall: Recall, passage: Passage) -> bool:
    """Return whether nothing was noted at the time asked about and the passage does not name it."""
    nothing = any(note.reason is Reason.NOTHING_NOTED for note in recall.reasons)
    if nothing and recall.wants is Wants.HAPPENINGS:
        return True
    words_of_time = recall.time.said if recall.time and nothing else ""
    when = terms_in(words_of_time) - UNITS if words_of_time else None
    return when is not None and not (when and when <= terms_in(passage.chunk.text))


def _fact(fact: Fact, number: int) -> _Unit:
    edge = fact.edge
    return _Unit(
        fact.text,
        fact.score,
        number,
        "fact",
        edge.source.name,
        edge.valid_from,
        edge.valid_to is not None,
        id=edge.cite,
        via=fact.via,
    )


def _note(passage: Passage, number: int, asked: Question, whole: int, dated: bool) -> _Unit:
    """Return a note with its topic in front: whole up to `whole` words, else its best sentences."""
    chunk = passage.chunk
    if passage.via:
        texts = (passage.chained, passage.belief.mean, number, "passage", chunk.topic)
        return _Unit(*texts, passage.valid_from, id=passage.id, via=passage.via)
    text = quoted(passage.held or chunk.text, asked, whole, passage.best)
    undated = text
    when = ""
    text = _with_dates(text, passage) if dated else text
    if text == undated or any(event.is_vague for event in passage.events):
        when = _when_noted(passage, dated=dated)
    begun = passage.events[0].since if dated and passage.events else passage.valid_from
    return _Unit(
        f"{one_line(chunk.topic)}: {text}{when}",
        passage.belief.mean,
        number,
        "passage",
        chunk.topic,
        begun,
        passage.valid_to is not None,
        over=bool(passage.events) and all(event.over for event in passage.events),
        id=passage.id,
    )


def _when_noted(passage: Passage, *, dated: bool) -> str:
    """Return, in brackets, when a note was written or held, as far as an answer tells it."""
    if passage.held:
        return f" (noted {day(passage.valid_from)})"  # later versions do not repeat it
    if passage.valid_to is not None:
        return f" (from {day(passage.valid_from)} to {day(passage.valid_to)})"
    if not dated or tells_habit(passage.chunk.text, passage.valid_from):
        return ""
    return f" ({day(passage.valid_from)})"


def _with_dates(text: str, passage: Passage) -> str:
    """Return a text of a note with the times of its sentences in brackets after them.

    If none of the sentences names a time, they belong to the time of the past sentence before them.
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


def quoted(text: str, asked: Question, whole: int, first: str = "") -> str:
    """Return a text whole up to `whole` words, else its best sentences, with `first` among them."""
    if len(text.split()) > whole:
        return _best(quotes(text), asked, whole, first)
    return on_one_line(text)


def _best(parts: Sequence[str], asked: Question, most: int, first: str) -> str:
    """Return the sentences that answer best, in their order in the text, up to `most` words.

    The sentence `first` is always among them.
    """
    terms = asked.terms
    worth = [
        sum(weight for term, weight in terms.weights.items() if term in own)
        + has_kind(asked.wants, part, terms.said)
        + (sum(terms.weights.values()) + 1) * (part == first)
        for part, own in ((part, terms_in(part)) for part in parts)
    ]
    around = [0.0, *worth, 0.0]
    # A sentence beside a good one gains half of its worth.
    total = [one + max(around[at], around[at + 2]) / 2 for at, one in enumerate(worth)]
    kept = best_fitting(total, [len(part.split()) for part in parts], most)
    joint = "\n" if any(has_layout(parts[at]) for at in kept) else " "
    return joint.join(on_one_line(parts[at]) for at in kept)
