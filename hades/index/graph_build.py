"""Graph building: build a graph from the tables, and repair it after a write.

Which mentions count depends on the known names: a later title makes an earlier text mention it.
After a write, a chunk is read again if its own mentions changed, if it appeared or disappeared, or
if it mentions a name that now counts differently. The result is the same as that of a rebuild; a
test compares them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from hades.domain.graph import NodeKind, row_of
from hades.graph.adjacency import Adjacency
from hades.graph.arrays import Flags, Ints, spread
from hades.index.graph_view import (
    AUTHOR,
    COUNTS,
    HUB_AT_LEAST,
    TITLE,
    TOLD,
    EntityNames,
    GraphMoment,
    GraphView,
    StatedArcs,
    counted,
    is_at,
)
from hades.index.longest import CAPITAL_SHARE, counting
from hades.index.tables import TableChanges, Tables

WEIGHT_TITLE = 1.0
WEIGHT_NAME = 0.3
WEIGHT_NEXT = 0.5
WEIGHT_RELATION = 0.3
"""Measured on the development questions of five sets (docs/lab/recall.md)."""
ROOM_TO_GROW = 1.25
ROOM_AT_LEAST = 1_000
REPAIRED_SHARE_AT_MOST = 0.1
"""If a larger share of the chunks must be read again, the graph is rebuilt."""
COMPACTED_FROM_SHARE = 0.25


def build_graph(tables: Tables, chunks: Ints, moment: GraphMoment) -> GraphView:
    """Build the graph of a moment from the tables; `chunks` are the ids of all chunks."""
    entities = tables["entities"]["id"]
    roots = _roots(tables, entities, moment)
    first_entity = _with_room(len(chunks))
    first_topic = first_entity + _with_room(len(entities))
    n = first_topic + _with_room(_last_topic(tables) + 1)
    names = _names(tables, moment, np.flatnonzero(moment.visible))
    rows = np.flatnonzero(moment.visible[tables.mentions["chunk"]])
    chunk, entity = _counted(tables, names, roots, rows)
    frequency = np.bincount(entity, minlength=len(entities))
    previous, following, spoken = _in_order(tables, chunks, moment)
    stated = _stated(tables, chunks, entities, roots, moment, (first_entity, first_topic, n))
    chained = np.flatnonzero(following >= 0)
    adjacency = Adjacency.undirected(
        n,
        np.concatenate([chunk, chained, stated.pairs // n]),
        np.concatenate([first_entity + entity, following[chained], stated.pairs % n]),
        np.concatenate(
            [_weights(names, entity), np.full(len(chained), WEIGHT_NEXT), stated.weights]
        ),
    )
    title_of = np.full(len(chunks), -1, np.int64)
    _set_titles(title_of, tables, roots, rows)
    return GraphView(
        moment, chunks, entities, first_entity, first_topic, n, roots, names, frequency,
        title_of, previous, following, spoken, stated, adjacency,
    )  # fmt: skip


def repair(
    graph: GraphView, tables: Tables, chunks: Ints, moment: GraphMoment, changed: TableChanges
) -> GraphView | None:
    """Return the graph after some changes, or None if it must be rebuilt."""
    entities = tables["entities"]["id"]
    if changed.everything or moment.order is not None:
        return None
    if (
        len(chunks) > graph.first_entity
        or len(entities) > graph.first_topic - graph.first_entity
        or _last_topic(tables) >= graph.n - graph.first_topic
    ):
        return None
    roots = _roots(tables, entities, moment)
    before = _grown(graph.visible, len(chunks), False)
    moved = np.flatnonzero(before != moment.visible)
    if changed.is_exact:
        more = changed.mentions[before[changed.mentions[:, 0]]]  # others are in `moved`
        counts = _grown(graph.names.counts, len(entities), 0)
        np.add.at(counts, more[:, 1], more[:, 2:])
        names = _names(tables, moment, moved, counts)
    else:
        names = _names(tables, moment, np.flatnonzero(moment.visible))
    dirty = _dirty(graph, tables, moment, moved, names, roots, changed)
    if dirty.sum() > max(REPAIRED_SHARE_AT_MOST * len(chunks), HUB_AT_LEAST):
        return None
    rows = _mentions_of(tables, np.flatnonzero(dirty & moment.visible))
    title_of = _grown(graph.title_of, len(chunks), -1)
    title_of[dirty] = -1
    _set_titles(title_of, tables, roots, rows)
    previous, following, spoken = _in_order(tables, chunks, moment)
    where = (graph.first_entity, graph.first_topic, graph.n)
    stated = graph.stated
    if (
        changed.stated
        or moment.shifts != graph.moment.shifts
        or _states_otherwise(graph, tables, chunks[moved], moment)
    ):
        stated = _stated(tables, chunks, entities, roots, moment, where)
    patch = _Patch(graph, len(chunks))
    patch.mentions(dirty, _counted(tables, names, roots, rows), names, len(entities))
    patch.order(following)
    patch.stated(stated)
    return GraphView(
        moment, chunks, entities, *where, roots, names, patch.frequency,
        title_of, previous, following, spoken, stated, patch.adjacency(),
    )  # fmt: skip


class _Patch:
    """Arcs to remove from and to add to a graph."""

    def __init__(self, graph: GraphView, count: int) -> None:
        self._graph = graph
        self._count = count
        self.frequency = graph.frequency
        self._gone: list[Ints] = []
        self._come: list[tuple[Ints, Any]] = []

    def mentions(
        self, dirty: Flags, counted: tuple[Ints, Ints], names: EntityNames, entities: int
    ) -> None:
        """Replace the mentions of the `dirty` chunks by `counted` (chunk and entity numbers)."""
        graph = self._graph
        old = np.flatnonzero(dirty[: len(graph.chunks)])
        counts, targets, weights = graph.adjacency.of(old)
        source = np.repeat(old, counts)
        named = (targets >= graph.first_entity) & (targets < graph.first_topic)
        gone = source[named] * graph.n + targets[named]
        chunk, entity = counted
        come = chunk * graph.n + graph.first_entity + entity
        frequency = _grown(graph.frequency, entities, 0)
        np.subtract.at(frequency, targets[named] - graph.first_entity, 1)
        np.add.at(frequency, entity, 1)
        self.frequency = frequency
        self._replaced(gone, weights[named].astype(np.float32), come, _weights(names, entity))

    def order(self, following: Ints) -> None:
        """Replace the arcs between each chunk and the one that follows it in its document."""
        graph = self._graph
        before = _grown(graph.next, self._count, -1)
        moved = np.flatnonzero(before != following)
        gone = moved[before[moved] >= 0]
        come = moved[following[moved] >= 0]
        self._gone.append(_pair(gone, before[gone], graph.n))
        self._come.append((_pair(come, following[come], graph.n), np.full(len(come), WEIGHT_NEXT)))

    def stated(self, stated: StatedArcs) -> None:
        """Replace the arcs that users and documents state."""
        old = self._graph.stated
        if stated is not old:
            self._replaced(old.pairs, old.weights, stated.pairs, stated.weights)

    def _replaced(self, gone: Ints, old: Any, come: Ints, new: Any) -> None:
        """Remove the pairs `gone` and add `come`, except for pairs whose weight stays the same."""
        order = np.argsort(gone)
        other = np.argsort(come)
        gone = gone[order]
        old = old[order]
        come = come[other]
        new = new[other]
        at = np.searchsorted(come, gone)
        same = is_at(come, at, gone)
        same[same] = np.abs(old[same] - new[at[same]]) < 1e-6
        kept = gone[same]
        self._gone.append(gone[~same])
        fresh = ~np.isin(come, kept)
        self._come.append((come[fresh], new[fresh]))

    def adjacency(self) -> Adjacency:
        """Return the arcs of the graph with all replacements."""
        graph = self._graph
        n = self._graph.n
        gone = np.concatenate([np.zeros(0, np.int64), *self._gone])
        come = np.concatenate([np.zeros(0, np.int64), *(pairs for pairs, _ in self._come)])
        weight = np.concatenate([np.zeros(0), *(weights for _, weights in self._come)])
        gone = np.concatenate([gone, gone % n * n + gone // n])
        come = np.concatenate([come, come % n * n + come // n])
        weight = np.concatenate([weight, weight])
        touched = np.unique(np.concatenate([gone // n, come // n]))
        rows: dict[int, tuple[Any, Any]] = {}
        counts, targets, weights = graph.adjacency.of(touched)
        ends = np.cumsum(counts)
        by_gone = np.argsort(gone, kind="stable")
        by_come = np.argsort(come, kind="stable")
        gone = gone[by_gone]
        come = come[by_come]
        weight = weight[by_come]
        for at, node in enumerate(touched.tolist()):
            own = slice(ends[at] - counts[at], ends[at])
            lost = gone[np.searchsorted(gone, node * n) : np.searchsorted(gone, (node + 1) * n)]
            new = slice(np.searchsorted(come, node * n), np.searchsorted(come, (node + 1) * n))
            stay = ~np.isin(targets[own], lost % n)
            rows[node] = (
                np.concatenate([targets[own][stay], come[new] % n]),
                np.concatenate([weights[own][stay], weight[new]]),
            )
        adjacency = copy.copy(graph.adjacency)  # shares unchanged rows with the old graph
        adjacency.replace(rows, count=n)
        overgrown = adjacency.overlay_share > COMPACTED_FROM_SHARE
        return adjacency.compacted() if overgrown else adjacency


def _dirty(
    graph: GraphView,
    tables: Tables,
    moment: GraphMoment,
    moved: Ints,
    names: EntityNames,
    roots: Ints,
    changed: TableChanges,
) -> Flags:
    """Return a mask of the chunks to read again; the chunks `moved` appeared or disappeared."""
    dirty = np.zeros(len(moment.visible), np.bool_)
    dirty[changed.mentions[:, 0]] = True
    old = graph.names
    size = len(graph.names.exists)
    was_proper, proper = (n.capital_share(slice(size)) >= CAPITAL_SHARE for n in (old, names))
    other = np.zeros(len(names.exists), np.bool_)
    # A new name is mentioned only by changed chunks.
    other[:size] = (
        (old.exists != names.exists[:size])
        | (old.titled != names.titled[:size])
        | (was_proper != proper)
    )
    other |= other[roots]  # a merged name counts as its target
    if other.any():
        dirty[tables.mentions["chunk"][other[tables.mentions["entity"]]]] = True
    dirty &= moment.visible
    dirty[moved] = True
    return dirty


def _mentions_of(tables: Tables, chunks: Ints) -> Ints:
    """Return the row numbers of all mentions in these chunks. Mentions are sorted by chunk."""
    numbers = tables.mentions["chunk"]
    first = np.searchsorted(numbers, chunks.astype(numbers.dtype))
    return spread(first, np.searchsorted(numbers, chunks.astype(numbers.dtype), "right") - first)


def _names(tables: Tables, moment: GraphMoment, moved: Ints, counts: Any = None) -> EntityNames:
    """Return the state of the entities after chunks `moved` appeared or disappeared.

    `counts` are the mention counts before that; they are updated in place. Default: all 0.
    """
    at = _mentions_of(tables, moved)
    # use the type of the counts: `add.at` takes 25 times as long if it must convert values
    sign = np.where(moment.visible[tables.mentions["chunk"][at]], np.int32(1), np.int32(-1))
    if counts is None:
        counts = np.zeros((len(tables["entities"]), COUNTS), np.int32)
    for column, values in enumerate(counted(tables.mentions, at).T):
        np.add.at(counts[:, column], tables.mentions["entity"][at], sign * values)
    entities = tables["entities"]
    own = (entities["space"] == moment.space) & (entities["origin"] == 0)
    own &= entities["recorded_at"] <= moment.known
    _, _, introductions, titles, told = counts.T > 0
    # Imported facts bring thousands of names, so these do not count as titles.
    return EntityNames(own | introductions, (own & ~told) | titles, counts)


def _counted(tables: Tables, names: EntityNames, roots: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return the distinct (chunk, merged entity) pairs of mentions in `rows` that count."""
    mentions = tables.mentions
    chunk = mentions["chunk"][rows].astype(np.int64)
    entity = mentions["entity"][rows].astype(np.int64)
    introduces = mentions["introduces"][rows]
    counts = mentions["count"][rows]
    place = tables.places[spread(mentions["first"][rows], counts)].astype(np.int64)
    at = np.repeat(np.arange(len(rows)), counts)
    counting_rows = at[counting(names, chunk[at], entity[at], place)]
    # The title, heading, speaker and author of a passage, and the subject of a fact read in it,
    # count even if the text does not contain them.
    kept = ((introduces > 0) & (introduces <= AUTHOR)) | (introduces == TOLD)
    kept[counting_rows] = True
    pairs = np.sort(chunk[kept] * max(1, len(roots)) + roots[entity[kept]])
    pairs = pairs[np.concatenate([[True], pairs[1:] != pairs[:-1]])] if len(pairs) else pairs
    return pairs // max(1, len(roots)), pairs % max(1, len(roots))


def _set_titles(title_of: Ints, tables: Tables, roots: Ints, rows: Ints) -> None:
    titles = rows[tables.mentions["introduces"][rows] == TITLE]
    titles = titles[np.argsort(-tables.mentions["entity"][titles], kind="stable")]
    title_of[tables.mentions["chunk"][titles]] = roots[tables.mentions["entity"][titles]]


def _weights(names: EntityNames, entity: Ints) -> Any:
    return np.where(names.titled[entity], WEIGHT_TITLE, WEIGHT_NAME)


def _roots(tables: Tables, entities: Ints, moment: GraphMoment) -> Ints:
    """Return for each entity the number of the entity it was merged into, or its own."""
    roots = np.arange(len(entities))
    merges = tables["merges"]
    held = np.flatnonzero(
        (merges["recorded_at"] <= moment.known) & (merges["retired_at"] > moment.known)
    )
    merged, into = (np.searchsorted(entities, merges[end][held]) for end in ("entity", "target"))
    known = is_at(entities, merged, merges["entity"][held])
    known &= is_at(entities, into, merges["target"][held])
    roots[merged[known]] = into[known]
    for _ in range(len(held).bit_length()):  # each step doubles the length of resolved chains
        further = roots[roots]
        if (further == roots).all():
            break
        roots = further
    return roots


def _states_otherwise(graph: GraphView, tables: Tables, moved: Ints, moment: GraphMoment) -> bool:
    """Return whether the arcs of `graph.stated` may differ at `moment`.

    They may if a told edge began or ended between the two moments, or if a chunk in `moved` (those
    that appeared or disappeared) states an edge or belongs to a topic that has a stated arc.
    """
    edges = tables["edges"]
    order = tables["order"]
    boundaries = np.concatenate([edges["valid_from"], edges["valid_to"]])
    passed = (boundaries > graph.moment.valid) & (boundaries <= moment.valid)
    linked = np.isin(tables["derived_edges"]["chunk"], moved)
    topics = graph.first_topic + order["topic"][np.isin(order["chunk"], moved)]
    ends = graph.stated.pairs % graph.n  # topics have the highest numbers
    return bool(passed.any() or linked.any() or np.isin(topics, ends).any())


def _stated(
    tables: Tables, chunks: Ints, entities: Ints, roots: Ints, moment: GraphMoment,
    where: tuple[int, int, int],
) -> StatedArcs:  # fmt: skip
    """Return the arcs that are stated, and those of their topics to chunks and subjects."""
    first_entity, first_topic, n = where
    edges = tables["edges"]
    links = tables["derived_edges"]
    held = np.flatnonzero(
        (edges["space"] == moment.space)
        & (edges["valid_from"] <= moment.valid)
        & (edges["valid_to"] > moment.valid)
        & (edges["recorded_at"] <= moment.known)
        & (edges["retired_at"] > moment.known)
    )
    at = np.searchsorted(chunks, links["chunk"])
    derived = np.flatnonzero(is_at(chunks, at, links["chunk"]))
    derived = derived[moment.visible[at[derived]]]

    def numbers(nodes: Ints) -> Ints:
        entity = np.searchsorted(entities, row_of(nodes))
        known = NodeKind.ENTITY.has(nodes) & is_at(entities, entity, row_of(nodes))
        numbered = np.where(NodeKind.TOPIC.has(nodes), first_topic + row_of(nodes), -1)
        numbered[known] = first_entity + roots[entity[known]]
        return numbered

    source = numbers(np.concatenate([edges["source"][held], links["source"][derived]]))
    target = numbers(np.concatenate([edges["target"][held], links["target"][derived]]))
    learned = _shifted(links["weight"][derived], links["relation"][derived], moment.shifts)
    weight = np.concatenate([edges["weight"][held], learned]).astype(float)
    by_topic = (source >= first_topic) | (target >= first_topic)
    weight *= np.where(by_topic, 1.0, WEIGHT_RELATION)
    topics = np.zeros(n - first_topic, np.bool_)
    for end in (source, target):
        topics[end[end >= first_topic] - first_topic] = True
    own_chunk, own_topic = _chunks_of(tables, chunks, moment, topics)
    rows = tables["subjects"]
    used = _among(topics, rows["topic"])
    subject = numbers(NodeKind.ENTITY.node(rows["entity"][used]))
    source = np.concatenate([source, own_chunk, first_topic + rows["topic"][used]])
    target = np.concatenate([target, first_topic + own_topic, subject])
    weight = np.concatenate([weight, np.ones(len(own_chunk) + len(subject))])
    use = (source >= 0) & (target >= 0) & (source != target) & (weight > 0)
    pairs, at = np.unique(_pair(source[use], target[use], n), return_inverse=True)
    return StatedArcs(pairs, np.bincount(at, weight[use], len(pairs)).astype(np.float64))


def _shifted(weights: Any, relations: Any, shifts: Mapping[int, float]) -> Any:
    """Return weights with their logits shifted by relation, as the weight snapshot says."""
    if not shifts:
        return weights
    shift = np.zeros(int(relations.max(initial=0)) + 1)
    known = {relation: value for relation, value in shifts.items() if relation < len(shift)}
    shift[list(known)] = list(known.values())
    share = np.clip(weights.astype(float), 1e-6, 1 - 1e-6)
    logit = np.log(share / (1 - share)) + shift[relations]
    return np.round(1 / (1 + np.exp(-logit)), 4)


def _pair(a: Ints, b: Ints, n: int) -> Ints:
    """Encode two nodes as one number, the smaller first."""
    return np.minimum(a, b) * n + np.maximum(a, b)


def _among(flags: Flags, numbers: Ints) -> Flags:
    """Return for each number whether its flag is set; a number beyond the flags is not flagged."""
    inside = numbers < len(flags)
    return inside & flags[np.where(inside, numbers, 0)]


def _chunks_of(
    tables: Tables, chunks: Ints, moment: GraphMoment, topics: Flags
) -> tuple[Ints, Ints]:
    """Return the numbers of the visible chunks of flagged topics, and the topic of each."""
    chunk, topic, _, _ = _order(tables, moment)
    of = np.flatnonzero(_among(topics, topic))
    number = np.searchsorted(chunks, chunk[of])
    visible = is_at(chunks, number, chunk[of])
    visible[visible] = moment.visible[number[visible]]
    return number[visible], topic[of][visible]


def _order(tables: Tables, moment: GraphMoment) -> tuple[Ints, Ints, Ints, Flags]:
    order = tables["order"]
    return moment.order or (order["chunk"], order["topic"], order["ordinal"], order["turn"])


def _in_order(tables: Tables, chunks: Ints, moment: GraphMoment) -> tuple[Ints, Ints, Flags]:
    """Return, by chunk number, the visible chunks before and after (or -1), and a mask of turns."""
    chunk, topic, ordinal, turn = _order(tables, moment)
    spoken = np.zeros(len(chunks), np.bool_)
    previous = np.full(len(chunks), -1, np.int64)
    following = np.full(len(chunks), -1, np.int64)
    at = np.searchsorted(chunks, chunk)
    known = np.flatnonzero(is_at(chunks, at, chunk))
    known = known[moment.visible[at[known]]]
    known = known[np.argsort(topic[known] << 24 | ordinal[known], kind="stable")]
    left = known[:-1]
    right = known[1:]
    joined = topic[left] == topic[right]
    previous[at[right[joined]]] = at[left[joined]]
    following[at[left[joined]]] = at[right[joined]]
    spoken[at[known]] = turn[known]
    return previous, following, spoken


def _last_topic(tables: Tables) -> int:
    edges = tables["edges"]
    links = tables["derived_edges"]
    nodes = np.concatenate([table[end] for table in (edges, links) for end in ("source", "target")])
    return int(row_of(nodes[NodeKind.TOPIC.has(nodes)]).max(initial=0))


def _with_room(count: int) -> int:
    return max(int(count * ROOM_TO_GROW), count + ROOM_AT_LEAST)


def _grown(array: Any, count: int, fill: Any) -> Any:
    """Return a copy of an array with `count` rows; new rows hold `fill`."""
    grown = np.full((count, *array.shape[1:]), fill, array.dtype)
    grown[: len(array)] = array
    return grown
