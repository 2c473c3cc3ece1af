"""Paths within the part of the graph that the hierarchy leads to (HiRAG, source document 002).

Stage A descends from the clusters nearest to a question to entry passages, and gathers the nodes
around them. Stage B finds the best paths between entry passages among these nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hades.domain.answer import Path, path_order
from hades.domain.hierarchy import HIGH
from hades.domain.weights import PathScoring
from hades.graph.arrays import Deadline, Floats, Floats32, Ints
from hades.graph.paths import between
from hades.index.hierarchy import ClusterArrays
from hades.recall.paths.path_text import PathArcs, PathWriter
from hades.recall.query_context import QueryContext

SOURCES = 8
"""The best entry passages that paths start from; they may end at any other."""
ARCS_AT_LEAST = 2
FOUND_MORE = 4
"""How many times the wanted paths are found by their arcs; the best by relations are returned."""


@dataclass(frozen=True, slots=True)
class CandidateGraph:
    """The part of a graph that a question leads to by way of the hierarchy."""

    clusters: tuple[tuple[str, float], ...]
    """The chosen clusters with their cosines, level 2 before level 1, each best first."""
    entries: tuple[int, ...]
    """The nodes of the passages that the descent ended at, best first."""
    nodes: tuple[tuple[int, float], ...]
    """All nodes with their scores, best first; the entry passages are among them."""
    left_out: int
    """Nodes beyond the cap."""
    change: int
    """The change number of the memory that it was read from."""


def descend(
    query: QueryContext,
    arrays: ClusterArrays,
    question: Floats32,
    *,
    topics: int,
    beams: tuple[int, int, int],
    least: float,
    cap: int,
    demotion: float,
) -> CandidateGraph:
    """Descend by beams: clusters of level 2, children of each, passages of each child.

    At most `topics` clusters of level 2 with a cosine of at least `least` are entered. Names that
    join members of the chosen clusters are added, those of entry passages first, up to `cap`. A
    node's score is its cosine, for a name that of its best passage, divided by
    1 + demotion · degree.
    """
    near, graph = arrays.nearness(question).astype(float), query.graph
    tops = _best(arrays.at_level(HIGH), near, min(topics, beams[0]), least)
    low = [_best(arrays.children(top), near, beams[1], least) for top in tops.tolist()]
    lows = np.concatenate([*low, np.zeros(0, np.int64)]).astype(np.int64)
    lows = lows[np.lexsort((lows, -near[lows]))]
    cosine = query.indexes.near(question, query.mask).astype(float)
    score = np.where(np.isfinite(cosine), np.maximum(cosine, 0.0), 0.0)
    numbers = np.arange(len(score))
    score = score / (1 + demotion * graph.adjacency.degrees(numbers))
    entries, members = list[int](), list[Ints]()
    for cluster in lows.tolist():
        own = arrays.members(cluster)
        own = own[query.mask[own] & np.isfinite(cosine[own])]
        own = own[np.lexsort((own, -score[own]))]
        entries += own[: beams[2]].tolist()
        members.append(own)
    entries.sort(key=lambda number: (-score[number], number))
    chunks = np.concatenate([*members, np.zeros(0, np.int64)]).astype(np.int64)
    scored = {number: float(score[number]) for number in chunks.tolist()}
    names = _joining(query, chunks, score, demotion)
    scored |= names
    _, near_entries, _ = graph.adjacency.of(np.array(entries, np.int64))
    first = {*entries, *(names.keys() & set(near_entries.tolist()))}
    order = sorted(scored, key=lambda number: (number not in first, -scored[number], number))
    kept = sorted(order[:cap], key=lambda number: (-scored[number], number))
    return CandidateGraph(
        tuple((f"c_{arrays.numbers[at]}", round(float(near[at]), 4)) for at in [*tops, *lows]),
        tuple(graph.node(number) for number in entries[:cap]),
        tuple((graph.node(number), round(scored[number], 6)) for number in kept),
        max(0, len(order) - cap),
        query.store.changefeed.revision()[1],
    )


def best_paths(
    query: QueryContext,
    candidates: CandidateGraph,
    scoring: PathScoring,
    *,
    limit: int,
    longest: int,
    deadline: Deadline | None = None,
) -> list[Path]:
    """Return the best paths of 2 to `longest` edges between entry passages of different topics."""
    graph = query.graph
    inside = graph.numbers(np.array([node for node, _ in candidates.nodes], np.int64))
    barred = np.ones(graph.n, np.bool_)
    barred[inside[inside >= 0]] = False
    pool: dict[str, Path] = {}
    writer = PathWriter(query)
    of_topic: dict[str, int] = {}
    for node in candidates.entries:
        number = graph.number(node)
        if number is not None and graph.visible[number]:
            of_topic.setdefault(writer.topic(number), number)
    entries = list(of_topic.values())  # two passages of one topic are joined by its title anyway
    for place, source in enumerate(entries[:SOURCES]):
        if deadline and deadline():
            break
        ways = between(
            PathArcs(graph),
            [source],
            entries[place + 1 :],
            keep=limit * FOUND_MORE,
            longest=longest,
            barred=barred,
            deadline=deadline,
        )
        for way in ways.paths:
            path = writer.path(way.nodes, 0.0)
            if ARCS_AT_LEAST <= len(path.steps) <= longest:
                score = round(scoring.score(path.edge_types, path.edge_weights), 6)
                pool.setdefault(str(path), replace(path, reliability=score, score=score))
    return sorted(pool.values(), key=path_order)[:limit]


def _best(clusters: Ints, near: Floats, limit: int, least: float) -> Ints:
    kept = clusters[near[clusters] >= least]
    return kept[np.lexsort((kept, -near[kept]))][:limit]


def _joining(query: QueryContext, chunks: Ints, score: Floats, demotion: float) -> dict[int, float]:
    """Return the scores of the names and topics next to two chunks or more, without hubs."""
    graph = query.graph
    counts, targets, _ = graph.adjacency.of(chunks)
    lent = np.repeat(score[chunks], counts)
    own = (targets >= graph.first_entity) & ~graph.barred[targets]
    targets, lent = targets[own], lent[own]
    order = np.lexsort((-lent, targets))
    nodes, first, times = np.unique(targets[order], return_index=True, return_counts=True)
    best = lent[order][first] / (1 + demotion * graph.adjacency.degrees(nodes))
    return dict(zip(nodes[times > 1].tolist(), best[times > 1].tolist(), strict=True))
