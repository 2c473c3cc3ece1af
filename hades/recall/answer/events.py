"""Events: the times that the notes of an answer mention, and what was moved or cancelled since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from hades.domain.answer import EventTime, Passage
from hades.domain.question import Sign
from hades.domain.times import from_micros
from hades.language.english.event_times import ALL_TIME, dated_sentences
from hades.language.english.lexicon import changes
from hades.language.english.periods import Span
from hades.language.english.stems import stem
from hades.language.english.terms import terms_in
from hades.recall.find.results import SearchQuery

REPLACING_READ = 64
"""How many notes that move or cancel something one question reads, the newest first."""
_CHANGES = {
    stem(verb) for use in ("value", "decided", "arranged") for verb in changes(use).split("|")
}
_CHANGES |= {stem("delayed"), stem("call"), stem("time")}
"""Words in a sentence about a move that do not say what was moved."""


@dataclass(frozen=True, slots=True)
class _Replacing:
    """A sentence that moves or cancels something."""

    topic: str
    at: datetime
    replaced: Span
    about: frozenset[str]

    def ends(self, passage: Passage, sentence: str, span: Span) -> bool:
        """Return whether a time of a passage's sentence is the one that no longer holds."""
        if not passage.valid_from < self.at < span[1]:
            return False
        if span[0] >= self.replaced[1] or self.replaced[0] >= span[1]:
            return False
        named = self.replaced != ALL_TIME
        own = passage.chunk.topic == self.topic
        if own and (named or not self.about):
            return True
        shared = self.about & terms_in(
            f"{passage.chunk.topic} {passage.chunk.text if own else sentence}"
        )
        return len(shared) >= (1 if own or named else min(2, max(1, len(self.about))))


def with_events(
    search: SearchQuery, passages: Sequence[Passage], are_notes: Sequence[bool]
) -> list[Passage]:
    """Return the passages; those that are notes with the times they speak of.

    If the question asks for the future, a time is `over` if it is past or its event was moved or
    cancelled.
    """
    later = _replacing(search) if search.time.by_event else []
    is_next = not search.time.ahead and bool({Sign.TO_COME, Sign.NEXT} & search.question.signs)
    now = from_micros(search.query.valid) if is_next else ALL_TIME[0]
    kept = []
    for passage, is_note in zip(passages, are_notes, strict=True):
        if not is_note:
            kept.append(passage)
            continue
        events = [
            EventTime(
                sentence=" ".join(sentence.text.split()),
                since=span[0],
                until=span[1],
                over=span[1] <= now
                or any(other.ends(passage, sentence.text, span) for other in later),
            )
            for sentence in dated_sentences(passage.chunk.text, passage.valid_from)
            for span in sentence.times
        ]
        kept.append(replace(passage, events=tuple(events)))
    return kept


def _replacing(search: SearchQuery) -> list[_Replacing]:
    """Return the sentences that move or cancel something, from all notes known at the moment."""
    query = search.query
    indexes = search.query.indexes
    known = query.graph.visible | indexes.earlier(query.space, query.as_of)
    numbers = indexes.replacing()
    numbers = numbers[known[numbers]]
    starts = indexes.spans(numbers, query.as_of)[0]
    newest = np.argsort(-starts, kind="stable")[:REPLACING_READ]
    ids = query.graph.chunks[numbers[newest]].tolist()
    placed = query.store.chunks.find(ids, query.as_of)
    replacing = list[_Replacing]()
    for chunk, start in zip(ids, starts[newest].tolist(), strict=True):
        text = placed[chunk].chunk.text if chunk in placed else ""
        for row in dated_sentences(text, from_micros(start)):
            if row.replaced:
                about = frozenset(term for term in terms_in(row.text) if term.isalpha()) - _CHANGES
                topic = placed[chunk].chunk.topic
                replacing.append(_Replacing(topic, from_micros(start), row.replaced, about))
    return replacing
