"""Results of finding: one frozen value per stage, passed from each stage to the next.

    SearchQuery → Seeds → Walks, what reading on found, BeamResult → Retrieved → Candidates

Arrays called "by chunk number" have one entry for every chunk of the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hades.domain.question import Question
from hades.graph.arrays import Flags, Floats, Floats32, Ints
from hades.graph.beam import BeamPath
from hades.recall.query_context import QueryContext
from hades.recall.question.time_asked import TimeAsked


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A question, ready to be compared with passages."""

    question: Question
    query: QueryContext
    """The memory, narrowed to the time asked about."""
    time: TimeAsked
    terms: list[str]
    """The distinct stems of the question's words."""
    vector: Floats32 | None
    """None if the plan has no meaning, or if the encoder failed or was late."""

    @property
    def text(self) -> str:
        """The text to search for: the question, joined with an earlier one if it refers to that."""
        return self.question.text

    def term_table(self, numbers: Ints) -> tuple[Floats32, Floats]:
        """Return which terms each chunk contains, and the weights of the terms, which sum to 1."""
        rarity = np.array([self.query.indexes.words.rarity(term) for term in self.terms])
        has_term = self.query.terms.having(self.query.graph.chunks[numbers], self.terms)
        return has_term, rarity / max(1e-9, float(rarity.sum()))


@dataclass(frozen=True, slots=True)
class Seeds:
    """Scores of the retrievers, by chunk number."""

    mask: Flags
    """Chunks that may be found."""
    cosine: Floats
    """Cosine with the question. A chunk without a vector gets an estimate from its BM25."""
    words: Floats
    """BM25 for the question."""
    named: Ints
    """The numbers of the entities that the question names."""
    naming: Ints
    """The chunks that mention one of these entities, sorted."""
    scaled: tuple[Floats, Floats]
    """Meaning and words, each from 0 to 1."""
    prior: Floats
    """The mean of meaning and words, from 0 to 1."""
    top: Ints
    """The chunks best by prior, as many as walks start from, best first."""
    least: Mapping[str, float]
    """Maps each retriever to the score that a chunk must reach to count as found by it."""
    turned: Floats | None = None
    """The gain of each chunk from the turns before the question; None without turns."""


@dataclass(frozen=True, slots=True)
class Walks:
    """Scores of the walks through the graph, by chunk number."""

    from_names: Floats
    from_prior: Floats
    joined: Floats
    """The weighted sum of the walks from names and from the prior."""
    far: Floats
    """Scores of the third walk, which reaches passages two names away."""


@dataclass(frozen=True, slots=True)
class BeamResult:
    """The paths of the beam and the chunks on them."""

    paths: tuple[BeamPath, ...] = ()
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Everything that was found for a question, before it is ranked."""

    search: SearchQuery
    seeds: Seeds
    walks: Walks
    following: Floats
    """Cosine with the hop encoder's vectors for the next passage, by chunk number; 0 without it."""
    beam: BeamResult


class NoteVersions(NamedTuple):
    """All versions of the notes among the candidates, with the start and end of each."""

    numbers: Ints
    starts: Ints
    ends: Ints


@dataclass(frozen=True, slots=True)
class Candidates:
    """The chunks worth ranking."""

    numbers: Ints
    """Chunk numbers, sorted."""
    strong: Ints
    """The chunks with the highest sum of walk and prior."""
    second_hop: Floats
    """Cosine with the question and the strongest chunks together, by chunk number."""
    versions: NoteVersions
    current: Mapping[int, int]
    """Maps versions of changed notes to the version that holds; both are chunk numbers."""
