"""Suggestions: pairs of related topics that no edge joins yet.

Four signs speak for a pair: one names the other, both mention a rare name, they are near in
meaning, or both are joined with a third node. Each sign has a share s from 0 to 1. They are
combined as independent evidence: score = 1 - Π(1 - s).
"""

from __future__ import annotations

import math
import shlex
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np

from hades.domain.graph import NodeKind
from hades.domain.promotion import Suggestion
from hades.domain.times import AsOf
from hades.language.english.lexicon import STOP_WORDS
from hades.language.names import name_key
from hades.language.words import words
from hades.models.encoder import Encoder
from hades.store.records import Progress
from hades.store.store import Store

TOPICS_AT_MOST = 10_000
"""The most recently written topics that are compared: the cost grows with the square of this."""
NAMED = 0.6
SHARED = 0.45
NEAR = 0.7
CITED = 0.3
"""The largest share of each sign, chosen by hand."""
RARE_AT_MOST = 8
"""A name that more topics mention is not a sign."""
NEAR_FROM = 0.45
NEAR_EACH = 5
CITED_AT_MOST = 12
"""A node that is joined with more topics than this is not a sign."""
NAME_CHARACTERS_AT_LEAST = 4
NAME_WORDS_AT_MOST = 4
EVIDENCE_AT_MOST = 5
_BLOCK_ROWS = 512

Pair = tuple[int, int]


class TopicPairs:
    """The topics of a space, and signs that two are related, by their positions in `topics`."""

    def __init__(
        self, store: Store, space: int, as_of: AsOf, encoder: Encoder, on_progress: Progress
    ) -> None:
        self._store = store
        self._space = space
        self._as_of = as_of
        self._encoder = encoder
        self._on_progress = on_progress
        self.topics = store.links.topics(space, as_of, TOPICS_AT_MOST)
        self.place = {topic.id: at for at, topic in enumerate(self.topics)}
        self.signs: dict[Pair, list[tuple[float, str]]] = defaultdict(list)
        self.cosine: dict[Pair, float] = {}
        notes = [topic for topic in self.topics if topic.kind == "note"]
        contents = store.topics.contents([topic.state for topic in notes])
        self.texts = {self.place[topic.id]: contents[topic.state] for topic in notes}
        self.joined: set[Pair] = set()
        for number, look in enumerate((self._edges, self._names, self._mentions, self._vectors)):
            on_progress("comparing topics", number, 4)
            look()

    def suggestions(self, topic: int | None, limit: int) -> list[Suggestion]:
        """Return the best `limit` pairs that no edge joins, of one topic (by id) or of all."""
        at = None if topic is None else self.place.get(topic, -1)
        scored = []
        for pair, signs in self.signs.items():
            if pair not in self.joined and (at is None or at in pair):
                left_open = math.prod(1 - share for share, _ in signs)
                scored.append((left_open, pair, [text for _, text in sorted(signs, reverse=True)]))
        suggestions = []
        for left_open, (first, second), evidence in sorted(scored)[:limit]:
            one = self.topics[first].name
            other = self.topics[second].name
            named = any(text.startswith(f"{other} names ") for text in evidence)
            if second == at or (at is None and named):
                one, other = other, one
            command = shlex.join(["hades", "relate", one, "relates_to", other])
            shown = tuple(evidence[:EVIDENCE_AT_MOST])
            suggestions.append(Suggestion(one, other, round(1 - left_open, 3), shown, command))
        return suggestions

    def _sign(self, one: int, other: int, share: float, evidence: str) -> None:
        if one != other and share > 0:
            self.signs[min(one, other), max(one, other)].append((share, evidence))

    def _edges(self) -> None:
        """Collect the joined pairs, and the pairs that are joined with the same third node."""
        node = {NodeKind.TOPIC.node(topic.id): at for at, topic in enumerate(self.topics)}
        node |= {
            NodeKind.ENTITY.node(topic.entity): at
            for at, topic in enumerate(self.topics)
            if topic.entity is not None
        }
        around: dict[int, set[int]] = defaultdict(set)
        for source, target in self._store.links.edges(self._space, [*self.place], self._as_of):
            one = node.get(source)
            other = node.get(target)
            if one is not None and other is not None:
                self.joined.add((min(one, other), max(one, other)))
            if other is not None:
                around[source].add(other)
            if one is not None:
                around[target].add(one)
        called = self._store.entities.described(
            [third for third, near in around.items() if 1 < len(near) <= CITED_AT_MOST]
        )
        for third, name in called.items():
            for one, other in combinations(sorted(around[third]), 2):
                self._sign(one, other, CITED, f"both are joined with {name}")

    def _names(self) -> None:
        """Collect the pairs in which the text of a note contains the name of the other topic."""
        keys = [name_key(topic.name.rpartition("/")[2]) for topic in self.topics]
        often = Counter(keys)
        named = {
            key: at
            for at, key in enumerate(keys)
            if often[key] == 1 and len(key) >= NAME_CHARACTERS_AT_LEAST and key not in STOP_WORDS
        }
        for at, text in self.texts.items():
            folded = [word.casefold() for word in words(text)]
            runs = {
                " ".join(folded[start : start + length])
                for length in range(1, NAME_WORDS_AT_MOST + 1)
                for start in range(len(folded) - length + 1)
            }
            for key in sorted(runs & named.keys()):
                other = self.topics[named[key]].name
                self._sign(at, named[key], NAMED, f"{self.topics[at].name} names {other}")

    def _mentions(self) -> None:
        """Collect the pairs that mention the same rare name."""
        having: dict[int, set[int]] = defaultdict(set)
        for topic, entity in self._store.links.mentions([*self.place], self._as_of):
            having[entity].add(self.place[topic])
        rare = {name: at for name, at in having.items() if 1 < len(at) <= RARE_AT_MOST}
        names = self._store.entities.names(sorted(rare))
        most = math.log(max(len(self.topics), 3))
        for entity, places in rare.items():
            share = SHARED * max(0.0, 1 - math.log(len(places)) / most)
            for one, other in combinations(sorted(places), 2):
                self._sign(one, other, share, f"both mention {names.get(entity, '?')}")

    def _vectors(self) -> None:
        """Collect the pairs near in meaning: the nearest few of each topic."""
        encoder = self._encoder
        rows = self._store.links.vectors([*self.place], encoder.model, encoder.dims, self._as_of)
        matrix = np.zeros((len(self.topics), encoder.dims), np.float32)
        places = np.array([self.place[topic] for topic, _ in rows], np.int64)
        if not len(rows):
            return
        flat = np.frombuffer(b"".join(bytes(vector) for _, vector in rows), np.float16)
        np.add.at(matrix, places, flat.reshape(len(rows), -1).astype(np.float32))
        matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
        each = min(NEAR_EACH + 1, len(matrix))
        for first in range(0, len(matrix), _BLOCK_ROWS):
            self._on_progress("comparing meanings", first, len(matrix))
            cosines = matrix[first : first + _BLOCK_ROWS] @ matrix.T
            best = np.argpartition(-cosines, each - 1, axis=1)[:, :each]
            for at, columns in enumerate(best.tolist(), start=first):
                for other in columns:
                    pair = min(at, other), max(at, other)
                    cosine = float(cosines[at - first, other])
                    if at != other and cosine >= NEAR_FROM and pair not in self.cosine:
                        self.cosine[pair] = cosine = min(1.0, cosine)
                        share = NEAR * (cosine - NEAR_FROM) / (1 - NEAR_FROM)
                        self._sign(*pair, share, f"near in meaning, {cosine:.2f}")
