"""Mentions and co-occurrence: which names an export links to a chunk, and to each other."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hades.graph.arrays import Ints
from hades.index.graph_view import AUTHOR, TOLD
from hades.index.longest import longest
from hades.store.graph_rows import MentionRow

RELATED_AT_MOST = 10
"""The most names that each name is joined to by `related_to`: those it shares most chunks with."""


class CountedMention(NamedTuple):
    """An entity that a chunk mentions, and the packed places of its name there."""

    chunk: int
    entity: int
    places: bytes


def counted_mentions(
    rows: Sequence[MentionRow], meant: Mapping[int, int], titled: Collection[int]
) -> list[CountedMention]:
    """Return the mentions that count, each entity once per chunk.

    If names overlap, the longest counts, and a name must begin with a capital, unless it is a
    title of several words. The title, authors and speaker of a passage always count. `meant` maps
    an entity to the one it was merged into.
    """
    sizes = [len(row.positions or b"") // 4 for row in rows]
    place = np.frombuffer(b"".join(row.positions or b"" for row in rows), np.uint32).astype(int)
    at = np.repeat(np.arange(len(rows)), sizes)
    chunk = np.array([row.chunk for row in rows], np.int64)[at]
    entity = np.array([row.entity for row in rows], np.int64)[at]
    is_titled = np.array([row.entity in titled for row in rows], np.bool_)[at]
    usable = np.flatnonzero((place & 1 == 1) | (is_titled & (place >> 1 & 15 > 1)))
    kept = usable[longest(chunk[usable], entity[usable], place[usable], is_titled[usable])]
    places: dict[tuple[int, int], set[int]] = {}
    for row in rows:
        if row.introduces is not None and (row.introduces <= AUTHOR or row.introduces == TOLD):
            places[row.chunk, meant.get(row.entity, row.entity)] = set()
    for row_number, packed in zip(at[kept].tolist(), place[kept].tolist(), strict=True):
        row = rows[row_number]
        key = row.chunk, meant.get(row.entity, row.entity)
        places.setdefault(key, set()).add(packed)
    return [
        CountedMention(chunk, entity, np.array(sorted(packed), np.uint32).tobytes())
        for (chunk, entity), packed in sorted(places.items())
    ]


class CoOccurrence:
    """Counts in how many chunks two entities are mentioned together."""

    def __init__(self) -> None:
        self._chunks = array("q")
        self._entities = array("q")

    def add(self, mentions: Sequence[CountedMention]) -> None:
        """Count the mentions of whole chunks."""
        self._chunks.extend(mention.chunk for mention in mentions)
        self._entities.extend(mention.entity for mention in mentions)

    def related(self) -> Iterator[tuple[int, int, int, float]]:
        """Yield (entity, other, count, strength) of the strongest pairs of each entity, once each.

        `strength` is the share of chunks with both among those with either.
        """
        if not self._chunks:
            return
        chunks = np.unique(np.asarray(self._chunks), return_inverse=True)[1]
        names, entities = np.unique(np.asarray(self._entities), return_inverse=True)
        in_chunk = _Groups(chunks, entities)
        of_entity = _Groups(entities, chunks)
        seen: set[tuple[int, int]] = set()
        for entity in range(len(names)):
            own = of_entity.items(entity)
            others, shared = np.unique(
                np.concatenate([in_chunk.items(chunk) for chunk in own]), return_counts=True
            )
            either = len(own) + of_entity.sizes[others] - shared
            strength = shared / either
            order = np.lexsort((others, -strength, -shared))
            best = order[others[order] != entity][:RELATED_AT_MOST]
            for at in best.tolist():
                other = int(others[at])
                pair = (min(entity, other), max(entity, other))
                if pair not in seen:
                    seen.add(pair)
                    yield (
                        int(names[pair[0]]),
                        int(names[pair[1]]),
                        int(shared[at]),
                        round(float(strength[at]), 6),
                    )


class _Groups:
    """Values grouped by a key from 0 on."""

    def __init__(self, keys: Ints, values: Ints) -> None:
        self._values = values[np.argsort(keys, kind="stable")]
        self.sizes = np.bincount(keys)
        self._ends = np.cumsum(self.sizes)

    def items(self, key: int) -> Ints:
        """Return the values of a key."""
        end = self._ends[key]
        return self._values[end - self.sizes[key] : end]
