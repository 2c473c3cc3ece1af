"""Names in the question: those that the memory lacks, and those that a topic never mentions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hades.domain.answer import Passage
from hades.domain.question import Question, QuestionName
from hades.language.english.terms import terms_in, text_around, unsaid_names
from hades.language.languages import language_of
from hades.language.names import name_parts
from hades.language.wording import fact_words
from hades.recall.find.results import SearchQuery
from hades.recall.query_context import QueryContext
from hades.recall.question.reading import names_of

TEXTS_READ = 5
"""How many passages, those with the highest BM25 for a name, are searched for it."""

VERSIONS_READ = 32
"""How many of a topic's newest passages are searched for the question's names."""


def names_asked(question: Question, language: str = "") -> list[QuestionName]:
    """Return the names in a question, and its numbers and other words with a digit.

    `language` is used if the question does not show its own.
    """
    names = names_of(question.untimed, language)
    named = {word for name in names for word in name.words}
    numbers = (term for term in question.terms.weights if any(sign.isdigit() for sign in term))
    return [*names, *(QuestionName(one, (one,)) for one in numbers if one not in named)]


def terms_and_parts(text: str) -> frozenset[str]:
    """Return the terms of a text; `db07` also counts as "db 07" and "db 7"."""
    parts = name_parts(text)
    plain = (part.lstrip("0") or part for part in parts)
    return terms_in(" ".join((text, *parts))) | terms_in(" ".join(plain))


def unknown_names(
    search: SearchQuery, passages: Sequence[Passage], facts: Sequence[str]
) -> tuple[str, ...]:
    """Return the names in a question that no text and no fact of the memory contains.

    `passages` and `facts` are results so far, which are read first. All versions are searched.
    """
    texts = (*map(text_around, passages), *facts)
    language = next(filter(None, (language_of(one.chunk.text) for one in passages)), "")
    asked = names_asked(search.question, language)
    lost = unsaid_names(asked, map(terms_and_parts, texts), passages)
    return tuple(name.text for name in lost if not _is_anywhere(search.query, name))


def _is_anywhere(query: QueryContext, name: QuestionName) -> bool:
    moment = query.indexes.moment(query.as_of)
    best = query.indexes.words.best(name.text, *moment, TEXTS_READ, query.topics, earlier=True)
    placed = query.store.chunks.find([chunk for chunk, _ in best], query.as_of).values()
    texts = (f"{one.chunk.text} {one.chunk.heading} {one.chunk.topic}" for one in placed)
    if any(name.stands_in(terms_and_parts(text)) for text in texts):
        return True
    own = np.unique(query.edges["id"][query.edges["space"] == query.space])
    has = query.fact_terms.having(own, query.indexes.words.terms(name.text))
    ids = own[np.argsort(-has.sum(1), kind="stable")[:TEXTS_READ]].tolist() if has.size else []
    edges = query.store.edges.read(query.space, ids, query.as_of).values()
    told = (fact_words(e.source.name, e.relation, e.target.name) for e in edges)
    return any(name.stands_in(terms_and_parts(text)) for text in told)


def is_about_another(search: SearchQuery, best: Passage, number: int) -> bool:
    """Return whether no version of a passage's topic contains a name of the question.

    `number` is the passage's chunk number. A passage that was found by an alias of a name counts as
    being about it.
    """
    query = search.query
    names = names_of(search.text, language_of(best.chunk.text))
    if not names or "names" in best.retrievers:
        return False
    topics = query.indexes.chunks["topic"]
    versions = np.flatnonzero(query.mask & (topics == topics[number]))[-VERSIONS_READ:]
    texts = query.store.chunks.texts(query.graph.chunks[versions].tolist(), lost_ok=True).values()
    told = terms_and_parts(" ".join((text_around(best), *texts)))
    return bool(unsaid_names(names, [told]))
