"""Paths within the part of the graph that the hierarchy leads to (HiRAG × PathRAG).

Stage A descends from the clusters nearest to a question to entry passages, and gathers the nodes
around them. Stage B finds the best paths from entry passages to any of these nodes. Without a
hierarchy, the nearest passages of the space are the entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from hades.domain.answer import Diagnostic, Path, Step, path_order
from hades.domain.graph import Reason
from hades.domain.hierarchy import HIGH, cluster_name
from hades.domain.weights import TYPE_PRIOR_OTHERWISE, TYPE_PRIORS, PathScoring
from hades.graph.adjacency import RowCache
from hades.graph.arrays import Floats, Floats32, Ints
from hades.graph.paths import outward
from hades.recall.paths.path_text import PathArcs, PathWriter
from hades.recall.query_context import QueryContext

SOURCES = 8
"""The best entry passages, each of another topic, that paths start from."""
STEPS_AT_LEAST = 2
SUBJECTS_OF_A_TOPIC = 3
ENDS_OF_A_SOURCE = 40
FOUND_MORE = 12
"""The search by arcs finds this many times the paths wanted; the best by relations are returned."""
STEP_BOOSTS = {
    "mentions": 0.4,
    "mentioned in": 0.4,
    "next": 0.2,
    "same as": 0.4,
    "title of": 0.4,
    "says": 1.0,
}
"""The boosts of steps that are not stated relations; they are below those of relations
(`TYPE_PRIORS`). `says` leads from a passage to a subject of its topic."""
_NOT_USABLE = -1.0
"""The score of a passage without a vector or outside the question's scope."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The limits of stage A, by default those of HiRAG × PathRAG."""

    topics: int = 8
    """Clusters of level 2 at most."""
    beams: tuple[int, int, int] = (8, 4, 2)
    """How many clusters of level 2, children of each, and entry passages of each child stay."""
    least: float = 0.0
    """The least cosine of a cluster."""
    cap: int = 500
    """Nodes of the candidate graph at most."""
    demotion: float = 0.005
    """The penalty of a node's score for each of its arcs."""


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
    reasons: tuple[Diagnostic, ...] = ()
    """Says if there was no hierarchy to descend."""


def path_scoring(
    boosts: Mapping[str, float], length_correction: float = 0.3, epsilon: float = 1e-6
) -> PathScoring:
    """Return the scoring of stage B; the given boosts replace the shipped ones."""
    return PathScoring(
        decay_rate=1.0,
        pruning_threshold=0.0,
        length_correction=length_correction,
        hub_demotion=0.0,
        boosts={**TYPE_PRIORS, **STEP_BOOSTS, **boosts},
        epsilon=epsilon,
    )


def descend(query: QueryContext, question: Floats32, limits: Narrowing) -> CandidateGraph:
    """Descend by beams: clusters of level 2, children of each, passages of each child.

    The candidates are, up to the cap: the entry passages, the names and topics next to them, the
    nodes related to these, then members of the chosen clusters and the names that join them. A
    node's score is its cosine (for a name, that of its best passage) divided by 1 + demotion ·
    degree.
    """
    graph = query.graph
    cosine = query.indexes.near(question, query.mask).astype(float)
    degrees = graph.adjacency.degrees(np.arange(len(cosine)))
    score = np.maximum(cosine, 0.0) / (1 + limits.demotion * degrees)
    score[~np.isfinite(cosine)] = _NOT_USABLE
    arrays = query.clusters()
    clusters: tuple[tuple[str, float], ...] = ()
    reasons: tuple[Diagnostic, ...] = ()
    if arrays is None:
        hint = "the nearest passages are the entries; `hades organise` makes a hierarchy"
        reasons = (Diagnostic(Reason.NO_HIERARCHY, "hierarchy", hint),)
        entries = _best(np.arange(len(score)), score)[: math.prod(limits.beams)]
        chunks = entries
    else:
        near = arrays.nearness(question).astype(float)
        tops = _best(arrays.at_level(HIGH), near, limits.least)
        tops = tops[: min(limits.topics, limits.beams[0])]
        children = (_best(arrays.children(top), near, limits.least) for top in tops.tolist())
        lows = _best(_joined(own[: limits.beams[1]] for own in children), near, limits.least)
        clusters = tuple(
            (cluster_name(int(arrays.numbers[at])), round(float(near[at]), 4))
            for at in (*tops, *lows)
        )
        members = [_best(arrays.members(low), score) for low in lows.tolist()]
        entries = _best(_joined(own[: limits.beams[2]] for own in members), score)
        chunks = _joined(members)
    first = dict(zip(entries.tolist(), score[entries].tolist(), strict=True))
    about = _beside(query, first, limits.demotion)
    for source, subjects in _sources(query, entries).items():
        about |= {node: max(about.get(node, 0.0), first[source]) for node in subjects}
    first |= _beside(query, about, limits.demotion) | about
    scored = dict(zip(chunks.tolist(), score[chunks].tolist(), strict=True))
    scored |= _beside(query, scored, limits.demotion, times=2) | first
    order = sorted(scored, key=lambda number: (number not in first, -scored[number], number))
    kept = sorted(order[: limits.cap], key=lambda number: (-scored[number], number))
    return CandidateGraph(
        clusters,
        tuple(graph.node(number) for number in entries[: limits.cap].tolist()),
        tuple((graph.node(number), round(scored[number], 6)) for number in kept),
        max(0, len(order) - limits.cap),
        reasons,
    )


def best_paths(
    query: QueryContext,
    candidates: CandidateGraph,
    scoring: PathScoring,
    limit: int,
    longest: int,
) -> list[Path]:
    """Return the best paths of 2 to `longest` edges from entry passages to any candidate.

    Stored bridges from entry passages are included, even those that lead out of the candidates.

    A path's score is the score of its edges, times the score of its entry passage relative to the
    best entry passage. Only the best path between two topics or names is returned. A relation
    without a boost of its own gets the boost of an unknown relation.
    """
    graph = query.graph
    writer = PathWriter(query)
    nodes = np.array([node for node, _ in candidates.nodes], np.int64)
    scores = dict(
        zip(graph.numbers(nodes).tolist(), (score for _, score in candidates.nodes), strict=True)
    )
    barred = np.ones(graph.n, np.bool_)
    barred[[number for number in scores if number >= 0]] = False
    rows = RowCache(PathArcs(graph), barred)
    rows.fetch(np.flatnonzero(~barred).tolist())
    sources = _sources(query, graph.numbers(np.array(candidates.entries, np.int64)))
    most = max((scores.get(source, 0.0) for source in sources), default=0.0) or 1.0
    ways: list[tuple[float, int, tuple[int, ...]]] = []
    for source, subjects in sources.items():
        near = scores.get(source, 0.0) / most
        for start in (source, *subjects):
            outgoing = outward(rows, start, keep=ENDS_OF_A_SOURCE, longest=longest)
            ways += [
                (near * math.exp(way.score), source, way.nodes)
                for way in outgoing
                if source not in way.nodes[1:] and (start != source or len(way.nodes) > 2)
            ]
    ways += [
        (scores.get(nodes[0], 0.0) / most * weight, nodes[0], tuple(nodes))
        for nodes, weight in query.bridges([*sources])
    ]
    ways.sort(key=lambda way: (-round(way[0], 12), way[1:]))
    del ways[limit * FOUND_MORE :]
    writer.prepare([nodes for _, _, nodes in ways])
    paths = [_from_passage(writer, source, writer.path(nodes, 0.0)) for _, source, nodes in ways]
    relations = {relation for path in paths for relation in path.edge_types}
    unknown = dict.fromkeys(relations, TYPE_PRIOR_OTHERWISE)
    scoring = replace(scoring, boosts={**unknown, **scoring.boosts})
    best: dict[frozenset[str], Path] = {}
    for (_, source, _), path in zip(ways, paths, strict=True):
        if STEPS_AT_LEAST <= len(path.steps) <= longest:
            score = scoring.score(path.edge_types, path.edge_weights)
            score = round(scores.get(source, 0.0) / most * score, 6)
            path = replace(path, reliability=score, score=score)
            end = path.nodes[-1].name.rpartition("@")[0] or path.nodes[-1].name
            ends = frozenset({writer.topic(source), end})
            best[ends] = min(path, best.get(ends, path), key=path_order)
    return sorted(best.values(), key=path_order)[:limit]


def _sources(query: QueryContext, entries: Ints) -> dict[int, list[int]]:
    """Map the best entry passage of each of SOURCES topics to the nodes that the topic tells of."""
    graph = query.graph
    topics = query.indexes.chunks["topic"]
    of_topic: dict[int, int] = {}
    for number in entries[entries >= 0].tolist():
        if graph.visible[number] and len(of_topic) < SOURCES:
            of_topic.setdefault(int(topics[number]), number)
    subjects: dict[int, list[int]] = {number: [] for number in of_topic.values()}
    for topic, node in query.store.derived_edges.subjects_of([*of_topic]):
        number = graph.number(node)
        own = subjects[of_topic[topic]]
        if number is not None and len(own) < SUBJECTS_OF_A_TOPIC:
            own.append(number)
    return subjects


def _from_passage(writer: PathWriter, source: int, path: Path) -> Path:
    """Return a path as starting at a passage; if it starts at a subject of it, add that step."""
    passage = writer.node(source)
    if path.start == passage:
        return path
    return replace(path, start=passage, steps=(Step("says", path.start, 1.0), *path.steps))


def _best(numbers: Ints, scores: Floats, least: float = 0.0) -> Ints:
    """Return the numbers that score at least `least`, best first."""
    kept = numbers[scores[numbers] >= least]
    return kept[np.lexsort((kept, -scores[kept]))]


def _joined(arrays: Iterable[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *arrays])


def _beside(
    query: QueryContext, scores: Mapping[int, float], demotion: float, times: int = 1
) -> dict[int, float]:
    """Return the scores of the names and topics next to at least `times` nodes, without hubs."""
    graph = query.graph
    numbers = np.array([*scores], np.int64)
    counts, targets, _ = graph.adjacency.of(numbers)
    lent = np.repeat(np.array([*scores.values()]), counts)
    own = (targets >= graph.first_entity) & ~graph.barred[targets]
    targets = targets[own]
    lent = lent[own]
    order = np.lexsort((-lent, targets))
    nodes, first, joins = np.unique(targets[order], return_index=True, return_counts=True)
    best = lent[order][first] / (1 + demotion * graph.adjacency.degrees(nodes))
    return dict(zip(nodes[joins >= times].tolist(), best[joins >= times].tolist(), strict=True))
