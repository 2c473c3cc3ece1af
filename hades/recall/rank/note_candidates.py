"""Notes among the candidates: their versions, sentences, times and names.

A later version of a note seldom repeats all of an earlier one, and sentences that it does not
repeat still hold. So every version is a candidate, but a version that a later one restates counts
for less.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hades.domain.graph import NodeKind
from hades.domain.topics import PlacedChunk
from hades.graph.arrays import Flags, Floats32, Ints
from hades.index.vectors import product
from hades.index.words import is_said, name_words, stems
from hades.language.names import DIGITS
from hades.language.sentences import note_sentences
from hades.language.wording import numberless
from hades.recall.find.results import Candidates
from hades.recall.query_context import QueryContext

LATER_AT_MOST = 32
"""The most chunks of later versions, the newest, that are compared."""


@dataclass(frozen=True, slots=True)
class NoteCandidates:
    """Versions of notes, one row each."""

    numbers: Ints
    """Chunk numbers."""
    rows: Mapping[int, int]
    """The row of each chunk number."""
    placed: Sequence[PlacedChunk]
    vectors: Sequence[Floats32]
    """The vectors of the sentences of each row; for one sentence, the vector of the note."""
    starts: Ints
    ends: Ints
    """The end of the time in which each row held; `starts` has its beginning."""
    later: Sequence[Ints]
    """For each row, the chunk numbers of later versions of its topic, oldest first."""
    first: Flags
    """Whether each row is of the first version of its topic."""

    def later_rows(self, row: int) -> list[int]:
        """Return the rows of later versions of the same note."""
        return [self.rows[number] for number in self.later[row].tolist() if number in self.rows]

    def sentences(self, row: int) -> Sequence[str]:
        """Return the first NOTE_SENTENCES_AT_MOST sentences of a version; its text if only one."""
        text = self.placed[row].chunk.text
        return note_sentences(text) or (text,)

    def nearest_sentence(self, row: int, vector: Floats32 | None) -> int:
        """Return the position of the sentence nearest to a question; 0 without vectors."""
        if vector is None or not len(self.vectors[row]):
            return 0
        return int(product(self.vectors[row][: len(self.sentences(row))], vector).argmax())

    def sentence_with_most(self, row: int, terms: Collection[str]) -> int:
        """Return the position of the sentence with most of these stems, for a new note without
        vectors."""
        shared = [len(set(terms).intersection(stems(text))) for text in self.sentences(row)]
        return shared.index(max(shared))


def read_notes(query: QueryContext, candidates: Candidates) -> NoteCandidates:
    """Read the candidates, which are all notes, from the store, without those that are gone."""
    ids = query.graph.chunks[candidates.numbers].tolist()
    placed = query.store.chunks.find(ids, query.as_of)
    is_placed = np.array([chunk in placed for chunk in ids], np.bool_)
    numbers = candidates.numbers[is_placed]
    ids = [chunk for chunk in ids if chunk in placed]
    every, begun, ended = candidates.versions
    by_start = np.lexsort((every, begun))
    topic = query.indexes.chunks["topic"][every[by_start]]
    at = np.searchsorted(every, numbers)
    own = {name: by_start[topic == name] for name in np.unique(topic).tolist()}
    of_row = [own[name] for name in query.indexes.chunks["topic"][numbers].tolist()]
    rows = list(zip(of_row, at.tolist(), strict=True))
    return NoteCandidates(
        numbers=numbers,
        rows={int(number): row for row, number in enumerate(numbers)},
        placed=[placed[chunk] for chunk in ids],
        vectors=_sentence_vectors(query, ids),
        starts=begun[at],
        ends=ended[at],
        later=[every[o[begun[o] >= ended[a]]][-LATER_AT_MOST:] for o, a in rows],
        first=np.array([begun[o[0]] >= begun[a] for o, a in rows]),
    )


def _sentence_vectors(query: QueryContext, ids: Sequence[int]) -> list[Floats32]:
    nodes = [NodeKind.CHUNK.node(chunk) for chunk in ids]
    stored = query.store.chunks.vectors(query.encoder, nodes)
    dims = query.indexes.vectors.dims
    sentences = []
    for node in nodes:
        vectors = np.frombuffer(stored.get(node, b""), np.float16).astype(np.float32)
        vectors = vectors[: len(vectors) // dims * dims].reshape(-1, dims)
        sentences.append(vectors[1:] if len(vectors) > 1 else vectors)
    return sentences


class TopicName:
    """The words of a topic's name, each as written and in its parts."""

    def __init__(self, topic: str) -> None:
        self._words = name_words(topic)
        self.terms = set(self._words).union(*self._words.values())
        self.shape = numberless(topic)
        self.numbers = {term for term in self._words if DIGITS.search(term)}

    def share_said(self, query: QueryContext, terms: set[str]) -> float:
        """Return the share of the name's words that are among the terms, weighted by rarity."""
        weights = {term: query.indexes.words.rarity(term) for term in self._words}
        shared = sum(weight for term, weight in weights.items() if self.is_said(term, terms))
        return shared / max(1e-9, sum(weights.values()))

    def is_said(self, word: str, terms: set[str]) -> bool:
        """Return whether a word of the name, as written or in its parts, is among the terms."""
        return is_said(word, self._words[word], terms)

    def is_named_by_number(self, terms: set[str]) -> bool:
        """Return whether the name has numbers and all of them are among the terms."""
        return bool(self.numbers) and all(self.is_said(number, terms) for number in self.numbers)


topic_name = lru_cache(maxsize=4_096)(TopicName)
