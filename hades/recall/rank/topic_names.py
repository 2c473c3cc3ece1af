"""Names of topics, as a question says them."""

from __future__ import annotations

from functools import lru_cache

from hades.domain.names import DIGITS, numberless
from hades.graph.arrays import Floats
from hades.index.words import is_said, name_words
from hades.recall.query_context import QueryContext
from hades.recall.rank.note_candidates import NoteCandidates

LITTLE = 1e-3
"""By so little a note is put above another."""


class TopicName:
    """The words of a topic's name, each as it is written and in its parts."""

    def __init__(self, topic: str) -> None:
        self._words = name_words(topic)
        self.terms = set(self._words).union(*self._words.values())
        self.shape = numberless(topic)
        self.numbers = {term for term in self._words if DIGITS.search(term)}

    def share_said(self, query: QueryContext, terms: set[str]) -> float:
        """Return the share of the name that a question with these terms says, by weight."""
        weights = {term: query.indexes.words.rarity(term) for term in self._words}
        said = sum(weight for term, weight in weights.items() if self.is_said(term, terms))
        return said / max(1e-9, sum(weights.values()))

    def is_said(self, word: str, terms: set[str]) -> bool:
        """Whether a question says a word of the name, as it is written or in its parts."""
        return is_said(word, self._words[word], terms)


topic_name = lru_cache(maxsize=4_096)(TopicName)


def with_numbers_apart(notes: NoteCandidates, scores: Floats, terms: list[str]) -> Floats:
    """Return scores in which bug 103 is not above bug 102 when 102 is asked for."""
    asked = set(terms)
    names = [topic_name(placed.chunk.topic) for placed in notes.placed]
    said = [{word for word in name.numbers if name.is_said(word, asked)} for name in names]
    best: dict[str, float] = {}
    for name, numbers, score in zip(names, said, scores.tolist(), strict=True):
        if numbers and numbers == name.numbers:
            best[name.shape] = max(score, best.get(name.shape, score))
    apart = scores.copy()
    for row, name in enumerate(names):
        if name.shape in best and said[row] != name.numbers:
            apart[row] = min(apart[row], best[name.shape] - LITTLE)
    return apart
