"""Answers from documents and code: the sentences that answer best, without a language model.

A sentence is scored by the share of the question's words it has, by its cosine, by the rank of its
passage, and by whether it has what the question wants: a name for a person, a date, a number or a
reason. Many questions take two steps, so pairs of sentences are also scored: the first has part of
the question and names what the second is about. If no sentence scores enough, the best one is given
as doubtful; the answer is empty only if no sentence shares a word with the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hades.domain.answer import Answer, Passage, Recall, Sentence
from hades.domain.question import Intent, Question, QuestionTerms
from hades.language.english.proper_names import NAME_PHRASE
from hades.language.english.small_talk import opens_with_talk
from hades.language.english.stems import stem
from hades.language.english.terms import has_kind, terms_in
from hades.language.names import without_parenthesis
from hades.language.sentences import has_fence, plain_sentence, quotes
from hades.language.words import words
from hades.recall.answer.quoting import (
    is_commit_asked_for,
    is_quoted_whole,
    quoted_passages,
    read_as,
)
from hades.recall.answer.told import sure_facts

if TYPE_CHECKING:
    from hades.models.encoder import Encoder

SENTENCES_AT_MOST = 3
SENTENCES_READ = 200
"""The most sentences of all passages together, in the order of rank."""
SENTENCES_ENCODED = 8
"""How many of the best sentences are encoded. With fewer, fewer questions are answered; each costs
about 10 ms of a core (docs/lab/details.md)."""
FIRST_STEPS = 12
"""How many of the best sentences are tried as the first of a pair."""
SENTENCE_CHARACTERS_AT_MOST = 500
"""A longer sentence is a table: only its beginning is shown."""
QUOTE_CHARACTERS_AT_MOST = 2_000
"""The same for code and sections that are quoted with their lines."""

COVERAGE_WEIGHT = 0.45
MEANING_WEIGHT = 0.3
CUE_WEIGHT = 0.15
RANK_WEIGHT = 0.1
COVERAGE_AT_LEAST = 0.34
"""The share of the question's words, by weight, that a sentence and its heading must have."""
MEANING_AT_LEAST = 0.4
"""The cosine from which a sentence may have fewer of the words."""
SHARE_OF_BEST = 0.6
WHOLE_SHARE_OF_BEST = 0.85
"""A further sentence, or further code or a section, must score at least this share of the best."""
ALIKE = 0.7
"""The share of common words from which two sentences say the same."""
HEADING_SHARE = 0.5
"""The weight of a word that stands only in the heading or the topic's name."""
TITLE_WEIGHT = 0.2
NAMED_WEIGHT = 0.1
"""The bonus of a pair whose second passage has a title that the first sentence names, or whose
second sentence shares a name. Halving both values changes little."""

SMALL_TALK_WORDS = 6


@dataclass(frozen=True, slots=True)
class _ScoredSentence:
    """A sentence of a passage, with the parts of its score."""

    text: str
    number: int
    """The number of its passage, from 1."""
    terms: frozenset[str]
    around: frozenset[str]
    """The terms of the heading and of the topic's name."""
    coverage: float
    cue: float
    meaning: float = 0.0
    whole: bool = False
    """Whether it is code or a whole section, which is quoted with its lines."""

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


_Reply = tuple[float, tuple[_ScoredSentence, ...]]
"""A score, and its sentence or pair of sentences."""


def from_passages(recall: Recall, encoder: Encoder | None) -> Answer:
    """Answer with sure facts, then with the best sentences of documents and code."""
    terms = recall.asked.terms
    facts = sure_facts(recall)[:SENTENCES_AT_MOST]
    unsaid = () if facts else recall.unknown
    read: dict[str, _ScoredSentence] = {}
    for number, passage in quoted_passages(recall):
        for sentence in _sentences_of(passage, number, recall.asked):
            read.setdefault(sentence.text, sentence)  # a repeated text counts once
    ranked = _in_order(list(read.values())[:SENTENCES_READ])
    if encoder is not None and ranked:
        ranked = _in_order(_nearer(recall.question, ranked, encoder))
    replies: list[_Reply] = [(row.score, (row,)) for row in ranked if row.speaks]
    compares = recall.intent is Intent.COMPARE
    if not compares:
        replies += _in_two_steps([row for row in ranked if not row.whole], terms, recall)
    chosen = list(_chosen(replies, SENTENCES_AT_MOST - len(facts), one_each=compares))
    beside = not facts and not chosen
    if beside:  # the nearest sentence that shares a word with the question
        chosen = [(row.score, row) for row in ranked if row.coverage][:1]
    quoted = (Sentence(shown(one.text), round(score, 4), one.number) for score, one in chosen)
    return Answer(recall.question, (*facts, *quoted), recall, unsaid, beside)


def _sentences_of(passage: Passage, number: int, asked: Question) -> Iterator[_ScoredSentence]:
    terms = asked.terms
    around = terms_in(f"{passage.chunk.heading} {passage.chunk.topic}")
    if is_quoted_whole(passage.chunk, asked):
        text = passage.chunk.text
        told = terms_in(read_as(passage.chunk)) | around
        cue = float(
            has_kind(asked.wants, text, terms.said) + is_commit_asked_for(passage.chunk, asked)
        )
        yield _ScoredSentence(
            text, number, told, around, _coverage(terms, told, around), cue, whole=True
        )
        return
    for text in quotes(passage.chunk.text):
        if has_fence(text):
            told = terms_in(text)
            yield _ScoredSentence(
                text, number, told, around, _coverage(terms, told, around), 0, whole=True
            )
            continue
        plain = plain_sentence(text).removesuffix(" |")
        told = terms_in(plain)
        # Skip titles, questions, and sentences that only repeat the question.
        if text.startswith("#") or plain.endswith(("?", ":")) or terms.only_repeated_by(told):
            continue
        if opens_with_talk(plain, SMALL_TALK_WORDS):
            continue
        cue = 1.0 if has_kind(asked.wants, plain, terms.said) else 0.0
        yield _ScoredSentence(plain, number, told, around, _coverage(terms, told, around), cue)


def _coverage(terms: QuestionTerms, told: frozenset[str], around: frozenset[str]) -> float:
    """Return the share of the question's terms in a sentence and its heading, by weight."""
    covered = sum(
        weight if term in told else weight * HEADING_SHARE if term in around else 0.0
        for term, weight in terms.weights.items()
    )
    return covered / (sum(terms.weights.values()) or 1.0)


def shown(text: str) -> str:
    """Return a text cut to the length that an answer may have."""
    if "\n" in text and len(text) > QUOTE_CHARACTERS_AT_MOST:
        return text[:QUOTE_CHARACTERS_AT_MOST].rsplit("\n", 1)[0] + "\n…"
    if "\n" in text or len(text) <= SENTENCE_CHARACTERS_AT_MOST:
        return text
    return text[:SENTENCE_CHARACTERS_AT_MOST].rsplit(" ", 1)[0] + " …"


def _in_order(read: Sequence[_ScoredSentence]) -> list[_ScoredSentence]:
    # Sorting is stable: among equals, the better passage and then the earlier sentence is first.
    return sorted(read, key=lambda sentence: -sentence.score)


def _nearer(
    question: str, ranked: Sequence[_ScoredSentence], encoder: Encoder
) -> list[_ScoredSentence]:
    """Return the sentences; the first SENTENCES_ENCODED now have their cosine with the question."""
    best = ranked[:SENTENCES_ENCODED]
    rest = ranked[SENTENCES_ENCODED:]
    cosines = encoder.encode([one.text for one in best]) @ encoder.encode([question])[0]
    near = (
        replace(sentence, meaning=float(near)) for sentence, near in zip(best, cosines, strict=True)
    )
    return [*near, *rest]


def _in_two_steps(
    ranked: Sequence[_ScoredSentence], terms: QuestionTerms, recall: Recall
) -> Iterator[_Reply]:
    """Yield, for each sentence, its best pair with a first sentence that leads to it."""
    titles = [_titles(passage, terms) for passage in recall.passages]
    # A plain question seldom needs two steps, so a shared name alone does not link a pair.
    plain = recall.intent is Intent.LOOKUP
    speaking = [read for read in ranked if read.speaks][:FIRST_STEPS]
    first_steps = [(read, [] if plain else _named(read.text, terms)) for read in speaking]
    for last in ranked:
        ways = [
            (score, (first, last))
            for first, names in first_steps
            if (link := _link(first, names, last, titles[last.number - 1]))
            and (score := _together(first, last, link, terms))
        ]
        if ways:
            yield max(ways, key=lambda way: way[0])


def _together(
    first: _ScoredSentence, last: _ScoredSentence, link: float, terms: QuestionTerms
) -> float:
    """Return the score of a pair; 0 when the last sentence adds nothing to the first."""
    both = _coverage(terms, first.terms | last.terms, first.around)
    if both <= first.coverage and not last.cue:
        return 0.0
    return link + _score(both, first.meaning, last.cue, last.number)


def _titles(passage: Passage, terms: QuestionTerms) -> list[frozenset[str]]:
    """Return the terms of each title of a passage, except titles that the question contains."""
    chunk = passage.chunk
    called = (chunk.heading.rsplit(" > ", 1)[-1], chunk.topic.rsplit("/", 1)[-1])
    titles = (terms_in(without_parenthesis(name).split(",")[0]) for name in called)
    return [title for title in titles if not title <= terms.said]


def _named(text: str, terms: QuestionTerms) -> list[frozenset[str]]:
    """Return the terms of each name in a sentence, except names that the question contains."""
    names = (terms_in(match.group(0)) for match in NAME_PHRASE.finditer(text))
    return [name for name in names if not name <= terms.said]


def _link(
    first: _ScoredSentence,
    names: Sequence[frozenset[str]],
    last: _ScoredSentence,
    titles: Sequence[frozenset[str]],
) -> float:
    """Return the bonus of a pair whose first sentence leads to the last one, in another passage."""
    if first.number == last.number:
        return 0.0
    if any(title <= first.terms for title in titles):
        return TITLE_WEIGHT
    return NAMED_WEIGHT if any(name <= last.terms | last.around for name in names) else 0.0


def _chosen(
    replies: Sequence[_Reply], at_most: int, *, one_each: bool
) -> Iterator[tuple[float, _ScoredSentence]]:
    """Yield the sentences of the best replies without repetitions; `one_each`: one per passage."""
    ranked = sorted(replies, key=lambda reply: -reply[0])
    chosen: list[_ScoredSentence] = []
    for score, steps in ranked:
        if score < SHARE_OF_BEST * ranked[0][0]:
            return
        if steps[-1].whole and score < WHOLE_SHARE_OF_BEST * ranked[0][0]:
            continue
        for sentence in steps:
            if len(chosen) == at_most:
                return
            if one_each and any(sentence.number == other.number for other in chosen):
                continue
            if not any(alike(sentence.text, other.text) for other in chosen):
                chosen.append(sentence)
                yield score, sentence


def alike(one: str, other: str) -> bool:
    """Return whether two texts have most of their words in common."""
    first, second = ({stem(word) for word in words(text)} for text in (one, other))
    return len(first & second) >= ALIKE * min(len(first), len(second))
