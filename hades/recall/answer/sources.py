"""Sources of answers: one list; the first source that fits a question answers it.

Each source says whether it fits the question and the results, and quotes its evidence. The first
source that fits and has evidence answers. Briefs and summaries of a time need no search: the
functions in `UNSEARCHED` read their lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from hades.domain.answer import Answer, Recall, Sentence
from hades.domain.question import Intent
from hades.language.english.terms import terms_in
from hades.language.sentences import plain_sentence, sentences
from hades.recall.answer.brief_answer import from_brief
from hades.recall.answer.changes import from_versions
from hades.recall.answer.document_sentences import SENTENCES_AT_MOST, from_passages
from hades.recall.answer.overview import overview
from hades.recall.answer.reasons import from_reasons
from hades.recall.answer.told import from_notes, from_summaries
from hades.recall.answer.unit_answer import from_units

if TYPE_CHECKING:
    from hades.models.encoder import Encoder

UNSEARCHED = (from_brief, overview)
"""Functions that make a recall of the lines of a brief or of summaries, without a search. Each
returns None if it does not fit the question."""


class Source(NamedTuple):
    """A source of answers. `quote` returns None if the source has no evidence for a recall."""

    name: str
    fits: Callable[[Recall], bool]
    quote: Callable[[Recall, Encoder | None], Answer | None]


def answer(recall: Recall, encoder: Encoder | None = None) -> Answer:
    """Return the sentences of a recall that answer its question; none if none is good enough.

    Each has the number of its passage or fact. Without an encoder, only words are compared.
    """
    for source in SOURCES:
        told = source.quote(recall, encoder) if source.fits(recall) else None
        if told is not None:
            return told
    return Answer(recall.question, (), recall)


def _from_relation(recall: Recall) -> Answer:
    """Answer a question for a relation with all its edges."""
    edges = enumerate(recall.facts, start=1)
    quoted = (Sentence(fact.text, fact.score, number, "fact") for number, fact in edges)
    return Answer(recall.question, tuple(quoted), recall)


def _from_paths(recall: Recall) -> Answer:
    """Answer a question for a connection with the best paths between the two names."""
    sentences = (
        Sentence(path.told(snippets=False), path.score, number, "path")
        for number, path in enumerate(recall.paths[:SENTENCES_AT_MOST], start=1)
    )
    return Answer(recall.question, tuple(sentences), recall)


def _from_themes(recall: Recall) -> Answer:
    """Answer a question for an overview with each theme and sentences about it.

    The sentences are those with the most words of the question, from the summary and from the
    passages that the theme cites, or else the first sentence of the summary.
    """
    told = []
    topical = recall.asked.topical
    each = max(1, SENTENCES_AT_MOST // len(recall.themes))
    for number, theme in enumerate(recall.themes, start=1):
        lines = theme.cluster.summary.splitlines()
        for passage in recall.passages:
            if passage.id in theme.cites:
                plain = map(plain_sentence, sentences(passage.chunk.text))
                lines += [f"{text} [{passage.id}]" for text in plain if text.endswith(".")]
        best = sorted(dict.fromkeys(lines), key=lambda line: -len(topical & terms_in(line)))[:each]
        text = ": ".join((theme.cluster.label, *([" ".join(best)] if best else [])))
        told.append(Sentence(text, theme.score, number, "theme"))
    return Answer(recall.question, tuple(told), recall)


def _is_listed(recall: Recall) -> bool:
    """Return whether the passages are lines of summaries or of a brief."""
    listed = any("summary" in passage.retrievers for passage in recall.passages)
    return bool(recall.level) or listed or recall.intent is Intent.BRIEF


def _is_of_notes(recall: Recall) -> bool:
    return recall.notes or bool(recall.facts and not recall.passages)


SOURCES = (
    Source("relation", lambda r: r.intent is Intent.RELATION, lambda r, _: _from_relation(r)),
    Source(
        "paths",
        lambda r: r.intent is Intent.CONNECTION and bool(r.paths),
        lambda r, _: _from_paths(r),
    ),
    Source("themes", lambda r: bool(r.themes), lambda r, _: _from_themes(r)),
    Source("summaries", _is_listed, lambda r, _: from_summaries(r)),
    Source("reasons", _is_of_notes, lambda r, _: from_reasons(r)),
    Source("versions", _is_of_notes, lambda r, _: from_versions(r)),
    Source("notes", _is_of_notes, lambda r, _: from_notes(r)),
    Source("units", lambda r: any(p.units for p in r.passages[:1]), lambda r, _: from_units(r)),
    Source("passages", lambda _: True, from_passages),
)
"""The sources of answers, from the most specific one to passages, which always fit."""
