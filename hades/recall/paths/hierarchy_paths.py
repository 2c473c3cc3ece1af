"""Paths within the part of the graph that the hierarchy leads to (HiRAG, source document 002).

Stage A descends from the clusters nearest to a question to entry passages, and gathers the nodes
around them. Stage B finds the best paths between entry passages among these nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from hades.domain.answer import Path, path_order
from hades.domain.hierarchy import HIGH, cluster_name
from hades.domain.weights import PathScoring
from hades.graph.arrays import Floats, Floats32, Ints
from hades.graph.paths import between
from hades.index.hierarchy import ClusterArrays
from hades.recall.paths.path_text import PathArcs, PathWriter
from hades.recall.query_context import QueryContext

SOURCES = 8
"""The best entry passages that paths start from; they may end at any other."""
ARCS_AT_LEAST = 2
FOUND_MORE = 4
"""This many times the wanted paths are searched by arcs; the best by relations are returned."""
_NOT_USABLE = -1.0
"""The score of a passage without a vector or outside the question's scope."""


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
    graph, near = query.graph, arrays.nearness(question).astype(float)
    tops = _best(arrays.at_level(HIGH), near, least)[: min(topics, beams[0])]
    children = (_best(arrays.children(top), near, least)[: beams[1]] for top in tops.tolist())
    lows = _best(_joined(children), near, least)
    cosine = query.indexes.near(question, query.mask).astype(float)
    degrees = graph.adjacency.degrees(np.arange(len(cosine)))
    score = np.maximum(cosine, 0.0) / (1 + demotion * degrees)
    score[~np.isfinite(cosine)] = _NOT_USABLE
    members = [_best(arrays.members(low), score) for low in lows.tolist()]
    entries = _best(_joined(own[: beams[2]] for own in members), score)
    chunks = _joined(members)
    names = _joining(query, chunks, score, demotion)
    scored = dict(zip(chunks.tolist(), score[chunks].tolist(), strict=True)) | names
    _, near_entries, _ = graph.adjacency.of(entries)
    first = {*entries.tolist(), *(names.keys() & set(near_entries.tolist()))}
    order = sorted(scored, key=lambda number: (number not in first, -scored[number], number))
    kept = sorted(order[:cap], key=lambda number: (-scored[number], number))
    return CandidateGraph(
        tuple(
            (cluster_name(int(arrays.numbers[at])), round(float(near[at]), 4))
            for at in (*tops, *lows)
        ),
        tuple(graph.node(number) for number in entries[:cap].tolist()),
        tuple((graph.node(number), round(scored[number], 6)) for number in kept),
        max(0, len(order) - cap),
    )


def best_paths(
    query: QueryContext,
    candidates: CandidateGraph,
    scoring: PathScoring,
    limit: int,
    longest: int,
) -> list[Path]:
    """Return the best paths of 2 to `longest` edges between entry passages of different topics."""
    graph, writer = query.graph, PathWriter(query)
    inside = graph.numbers(np.array([node for node, _ in candidates.nodes], np.int64))
    barred = np.ones(graph.n, np.bool_)
    barred[inside[inside >= 0]] = False
    of_topic: dict[str, int] = {}
    for node in candidates.entries:
        number = graph.number(node)
        if number is not None and graph.visible[number]:
            of_topic.setdefault(writer.topic(number), number)
    entries = list(of_topic.values())  # two passages of one topic are joined by its title anyway
    pool: dict[str, Path] = {}
    for place, source in enumerate(entries[:SOURCES]):
        others, keep = entries[place + 1 :], limit * FOUND_MORE
        ways = between(PathArcs(graph), [source], others, keep=keep, longest=longest, barred=barred)
        for way in ways.paths:
            path = writer.path(way.nodes, 0.0)
            if ARCS_AT_LEAST <= len(path.steps) <= longest:
                score = round(scoring.score(path.edge_types, path.edge_weights), 6)
                pool.setdefault(str(path), replace(path, reliability=score, score=score))
    return sorted(pool.values(), key=path_order)[:limit]


def _best(numbers: Ints, scores: Floats, least: float = 0.0) -> Ints:
    """Return the numbers that score at least `least`, best first."""
    kept = numbers[scores[numbers] >= least]
    return kept[np.lexsort((kept, -scores[kept]))]


def _joined(arrays: Iterable[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *arrays])


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
