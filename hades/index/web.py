"""The web: the graph of one space at one moment, as arrays.

Nodes are numbered: chunks first (by their number in the catalogue), then entities, then
topics. Which mentions count is decided here, for the names that were known at the moment:
the longest name at a place wins, and titles are matched once more among themselves, since
longer names would hide them (2Wiki R@5 of the walk 91 against 83). A title of several
words counts in any case of letters; every other name must begin with a capital.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hades.domain.graph import NodeKind
from hades.graph.adjacency import Adjacency
from hades.index.tables import Tables

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

TITLE, HEADING, SYMBOL, SPEAKER, AUTHOR = 1, 2, 3, 4, 5
"""Origins of names as they are stored (see `hades.ingest.document.Origin`)."""

HUB_SHARE, HUB_AT_LEAST = 0.05, 10
"""A name in more of the chunks than this links nothing."""
CAPITAL_SHARE = 0.5
"""A found name of one word must be written with a capital this often."""
WEIGHT_TITLE, WEIGHT_NAME, WEIGHT_NEXT, WEIGHT_RELATION = 1.0, 0.3, 0.5, 0.3
"""Measured on the development questions of five sets (docs/recall.md)."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What is there at the moment the web is made for."""

    space: int
    valid: int
    known: int
    visible: Flags
    """By chunk number."""
    order: tuple[Ints, Ints, Ints] | None
    """Chunk, topic and ordinal of what stands where; None: as it is now."""


class Web:
    """The graph of a space at a moment, and what is known of its names."""

    def __init__(self, tables: Tables, chunks: Ints, moment: Moment) -> None:
        self.chunks = chunks
        self.entities = tables["entities"]["id"]
        self.topics = _topics_in_edges(tables, moment)
        self.first_entity = len(chunks)
        self.first_topic = self.first_entity + len(self.entities)
        self.n = self.first_topic + len(self.topics)
        self.visible = moment.visible
        self.size = int(moment.visible.sum())
        """How many chunks there are."""
        self._roots = _roots(tables, self.entities, moment)
        chunk, entity = self._counted(tables, moment)
        self.frequency = np.bincount(entity, minlength=len(self.entities))
        self.hub = self.frequency > max(HUB_SHARE * self.size, HUB_AT_LEAST)
        self.previous, self.next = _neighbours_in_order(tables, chunks, moment)
        self.graph = self._graph(tables, moment, chunk, entity)
        self.barred = np.zeros(self.n, np.bool_)
        self.barred[self.first_entity : self.first_topic] = self.hub

    # Numbers

    def number(self, node: int) -> int | None:
        """The number of a node (an id with its kind), None when it is not in the web."""
        ids, first = {
            NodeKind.CHUNK: (self.chunks, 0),
            NodeKind.ENTITY: (self.entities, self.first_entity),
            NodeKind.TOPIC: (self.topics, self.first_topic),
        }[NodeKind(node & 7)]
        at = int(np.searchsorted(ids, node >> 3))
        if at == len(ids) or ids[at] != node >> 3:
            return None
        if first == self.first_entity:
            at = int(self._roots[at])
        return first + at

    def entity_number(self, entity: int) -> int | None:
        """The number of an entity among the entities, after merges; None: not in the web."""
        number = self.number(entity << 3 | NodeKind.ENTITY)
        return None if number is None else number - self.first_entity

    def node(self, number: int) -> int:
        """The node of a number."""
        if number < self.first_entity:
            return int(self.chunks[number]) << 3 | NodeKind.CHUNK
        if number < self.first_topic:
            return int(self.entities[number - self.first_entity]) << 3 | NodeKind.ENTITY
        return int(self.topics[number - self.first_topic]) << 3 | NodeKind.TOPIC

    # Making it

    def _counted(self, tables: Tables, moment: Moment) -> tuple[Ints, Ints]:
        """(chunk, entity) numbers of the mentions that count, each pair once."""
        rows = tables.mentions
        keys = rows["key"]
        chunk = np.searchsorted(self.chunks, tables.chunk_of(keys))
        there = np.flatnonzero(moment.visible[np.minimum(chunk, len(self.chunks) - 1)])
        chunk = chunk[there]
        entity = np.searchsorted(self.entities, tables.entity_of(keys[there]))
        introduces = rows["introduces"][there]
        origin = tables["entities"]["origin"]
        own = tables["entities"]["space"] == moment.space
        self.exists = own & (origin == 0)
        self.titled = self.exists.copy()
        self.exists[entity[introduces > 0]] = True
        titling = (introduces == TITLE) | (introduces == SYMBOL)
        self.titled[entity[titling]] = True
        self.title_of = np.full(len(self.chunks), -1, np.int64)
        title = introduces == TITLE
        self.title_of[chunk[title][::-1]] = self._roots[entity[title][::-1]]
        counts = rows["count"][there]
        place = _expanded(tables.places, rows["first"][there], counts)
        at = np.repeat(np.arange(len(there)), counts)
        found = self._longest(chunk[at], entity[at], place)
        brought = np.flatnonzero((introduces > 0) & (introduces <= AUTHOR))
        pairs = np.unique(
            np.concatenate([chunk[at][found], chunk[brought]]) * len(self.entities)
            + self._roots[np.concatenate([entity[at][found], entity[brought]])]
        )
        if not len(pairs):
            return pairs, pairs
        return pairs // len(self.entities), pairs % len(self.entities)

    def _longest(self, chunk: Ints, entity: Ints, place: Ints) -> Ints:
        """Which places count: longest first among all names, and again among titles."""
        length = place >> 1 & 15
        capital = (place & 1).astype(np.bool_)
        single = length == 1
        said = np.bincount(entity[single], minlength=len(self.entities))
        large = np.bincount(entity[single & capital], minlength=len(self.entities))
        self.capital_share = large / np.maximum(said, 1)
        titled = self.titled[entity]
        proper = titled | ~single | (self.capital_share[entity] >= CAPITAL_SHARE)
        usable = self.exists[entity] & proper & (capital | (titled & ~single))
        kept = [
            chosen[longest_first(chunk[chosen], entity[chosen], place[chosen], titled[chosen])]
            for chosen in (np.flatnonzero(usable), np.flatnonzero(usable & titled))
        ]
        return np.unique(np.concatenate(kept))

    def _graph(self, tables: Tables, moment: Moment, chunk: Ints, entity: Ints) -> Adjacency:
        weight = np.where(self.titled[entity], WEIGHT_TITLE, WEIGHT_NAME)
        chained = np.flatnonzero(self.next >= 0)
        source, target, stated = self._stated(tables, moment)
        return Adjacency.undirected(
            self.n,
            np.concatenate([chunk, chained, source]),
            np.concatenate([self.first_entity + entity, self.next[chained], target]),
            np.concatenate([weight, np.full(len(chained), WEIGHT_NEXT), stated]),
        )

    def _stated(self, tables: Tables, moment: Moment) -> tuple[Ints, Ints, Any]:
        """Edges users and documents state, and those of topics with their own chunks."""
        edges, links = tables["edges"], tables["links"]
        held = _held(edges, moment)
        at = np.minimum(np.searchsorted(self.chunks, links["chunk"]), len(self.chunks) - 1)
        stand = np.flatnonzero(moment.visible[at]) if len(self.chunks) else np.zeros(0, np.int64)
        source = self._numbers(np.concatenate([edges["source"][held], links["source"][stand]]))
        target = self._numbers(np.concatenate([edges["target"][held], links["target"][stand]]))
        weight = np.concatenate([edges["weight"][held], links["weight"][stand]])
        by_topic = (source >= self.first_topic) | (target >= self.first_topic)
        weight = weight * np.where(by_topic, 1.0, WEIGHT_RELATION)
        used = (source >= 0) & (target >= 0) & (source != target)
        own_chunk, own_topic = self._chunks_of_topics(tables)
        subject, entity = self._subjects(tables)
        return (
            np.concatenate([source[used], own_chunk, subject]),
            np.concatenate([target[used], own_topic, entity]),
            np.concatenate([weight[used], np.ones(len(own_chunk)), np.ones(len(subject))]),
        )

    def _chunks_of_topics(self, tables: Tables) -> tuple[Ints, Ints]:
        order = tables["order"]
        at = np.searchsorted(self.topics, order["topic"])
        known = np.flatnonzero(_is_at(self.topics, at, order["topic"]))
        number = np.searchsorted(self.chunks, order["chunk"][known])
        there = _is_at(self.chunks, number, order["chunk"][known])
        there[there] = self.visible[number[there]]
        return number[there], self.first_topic + at[known][there]

    def _subjects(self, tables: Tables) -> tuple[Ints, Ints]:
        rows = tables["subjects"]
        topic = np.searchsorted(self.topics, rows["topic"])
        entity = np.searchsorted(self.entities, rows["entity"])
        used = _is_at(self.topics, topic, rows["topic"])
        used &= _is_at(self.entities, entity, rows["entity"])
        return self.first_topic + topic[used], self.first_entity + self._roots[entity[used]]

    def _numbers(self, nodes: Ints) -> Ints:
        """The numbers of many nodes, -1 for those that are not in the web."""
        found = np.full(len(nodes), -1, np.int64)
        kinds = (
            (NodeKind.CHUNK, self.chunks, 0),
            (NodeKind.ENTITY, self.entities, self.first_entity),
            (NodeKind.TOPIC, self.topics, self.first_topic),
        )
        for kind, ids, first in kinds:
            own = np.flatnonzero(nodes & 7 == kind)
            at = np.searchsorted(ids, nodes[own] >> 3)
            known = _is_at(ids, at, nodes[own] >> 3)
            at = at[known]
            found[own[known]] = first + (self._roots[at] if kind == NodeKind.ENTITY else at)
        return found


def _is_at(ids: Ints, at: Ints, wanted: Ints) -> Flags:
    """Whether each wanted id stands where it was looked for."""
    if not len(ids):
        return np.zeros(len(wanted), np.bool_)
    there: Flags = ids[np.minimum(at, len(ids) - 1)] == wanted
    return there


def _topics_in_edges(tables: Tables, moment: Moment) -> Ints:
    """Topics somebody related to something; the others need no node of their own."""
    edges, links = tables["edges"], tables["links"]
    own = edges["space"] == moment.space
    nodes = np.concatenate(
        [edges["source"][own], edges["target"][own], links["source"], links["target"]]
    )
    return np.unique(nodes[nodes & 7 == NodeKind.TOPIC] >> 3)


def _held(edges: Any, moment: Moment) -> Ints:
    return np.flatnonzero(
        (edges["space"] == moment.space)
        & (edges["valid_from"] <= moment.valid)
        & (edges["valid_to"] > moment.valid)
        & (edges["recorded_at"] <= moment.known)
        & (edges["retired_at"] > moment.known)
    )


def _roots(tables: Tables, entities: Ints, moment: Moment) -> Ints:
    """By entity number: the number of what it was merged into, else its own."""
    roots = np.arange(len(entities))
    merges = tables["merges"]
    held = np.flatnonzero(
        (merges["recorded_at"] <= moment.known) & (merges["retired_at"] > moment.known)
    )
    roots[np.searchsorted(entities, merges["entity"][held])] = np.searchsorted(
        entities, merges["target"][held]
    )
    for _ in range(len(held)):
        further = roots[roots]
        if (further == roots).all():
            break
        roots = further
    return roots


def _expanded(places: npt.NDArray[np.uint32], first: Ints, count: Any) -> Ints:
    """The places of rows, one after another."""
    total = int(count.sum())
    starts = np.repeat(first - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
    return places[starts + np.arange(total)].astype(np.int64)


def longest_first(chunk: Ints, entity: Ints, place: Ints, titled: Flags) -> Ints:
    """Left to right, the longest name at a place; what it covers does not count."""
    if not len(chunk):
        return np.zeros(0, np.int64)
    start, length = place >> 5, place >> 1 & 15
    order = np.lexsort((entity, ~titled, -length, start, chunk))
    at = (chunk << 32 | start)[order]
    head = np.concatenate([[True], at[1:] != at[:-1]])
    group = np.cumsum(head) - 1
    first = order[head]
    # Among names of the same words, those that title something stand for it alone.
    same = (length[order] == length[first][group]) & (titled[order] == titled[first][group])
    kept = _greedy(at[head], at[head] + length[first])
    chosen: Ints = order[same & kept[group]]
    return chosen


def _greedy(start: Ints, end: Ints) -> Flags:
    """Which stretches, in order of their start, are kept when each kept one bars the next."""
    reached = np.maximum.accumulate(end)
    alone = np.concatenate([[True], start[1:] >= reached[:-1]])
    kept = alone.copy()
    # Within a run of overlapping stretches the first is kept; the rest is decided one by one.
    heads = np.flatnonzero(alone)
    last = 0
    head_of = heads[np.cumsum(alone) - 1]
    previous = -1
    for at in np.flatnonzero(~alone):
        if head_of[at] != previous:
            previous, last = head_of[at], end[head_of[at]]
        if start[at] >= last:
            kept[at], last = True, end[at]
    return kept


def _neighbours_in_order(tables: Tables, chunks: Ints, moment: Moment) -> tuple[Ints, Ints]:
    """The chunk before and after each in its document, -1 where there is none."""
    order = tables["order"]
    chunk, topic, ordinal = moment.order or (order["chunk"], order["topic"], order["ordinal"])
    previous = np.full(len(chunks), -1, np.int64)
    following = np.full(len(chunks), -1, np.int64)
    at = np.searchsorted(chunks, chunk)
    known = np.flatnonzero(_is_at(chunks, at, chunk))
    known = known[moment.visible[at[known]]]
    known = known[np.lexsort((ordinal[known], topic[known]))]
    one, two = known[:-1], known[1:]
    joined = topic[one] == topic[two]
    previous[at[two[joined]]] = at[one[joined]]
    following[at[one[joined]]] = at[two[joined]]
    return previous, following
