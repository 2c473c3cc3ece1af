"""GraphView: the graph of one space at one moment, as arrays.

Nodes are numbered: chunks first (by their number in the indexes), then entities, then
topics by their id. Each kind has room to grow, so that a graph can be repaired after a write
(see `graph_build`) and every number stays what it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hades.domain.graph import NodeKind, row_of
from hades.graph.adjacency import Adjacency
from hades.graph.arrays import Flags, Floats, Ints
from hades.index.array_store import Array
from hades.index.columns import Columns

HUB_SHARE, HUB_AT_LEAST = 0.05, 10
"""A name in more of the chunks than this links nothing."""

TITLE, SYMBOL, AUTHOR, TOLD = 1, 3, 5, 8
"""Origins of names as they are stored (see `hades.ingest.document.Origin`)."""
COUNTS = 5


def counted(mentions: Columns | Mapping[str, Array], rows: Any) -> npt.NDArray[np.int32]:
    """What mentions add to what is counted of their entities, in columns: places of one word,
    those with a capital, texts that introduce it, as title or symbol, as what a fact is about."""
    origin = mentions["introduces"][rows]
    columns = [mentions["singles"][rows], mentions["capitals"][rows], origin > 0]
    columns += [(origin == TITLE) | (origin == SYMBOL), origin == TOLD]
    return np.stack(columns, axis=1, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class GraphMoment:
    """What is there at the moment a graph is made for."""

    space: int
    valid: int
    known: int
    visible: Flags
    """By chunk number."""
    order: tuple[Ints, Ints, Ints, Flags] | None
    """Chunk, topic and ordinal of what stands where, and whether it is a turn of a
    conversation; None: as it is now."""


class EntityNames(NamedTuple):
    """What is known of the entities at a moment, by number."""

    exists: Flags
    titled: Flags
    """Titles, symbols and what users relate: they are found in any case of letters."""
    counts: npt.NDArray[np.int32]
    """What the mentions there say of each (see `counted`)."""

    def capital_share(self, of: Any) -> Any:
        """Of the places of one word of entities, how many begin with a capital."""
        return self.counts[of, 1] / np.maximum(1, self.counts[of, 0])


class StatedArcs(NamedTuple):
    """Arcs that users and documents state: two ends and a weight, each pair once."""

    pairs: Ints
    weights: Floats


@dataclass(frozen=True)
class GraphView:
    """The graph of a space at a moment, and what is known of its names."""

    moment: GraphMoment
    chunks: Ints
    """The ids of chunks, by number."""
    entities: Ints
    first_entity: int
    first_topic: int
    n: int
    roots: Ints
    """By entity: what it was merged into, else itself."""
    names: EntityNames
    frequency: Ints
    """By entity: in how many chunks it is mentioned."""
    title_of: Ints
    """By chunk: the entity that is its title, -1: none."""
    previous: Ints
    next: Ints
    """By chunk: its neighbours in its document, -1: none."""
    spoken: Flags
    """By chunk: whether it is a turn of a conversation; turns lend to their neighbours."""
    stated: StatedArcs
    adjacency: Adjacency
    whole: int = 0
    """Of an excerpt: how many chunks the whole memory has."""

    @cached_property
    def hub(self) -> Flags:
        """By entity: whether so many chunks mention it that it links nothing."""
        found: Flags = self.frequency > max(HUB_SHARE * self.size, HUB_AT_LEAST)
        return found

    @cached_property
    def barred(self) -> Flags:
        """Nodes that walks leave out: hubs."""
        barred = np.zeros(self.n, np.bool_)
        barred[self.first_entity : self.first_entity + len(self.hub)] = self.hub
        barred.flags.writeable = False  # so that walks remember the sums under it
        return barred

    @cached_property
    def size(self) -> int:
        """How many chunks are there."""
        return self.whole or int(self.visible.sum())

    @cached_property
    def is_chunk(self) -> Flags:
        """By node."""
        return np.arange(self.n) < self.first_entity

    @cached_property
    def turns(self) -> Ints:
        """The numbers of the chunks that are turns."""
        return np.flatnonzero(self.spoken)

    @cached_property
    def rarity(self) -> Floats:
        """By entity: how much it tells that a chunk mentions it."""
        rarity: Floats = np.log1p(self.size / np.maximum(1, self.frequency))
        return rarity

    @cached_property
    def rarest(self) -> float:
        """The highest of these."""
        return float(self.rarity.max(initial=0.0))

    @property
    def visible(self) -> Flags:
        """By chunk: whether it is there."""
        return self.moment.visible

    def number(self, node: int) -> int | None:
        """The number of a node (an id with its kind), None when it is not in the graph."""
        found = int(self.numbers(np.array([node], np.int64))[0])
        return None if found < 0 else found

    def numbers(self, nodes: Ints) -> Ints:
        """The numbers of many nodes, -1 for those that are not in the graph."""
        found = np.full(len(nodes), -1, np.int64)
        ids = row_of(nodes)
        for kind, known in ((NodeKind.CHUNK, self.chunks), (NodeKind.ENTITY, self.entities)):
            own = np.flatnonzero(kind.has(nodes))
            at = np.searchsorted(known, ids[own])
            there = is_at(known, at, ids[own])
            at = at[there]
            found[own[there]] = self.first_entity + self.roots[at] if kind == 1 else at
        topic = np.flatnonzero(NodeKind.TOPIC.has(nodes) & (ids < self.n - self.first_topic))
        found[topic] = self.first_topic + ids[topic]
        return found

    def node(self, number: int) -> int:
        """The node of a number."""
        if number < self.first_entity:
            return NodeKind.CHUNK.node(int(self.chunks[number]))
        if number < self.first_topic:
            return NodeKind.ENTITY.node(int(self.entities[number - self.first_entity]))
        return NodeKind.TOPIC.node(number - self.first_topic)


def are_known(ids: Ints, wanted: Ints) -> Flags:
    """Return for each wanted id whether it is among `ids`, which are sorted."""
    return is_at(ids, np.searchsorted(ids, wanted), wanted)


def is_at(ids: Ints, at: Ints, wanted: Ints) -> Flags:
    """Whether each wanted id stands where it was looked for."""
    if not len(ids):
        return np.zeros(len(wanted), np.bool_)
    there: Flags = ids[np.minimum(at, len(ids) - 1)] == wanted
    return there
