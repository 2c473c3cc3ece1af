"""GraphView: the graph of one space at one moment, as arrays.

Nodes are numbered: chunks first (by their number in the indexes), then entities, then topics by
id. Each kind has room to grow, so that numbers stay the same when a graph is repaired after a
write (see `graph_build`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hades.domain.graph import NodeKind, row_of
from hades.graph.adjacency import Adjacency
from hades.graph.arrays import Flags, Floats, Ints
from hades.index.array_store import Array
from hades.index.columns import Columns

HUB_SHARE = 0.05
HUB_AT_LEAST = 10
"""A name is a hub, which links nothing, if more than 10 chunks and a larger share of them have
it."""

TITLE = 1
SYMBOL = 3
AUTHOR = 5
TOLD = 8
"""Origins of names as they are stored (see `hades.ingest.document.Origin`)."""
COUNTS = 5


def counted(mentions: Columns | Mapping[str, Array], rows: Any) -> npt.NDArray[np.int32]:
    """Return the counts that mentions add to their entities, one row per mention.

    The columns are: occurrences of one word, those with a capital, whether the text introduces the
    name, whether as title or symbol, whether as the subject of a fact.
    """
    origin = mentions["introduces"][rows]
    columns = [mentions["singles"][rows], mentions["capitals"][rows], origin > 0]
    columns += [(origin == TITLE) | (origin == SYMBOL), origin == TOLD]
    return np.stack(columns, axis=1, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class GraphMoment:
    """The moment of a graph, and the chunks that are visible then."""

    space: int
    valid: int
    known: int
    visible: Flags
    """For each chunk number, whether a chunk is visible."""
    order: tuple[Ints, Ints, Ints, Flags] | None
    """Chunk, topic, ordinal within the topic, and whether it is a turn of a conversation. None: the
    current order of the tables."""
    shifts: Mapping[int, float] = field(default_factory=dict)
    """For each relation number, what learning adds to the logit of weights of derived edges."""


class EntityNames(NamedTuple):
    """Properties of all entities at a moment, as arrays by entity number."""

    exists: Flags
    titled: Flags
    """Whether it is a title, a symbol or a name that users relate: these match in any case."""
    counts: npt.NDArray[np.int32]
    """Sums over the visible mentions of each entity (see `counted`)."""

    def capital_share(self, of: Any) -> Any:
        """Return the share of each entity's one-word occurrences that begin with a capital."""
        return self.counts[of, 1] / np.maximum(1, self.counts[of, 0])


class StatedArcs(NamedTuple):
    """Arcs that users and documents state, each pair of nodes once."""

    pairs: Ints
    """The smaller node times `n` plus the larger one."""
    weights: Floats


@dataclass(frozen=True)
class GraphView:
    """The graph of a space at a moment, with the state of its names."""

    moment: GraphMoment
    chunks: Ints
    """The ids of chunks, by number."""
    entities: Ints
    first_entity: int
    first_topic: int
    n: int
    roots: Ints
    """For each entity, the entity it was merged into, or itself."""
    names: EntityNames
    frequency: Ints
    """For each entity, the number of chunks that mention it."""
    title_of: Ints
    """For each chunk, the entity that is its title, or -1."""
    previous: Ints
    next: Ints
    """For each chunk, its neighbours in its document, or -1."""
    spoken: Flags
    """For each chunk, whether it is a turn of a conversation."""
    stated: StatedArcs
    adjacency: Adjacency
    whole: int = 0
    """The number of chunks of the whole memory, if this graph is of an excerpt."""

    @cached_property
    def hub(self) -> Flags:
        """For each entity, whether so many chunks mention it that it links nothing."""
        hub: Flags = self.frequency > max(HUB_SHARE * self.size, HUB_AT_LEAST)
        return hub

    @cached_property
    def barred(self) -> Flags:
        """For each node, whether walks leave it out, because it is a hub."""
        barred = np.zeros(self.n, np.bool_)
        barred[self.first_entity : self.first_entity + len(self.hub)] = self.hub
        barred.flags.writeable = False  # so that walks can cache sums by this array
        return barred

    @cached_property
    def size(self) -> int:
        """The number of visible chunks; for an excerpt, of all chunks of the whole memory."""
        return self.whole or int(self.visible.sum())

    @cached_property
    def is_chunk(self) -> Flags:
        """For each node, whether it is a chunk."""
        return np.arange(self.n) < self.first_entity

    @cached_property
    def turns(self) -> Ints:
        """The numbers of the chunks that are turns of a conversation."""
        return np.flatnonzero(self.spoken)

    @cached_property
    def rarity(self) -> Floats:
        """For each entity, log(1 + number of chunks / number of chunks that mention it)."""
        rarity: Floats = np.log1p(self.size / np.maximum(1, self.frequency))
        return rarity

    @cached_property
    def rarest(self) -> float:
        """The highest rarity."""
        return float(self.rarity.max(initial=0.0))

    @property
    def visible(self) -> Flags:
        """For each chunk, whether it is visible."""
        return self.moment.visible

    def number(self, node: int) -> int | None:
        """Return the number of a node (an id with its kind), or None if it is not in the graph."""
        number = int(self.numbers(np.array([node], np.int64))[0])
        return None if number < 0 else number

    def numbers(self, nodes: Ints) -> Ints:
        """Return the numbers of nodes, -1 if not in the graph. A merged entity has its target's."""
        numbers = np.full(len(nodes), -1, np.int64)
        ids = row_of(nodes)
        for kind, known in ((NodeKind.CHUNK, self.chunks), (NodeKind.ENTITY, self.entities)):
            own = np.flatnonzero(kind.has(nodes))
            at = np.searchsorted(known, ids[own])
            is_known = is_at(known, at, ids[own])
            at = at[is_known]
            numbers[own[is_known]] = self.first_entity + self.roots[at] if kind == 1 else at
        topic = np.flatnonzero(NodeKind.TOPIC.has(nodes) & (ids < self.n - self.first_topic))
        numbers[topic] = self.first_topic + ids[topic]
        return numbers

    def node(self, number: int) -> int:
        """Return the node (an id with its kind) of a number."""
        if number < self.first_entity:
            return NodeKind.CHUNK.node(int(self.chunks[number]))
        if number < self.first_topic:
            return NodeKind.ENTITY.node(int(self.entities[number - self.first_entity]))
        return NodeKind.TOPIC.node(number - self.first_topic)


def are_known(ids: Ints, wanted: Ints) -> Flags:
    """Return for each wanted id whether it is among `ids`, which are sorted."""
    return is_at(ids, np.searchsorted(ids, wanted), wanted)


def is_at(ids: Ints, at: Ints, wanted: npt.NDArray[np.integer[Any]]) -> Flags:
    """Return whether each wanted id is at its position `at` in `ids`."""
    if not len(ids):
        return np.zeros(len(wanted), np.bool_)
    equal: Flags = ids[np.minimum(at, len(ids) - 1)] == wanted
    return equal
