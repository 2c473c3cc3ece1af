"""Query context: the memory at the moment of a question, narrowed to what may be shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hades.domain.times import AsOf
from hades.graph.arrays import Flags, Floats, Floats32
from hades.index.columns import Columns
from hades.index.graph_view import GraphView, is_at
from hades.index.indexes import Indexes
from hades.index.terms import ChunkTerms
from hades.recall.question.time_asked import TimeAsked
from hades.store.store import Store

WORDS_FOUND_AT_MOST = 400
"""Passages whose BM25 counts; beyond them it is next to nothing."""


@dataclass(frozen=True, slots=True)
class QueryContext:
    """Everything a question may look at; it does not change when something is written."""

    store: Store
    space: int
    as_of: AsOf
    indexes: Indexes
    terms: ChunkTerms
    graph: GraphView
    mask: Flags
    """Chunks that may be found, by number: they are there, or are earlier versions of notes that
    are there, and pass the filters."""
    topics: Sequence[int] | None
    """The topics the filters leave, None: all."""
    edges: Columns
    """All edges somebody told, whenever they held."""
    fact_terms: ChunkTerms
    """The stems of these edges, by edge id."""
    encoder: str
    """Whose vectors these are."""

    @property
    def valid(self) -> int:
        """The moment that is asked about, in microseconds."""
        return self.indexes.moment(self.as_of)[0]

    @property
    def barred(self) -> Flags:
        """By node: whether walks may not go through it: hubs, and chunks the filters leave out."""
        barred = self.graph.barred
        if self.mask is not self.graph.visible:
            barred = barred.copy()
            barred[: len(self.mask)] |= ~self.mask
        return barred

    def within(self, asked: TimeAsked) -> QueryContext | None:
        """The same, narrowed to a time that is asked about; None when nothing was noted then.

        A time in the words of a question narrows notes alone: what a document says is not of
        the time at which it was taken in.
        """
        if asked.kind is None:
            return self
        narrowed = np.flatnonzero(self.mask & self.notes if asked.words else self.mask)
        if asked.words and not len(narrowed):
            return self
        kept = asked.candidates(self.indexes.spans(narrowed, self.as_of)[0])
        if not kept.any() and asked.words:
            return None
        mask = self.mask.copy()
        mask[narrowed[~kept]] = False
        if asked.words and asked.wants_happenings:
            mask &= self.notes  # what happened is what was noted
        return replace(self, mask=mask)

    @property
    def notes(self) -> Flags:
        """By chunk number: whether it is part of a note."""
        found: Flags = self.indexes.chunks["note"]
        return found

    @property
    def has_vectors(self) -> bool:
        """Whether any passage or fact of the space has a vector."""
        own = self.edges["id"][self.edges["space"] == self.space]
        facts = self.indexes.facts.chunks
        return self.indexes.has_vectors or bool(np.isin(facts, own).any())

    def cosine(self, vector: Floats32, words: Floats | None = None) -> Floats:
        """Return the similarity of each chunk to a vector.

        A chunk without a vector gets the lowest similarity. With `words` (BM25 by chunk number) it
        gets a value between the lowest and the highest, in proportion to its BM25.
        """
        near = self.indexes.near(vector, self.mask).astype(float)
        known = np.isfinite(near)
        if not known.all():
            low, high = (near[known].min(), near[known].max()) if known.any() else (0.0, 0.0)
            near[~known] = low
            if words is not None and (most := float(words.max())) > 0:
                near[~known] += (high - low) * words[~known] / most
        return near

    def words(self, question: str) -> Floats:
        """BM25 by chunk number."""
        scores = np.zeros(len(self.mask))
        best = self.indexes.saying(
            question, self.as_of, WORDS_FOUND_AT_MOST, self.topics, earlier=True
        )
        if best:
            ids = np.array([chunk for chunk, _ in best], np.int64)
            at = np.searchsorted(self.graph.chunks, ids)
            # Another process may have brought the words further than this snapshot.
            there = is_at(self.graph.chunks, at, ids)
            scores[at[there]] = np.array([score for _, score in best])[there]
        return np.where(self.mask, scores, 0.0)

    def lookup(self, keys: Sequence[str]) -> list[tuple[str, int]]:
        """The entities that go by keys at this moment."""
        return self.store.mentions.named(self.space, keys, self.indexes.moment(self.as_of)[1])
