"""Asking: the sentences that answer a question, as they stand in what was recalled.

No language model writes here. A sentence counts by how much of the question it says, by
how near it is in meaning, by the rank of its passage, and by whether it has what the
question word asks for: a name for who, a date for when, a reason for why. Many questions
lead through something else, so two sentences are also read as one: the first says part of
the question and names what the second is about, and the second says the rest. When no
sentence says enough, or nothing found names what the question names, the answer is empty,
and that is an answer too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hades.domain.answer import Answer, Intent, Passage, Recall, Sentence
from hades.language.english.proper_names import NAME_PHRASE
from hades.language.english.small_talk import opens_with_talk
from hades.language.english.stems import stem
from hades.language.english.terms import QuestionTerms, said, terms_of, text_around, unsaid_names
from hades.language.names import without_parenthesis
from hades.language.sentences import plain_sentence, sentences
from hades.language.words import words
from hades.recall.answer.told import from_notes, from_summaries, sure_facts

if TYPE_CHECKING:
    from hades.models.encoder import Encoder

SENTENCES_AT_MOST = 3
SENTENCES_READ = 200
"""Of all passages together, in the order of their rank."""
SENTENCES_ENCODED = 8
"""Most of what asking costs: the built-in encoder takes about 10 ms of a core for each. Of 203
questions of half 1, 12 answered one fewer, 6 three fewer and 4 six fewer; of 218 of half 0,
12 answered four more (docs/lab/measurements.md)."""
FIRST_STEPS = 12
"""So many of the best sentences are tried as the first of two."""
SENTENCE_CHARACTERS_AT_MOST = 500
"""What is longer is a table or a block of code: its beginning is shown."""

COVERAGE_WEIGHT, MEANING_WEIGHT, CUE_WEIGHT, RANK_WEIGHT = 0.45, 0.3, 0.15, 0.1
COVERAGE_AT_LEAST = 0.34
"""The share of the question's words a sentence and its heading must say: more than one
word of three …"""
MEANING_AT_LEAST = 0.4
"""… unless it means the same by its vector's cosine."""
SHARE_OF_BEST = 0.6
"""A further sentence must score at least this share of the best."""
ALIKE = 0.7
"""Two sentences that share this much of their words say the same."""
HEADING_SHARE = 0.5
"""What only the heading or the topic's name says counts for so much."""
TITLE_WEIGHT, NAMED_WEIGHT = 0.2, 0.1
"""For a second sentence in a passage that is called what the first names, or that only
names it too. Chosen on half 0 of MuSiQue, 2Wiki and HotpotQA; half of both is much the same."""

SMALL_TALK_WORDS = 6


@dataclass(frozen=True, slots=True)
class _Read:
    """A sentence of a passage, with what speaks for it so far."""

    text: str
    number: int
    """Of its passage, from 1."""
    said: frozenset[str]
    around: frozenset[str]
    """What the heading and the topic's name say."""
    coverage: float
    cue: float
    meaning: float = 0.0

    @property
    def score(self) -> float:
        return _score(self.coverage, self.meaning, self.cue, self.number)

    @property
    def speaks(self) -> bool:
        return self.coverage >= COVERAGE_AT_LEAST or self.meaning >= MEANING_AT_LEAST


def _score(coverage: float, meaning: float, cue: float, number: int) -> float:
    return (
        COVERAGE_WEIGHT * coverage
        + MEANING_WEIGHT * max(meaning, 0.0)
        + CUE_WEIGHT * cue
        + RANK_WEIGHT / number
    )


@dataclass(frozen=True, slots=True)
class _Reply:
    """A sentence, or two that are read as one."""

    score: float
    steps: tuple[_Read, ...]


def answer(recall: Recall, encoder: Encoder | None = None) -> Answer:
    """The best few sentences of a recall, each with the number of its passage."""
    if recall.intent is Intent.RELATION:
        edges = enumerate(recall.facts, start=1)
        found = (Sentence(one.text, one.score, number, "fact") for number, one in edges)
        return Answer(recall.question, tuple(found), recall)
    if recall.level:
        return from_summaries(recall)
    if recall.notes or (recall.facts and not recall.passages):
        return from_notes(recall)
    terms = terms_of(recall.question)
    facts = sure_facts(recall)[:SENTENCES_AT_MOST]
    told = [] if facts else [said(text_around(one)) for one in recall.passages]
    unsaid = () if facts else tuple(unsaid_names(terms.names, told, recall.passages))
    if unsaid and len(unsaid) == len(terms.names):
        return Answer(recall.question, (), recall, unsaid)
    read: dict[str, _Read] = {}
    for number, passage in enumerate(recall.passages, start=1):
        for one in _read(passage, number, terms):
            read.setdefault(one.text, one)  # the same words again are no second sentence
    ranked = _in_order(list(read.values())[:SENTENCES_READ])
    if encoder is not None and ranked:
        ranked = _in_order(_nearer(recall.question, ranked, encoder))
    replies = [_Reply(one.score, (one,)) for one in ranked if one.speaks]
    compares = recall.intent is Intent.COMPARE
    if not compares:
        replies += _in_two_steps(ranked, terms, recall)
    chosen = _chosen(replies, SENTENCES_AT_MOST - len(facts), one_each=compares)
    found = (Sentence(_shown(one.text), round(score, 4), one.number) for score, one in chosen)
    return Answer(recall.question, (*facts, *found), recall, unsaid)


def _read(passage: Passage, number: int, terms: QuestionTerms) -> Iterator[_Read]:
    around = said(f"{passage.chunk.heading} {passage.chunk.topic}")
    for text in sentences(passage.chunk.text):
        plain = plain_sentence(text).removesuffix(" |")
        told = said(plain)
        # A title, a question, or what only says the question again answers nothing.
        if text.startswith("#") or plain.endswith(("?", ":")) or terms.only_repeated_by(told):
            continue
        if opens_with_talk(plain, SMALL_TALK_WORDS):
            continue
        cue = 1.0 if terms.is_answered_in_kind(plain) else 0.0
        yield _Read(plain, number, told, around, _coverage(terms, told, around), cue)


def _coverage(terms: QuestionTerms, told: frozenset[str], around: frozenset[str]) -> float:
    """The share of the question that is said, by weight."""
    covered = sum(
        weight if term in told else weight * HEADING_SHARE if term in around else 0.0
        for term, weight in terms.weights.items()
    )
    return covered / (sum(terms.weights.values()) or 1.0)


def _shown(text: str) -> str:
    if len(text) <= SENTENCE_CHARACTERS_AT_MOST:
        return text
    return text[:SENTENCE_CHARACTERS_AT_MOST].rsplit(" ", 1)[0] + " …"


def _in_order(read: Sequence[_Read]) -> list[_Read]:
    # Sorting is stable: of equals, the one in the better passage, and there the earlier.
    return sorted(read, key=lambda one: -one.score)


def _nearer(question: str, ranked: Sequence[_Read], encoder: Encoder) -> list[_Read]:
    """The same, the best of them with their nearness in meaning."""
    best, rest = ranked[:SENTENCES_ENCODED], ranked[SENTENCES_ENCODED:]
    vectors = encoder.encode([question, *(one.text for one in best)])
    cosines = vectors[1:] @ vectors[0]
    near = (replace(one, meaning=float(near)) for one, near in zip(best, cosines, strict=True))
    return [*near, *rest]


def _in_two_steps(
    ranked: Sequence[_Read], terms: QuestionTerms, recall: Recall
) -> Iterator[_Reply]:
    """For each sentence the best way to it through another: read as one, what do they say?"""
    titles = [_titles(passage, terms) for passage in recall.passages]
    # A plain question seldom leads further: for it, sharing a name is no link.
    plain = recall.intent is Intent.LOOKUP
    first_steps = [(one, [] if plain else _named(one.text, terms)) for one in ranked if one.speaks][
        :FIRST_STEPS
    ]
    for last in ranked:
        ways = [
            _Reply(score, (first, last))
            for first, names in first_steps
            if (link := _link(first, names, last, titles[last.number - 1]))
            and (score := _together(first, last, link, terms))
        ]
        if ways:
            yield max(ways, key=lambda way: way.score)


def _together(first: _Read, last: _Read, link: float, terms: QuestionTerms) -> float:
    """What two sentences are worth as one; 0 when the last adds nothing to the first."""
    both = _coverage(terms, first.said | last.said, first.around)
    if both <= first.coverage and not last.cue:
        return 0.0
    return link + _score(both, first.meaning, last.cue, last.number)


def _titles(passage: Passage, terms: QuestionTerms) -> list[frozenset[str]]:
    """What a passage is called, where the question does not call it so."""
    chunk = passage.chunk
    called = (chunk.heading.rsplit(" > ", 1)[-1], chunk.topic.rsplit("/", 1)[-1])
    told = (said(without_parenthesis(one).split(",")[0]) for one in called)
    return [one for one in told if not one <= terms.said]


def _named(text: str, terms: QuestionTerms) -> list[frozenset[str]]:
    """What a sentence names, other than what the question names already."""
    told = (said(found.group(0)) for found in NAME_PHRASE.finditer(text))
    return [one for one in told if not one <= terms.said]


def _link(
    first: _Read, names: Sequence[frozenset[str]], last: _Read, titles: Sequence[frozenset[str]]
) -> float:
    """How a sentence leads to one of another passage; 0 when it does not."""
    if first.number == last.number:
        return 0.0
    if any(title <= first.said for title in titles):
        return TITLE_WEIGHT
    return NAMED_WEIGHT if any(name <= last.said | last.around for name in names) else 0.0


def _chosen(
    replies: Sequence[_Reply], at_most: int, *, one_each: bool
) -> Iterator[tuple[float, _Read]]:
    """The sentences of the best replies, nothing said twice; one of each passage if so asked."""
    ranked = sorted(replies, key=lambda reply: -reply.score)
    chosen: list[_Read] = []
    for reply in ranked:
        if reply.score < SHARE_OF_BEST * ranked[0].score:
            return
        for one in reply.steps:
            if len(chosen) == at_most:
                return
            if one_each and any(one.number == other.number for other in chosen):
                continue
            if not any(_alike(one.text, other.text) for other in chosen):
                chosen.append(one)
                yield reply.score, one


def _alike(one: str, other: str) -> bool:
    first, second = ({stem(word) for word in words(text)} for text in (one, other))
    return len(first & second) >= ALIKE * min(len(first), len(second))
