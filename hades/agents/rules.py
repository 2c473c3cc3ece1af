"""Rules of the query agent: decide whether to ask again, and which questions.

They need no model. They are for English: a question in another language is asked only once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hades.domain.answer import Passage, Recall
from hades.domain.question import Intent
from hades.language.english.detect import is_english_question
from hades.language.english.lexicon import word_set
from hades.language.english.stems import stem
from hades.language.english.terms import terms_in, text_around, unsaid_names
from hades.language.patterns import lazy_pattern
from hades.language.words import words
from hades.recall.question.reading import names_of

PASSAGES_NAMING = 2
"""How many of the best passages of a pass may lead on by their names."""
_PRONOUNS = word_set("he she it they him her them his hers its their theirs there")
_ANOTHER_PART = lazy_pattern(
    r"[?;] |,? and (?=(?:who|whom|whose|what|when|where|why|which|how)\b)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question to ask next, and the rule that asks it."""

    question: str
    why: str
    level: int | None = None
    """0 to read the originals instead of summaries."""


def follow_ups(question: str, recalls: Sequence[Recall]) -> Iterator[FollowUp]:
    """Yield questions that may find missing facts, the most useful first; none if all is found."""
    if not is_english_question(question):
        return
    names = missing_names(recalls)
    if recalls[0].level:
        if names and len(recalls) == 1:
            yield FollowUp(question, f"the summaries do not say {', '.join(names)}", level=0)
        return
    for part in parts_of(question):
        yield FollowUp(part, "a part of the question")
    for name in names:
        yield FollowUp(name, f"no passage says {name}")
    if recalls[0].intent in (Intent.BRIDGE, Intent.WHEN) and not recalls[0].notes:
        yield from _with_new_names(question, recalls[0])


def missing_names(recalls: Sequence[Recall]) -> list[str]:
    """Return the names of the question that no passage or fact found so far contains."""
    passages = [passage for recall in recalls for passage in recall.passages]
    texts = [text_around(passage) for passage in passages]
    texts += [fact.text for recall in recalls for fact in recall.facts]
    told = [terms_in(text) for text in texts]
    names = recalls[0].asked.terms.names
    return [name.text for name in unsaid_names(names, told, passages)]


def parts_of(question: str) -> list[str]:
    """Return the parts of a question that asks for two things; [] for any other.

    >>> parts_of("Who leads Atlas, and when did she join?")
    ['Who leads Atlas?', 'when did she join (Atlas)?']
    """
    parts = [part.strip(" ?.,;") for part in _ANOTHER_PART.split(" ".join(question.split()))]
    parts = [part for part in parts if len(words(part)) > 2]
    if len(parts) < 2:
        return []
    names = " ".join(name.text for name in names_of(parts[0]))
    whole = [f"{parts[0]}?"]
    for part in parts[1:]:
        refers = names and _PRONOUNS.intersection(word.casefold() for word in words(part))
        whole.append(f"{part} ({names})?" if refers else f"{part}?")
    return whole


def _with_new_names(question: str, recall: Recall) -> Iterator[FollowUp]:
    """Yield the question with names that the best passages add to it."""
    asked = terms_in(question)
    for passage in recall.passages[:PASSAGES_NAMING]:
        for name in _new_names(passage, asked):
            told = terms_in(text_around(passage))
            rest = " ".join(word for word in words(question) if stem(word) not in told)
            yield FollowUp(f"{rest} {name}?", f"{passage.id} leads on to {name}")
            break


def _new_names(passage: Passage, asked: frozenset[str]) -> Iterator[str]:
    """Yield the names of a passage that the question does not have, the rarest first."""
    heading = passage.chunk.heading.casefold()
    for name in passage.entities:
        if not terms_in(name) <= asked and name.casefold() not in heading:
            yield name
