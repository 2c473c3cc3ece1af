"""Query context: the memory at the moment of a question, narrowed to the chunks it may show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hades.domain.times import AsOf
from hades.domain.weights import Weighting
from hades.graph.arrays import Flags, Floats, Floats32
from hades.index.columns import Columns
from hades.index.graph_view import GraphView, is_at
from hades.index.hierarchy import ClusterArrays
from hades.index.indexes import Indexes
from hades.index.terms import ChunkTerms
from hades.recall.question.time_asked import TimeAsked
from hades.store.store import Store

WORDS_FOUND_AT_MOST = 400
"""Passages whose BM25 is kept; the BM25 of others is close to 0."""


@dataclass(frozen=True, slots=True)
class QueryContext:
    """Everything a question may look at: a snapshot that later writes do not change."""

    store: Store
    space: int
    as_of: AsOf
    indexes: Indexes
    terms: ChunkTerms
    graph: GraphView
    mask: Flags
    """Chunks that may be found, by number: current ones and earlier versions of current notes, as
    far as they pass the filters."""
    topics: Sequence[int] | None
    """The topics that pass the filters; None without a filter."""
    edges: Columns
    """All told edges, of any time."""
    fact_terms: ChunkTerms
    """The stems of these edges, by edge id."""
    encoder: str
    """The model of the vectors."""
    clusters: Callable[[], ClusterArrays | None] = lambda: None
    """Returns the hierarchy of the space at this moment, or None."""
    stored_bridges: Callable[[QueryContext, Sequence[int]], list[tuple[list[int], float]]] = (
        lambda _query, _passages: []
    )
    """Returns the stored bridges from passages (see `BridgeCache.around`)."""

    @property
    def valid(self) -> int:
        """The valid time of the question, in microseconds."""
        return self.indexes.moment(self.as_of)[0]

    def bridges(self, passages: Sequence[int]) -> list[tuple[list[int], float]]:
        """Return the stored bridges from passages: numbers of nodes and weight, best first."""
        return self.stored_bridges(self, passages)

    @property
    def weights(self) -> Weighting:
        """The parameters of edge weights at this moment."""
        return self.store.weights.in_force(self.space, self.as_of)

    @property
    def barred(self) -> Flags:
        """A flag per node: whether walks may not enter it (hubs, chunks outside the mask)."""
        barred = self.graph.barred
        if self.mask is not self.graph.visible:
            barred = barred.copy()
            barred[: len(self.mask)] |= ~self.mask
        return barred

    def within(self, asked: TimeAsked) -> QueryContext | None:
        """Return this context narrowed to a time; None when nothing was noted then.

        A time in the words of a question narrows notes only: the time at which a document was read
        is not the time it speaks of. What happened is told by notes and conversations of that time.
        """
        if asked.kind is None:
            return self
        tells = self.notes | self.graph.spoken if asked.wants_happenings else self.notes
        narrowed = np.flatnonzero(self.mask & tells if asked.words else self.mask)
        if asked.words and not (self.mask & self.notes).any():
            return self
        starts = self.indexes.spans(narrowed, self.as_of)[0]
        if asked.by_event:
            kept = self.indexes.within(narrowed, starts, asked.window)
        else:
            kept = asked.candidates(starts)
        if not kept.any() and asked.words:
            return None
        mask = self.mask.copy()
        mask[narrowed[~kept]] = False
        if asked.words and asked.wants_happenings:
            mask &= tells
        return replace(self, mask=mask)

    @property
    def notes(self) -> Flags:
        """A mask over all chunks, by chunk number: True if a chunk is part of a note."""
        is_note: Flags = self.indexes.chunks["note"]
        return is_note

    @property
    def has_vectors(self) -> bool:
        """Whether any passage or fact of the space has a vector."""
        own = self.edges["id"][self.edges["space"] == self.space]
        facts = self.indexes.facts.chunks
        return self.indexes.has_vectors or bool(np.isin(facts, own).any())

    def cosine(
        self, vector: Floats32, words: Floats | None = None, *, exact: bool = True
    ) -> Floats:
        """Return the cosine of all chunks with a vector, by chunk number.

        If `exact`, the cosines of the nearest chunks are exact. A chunk without a vector gets the
        lowest cosine. With `words` (BM25 by chunk number) it gets a value between the lowest and
        the highest, in proportion to its BM25.
        """
        near = self.indexes.near(vector, self.mask, exact=exact).astype(float)
        known = np.isfinite(near)
        if not known.all():
            low, high = (near[known].min(), near[known].max()) if known.any() else (0.0, 0.0)
            near[~known] = low
            if words is not None and (most := float(words.max())) > 0:
                near[~known] += (high - low) * words[~known] / most
        return near

    def words(self, question: str) -> Floats:
        """Return the BM25 of all chunks, by number; 0 outside the mask and beyond the best."""
        scores = np.zeros(len(self.mask))
        best = self.indexes.words.best(
            question,
            *self.indexes.moment(self.as_of),
            WORDS_FOUND_AT_MOST,
            self.topics,
            earlier=True,
        )
        if best:
            ids = np.array([chunk for chunk, _ in best], np.int64)
            at = np.searchsorted(self.graph.chunks, ids)
            # Another process may have indexed words of chunks that are newer than this snapshot.
            known = is_at(self.graph.chunks, at, ids)
            scores[at[known]] = np.array([score for _, score in best])[known]
        return np.where(self.mask, scores, 0.0)

    def lookup(self, keys: Sequence[str]) -> list[tuple[str, int]]:
        """Return (key, entity) for each entity with one of these name keys at this moment."""
        return self.store.mentions.named(self.space, keys, self.indexes.moment(self.as_of)[1])
