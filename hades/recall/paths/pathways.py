"""Pathways: the paths that join the question with the passages that were found.

Paths are searched in a small graph: the ranked candidates, the names that they share or that the
question has, their topics, and the edges among these. The flow of PathRAG finds the paths that
carry the most there, without reading further documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hades.domain.answer import Path
from hades.domain.graph import Reason
from hades.domain.weights import PathScoring
from hades.graph.adjacency import Adjacency
from hades.graph.arrays import Ints
from hades.graph.beam import BEST_SCORE
from hades.graph.flow import FlowPath, best_paths
from hades.index.graph_view import is_at
from hades.recall.find.results import Retrieved
from hades.recall.paths import neighbourhood
from hades.recall.paths.path_text import PathArcs, PathWriter
from hades.recall.plan import ARCS_A_HOP
from hades.recall.rank.ranking import Ranking
from hades.recall.run import Run, Stage

RELATED_AT_MOST = 12
"""The most neighbours of named entities that may end paths, strongest first."""
SOURCES_AT_MOST = 8
"""Names of the question that paths start from, rarest first."""
FLOWS_AT_MOST = 40
"""The most paths, by flow, among which those with the most believed passages are kept."""
FOUND_NODES = 200
"""The most nodes of the small graph that flow passes through."""


def find_paths(
    run: Run,
    retrieved: Retrieved,
    ranking: Ranking,
    passages: Sequence[int],
    ends: tuple[int, int] | None = None,
) -> list[Path]:
    """Return paths from the question to passages, best first, then those of the beam.

    Paths are sought in the graph of the ranked candidates; `passages` are chunk numbers. With
    `ends`, two nodes that the question wants connected, return the paths between these instead.
    """
    plan = run.plan.graph
    graph = retrieved.search.query.graph
    with run.stage("paths", plan.timeout_ms) as stage:
        if not run.plan.paths or not plan.hops or not (plan.flow or retrieved.beam.paths):
            stage.note(Reason.SWITCHED_OFF)
            return []
        if not graph.adjacency.has_arcs:
            stage.note(Reason.EMPTY_GRAPH)
            return []
        if ends is not None:
            return _connecting(stage, retrieved, ends)
        if not passages and not len(retrieved.seeds.named):
            stage.note(Reason.NOTHING_FOUND)
            return []
        paths = Pathways(stage, retrieved, ranking).to(passages) if plan.flow else []
        more = _beam_paths(retrieved, ranking, set(passages), paths, run.plan.paths)
        more += _bridge_paths(retrieved, ranking, passages, paths + more, run.plan.paths)
        stage.found += len(more)
        return paths + more


def _connecting(stage: Stage, retrieved: Retrieved, ends: tuple[int, int]) -> list[Path]:
    """Return the paths between two nodes, as the operation `paths` does."""
    query = retrieved.search.query
    plan = stage.run.plan
    scoring = PathScoring(plan.graph.decay_rate, plan.graph.pruning_threshold)
    paths, left_out = neighbourhood.paths(
        query, *ends, scoring, limit=plan.paths, hops=plan.graph.hops, deadline=stage.is_over
    )
    if len(paths) < plan.paths and stage.is_over():
        stage.stop(Reason.TIMEOUT, "without longer paths")
    elif not paths:
        source, target = (query.store.entities.describe(end).name for end in ends)
        which = f"of at most {plan.graph.hops * ARCS_A_HOP} steps"
        if left_out:
            which = f"among the nodes searched ({left_out:,} were left out)"
        stage.note(Reason.NOT_CONNECTED, f"no path {which} joins {source} with {target}")
    stage.found = len(paths)
    return paths


def _beam_paths(
    retrieved: Retrieved, ranking: Ranking, passages: set[int], others: Sequence[Path], limit: int
) -> list[Path]:
    """Return the beam's paths between passages, best first, without those inside other paths."""
    writer = PathWriter(retrieved.search.query)
    kept = list[Path]()
    beliefs = _beliefs(ranking)
    for beam_path in retrieved.beam.paths:
        ends = {beam_path.nodes[0], beam_path.nodes[-1]}
        if len(kept) < limit and beam_path.hops and ends <= passages:
            score = max(0.0, beam_path.score) / BEST_SCORE
            path = writer.path(beam_path.nodes, score * _least(beliefs, beam_path.nodes))
            nodes = set(path.nodes)
            if not any(nodes <= set(other.nodes) for other in (*others, *kept)):
                kept.append(path)
    return kept


def _bridge_paths(
    retrieved: Retrieved,
    ranking: Ranking,
    passages: Sequence[int],
    others: Sequence[Path],
    limit: int,
) -> list[Path]:
    """Return stored bridges between passages, best first, as far as there is room for paths."""
    query = retrieved.search.query
    beliefs = _beliefs(ranking)
    writer = PathWriter(query)
    kept = list[Path]()
    for nodes, weight in query.bridges(passages):
        if nodes[-1] in passages and len(others) + len(kept) < limit:
            path = writer.path(nodes, weight * _least(beliefs, nodes))
            if not any({*path.nodes} <= {*other.nodes} for other in (*others, *kept)):
                kept.append(path)
    return kept


def _beliefs(ranking: Ranking) -> dict[int, float]:
    """Return the belief of each ranked passage."""
    return dict(zip(ranking.numbers.tolist(), ranking.belief.tolist(), strict=True))


def _least(beliefs: Mapping[int, float], nodes: Iterable[int]) -> float:
    """Return the least belief of the passages among the nodes; 1 if none is a passage."""
    return min((beliefs[node] for node in nodes if node in beliefs), default=1.0)


class Pathways:
    """A search for paths from the names of a question to its passages."""

    def __init__(self, stage: Stage, retrieved: Retrieved, ranking: Ranking) -> None:
        self._stage = stage
        self._retrieved = retrieved
        self._ranked = ranking.numbers
        self._beliefs = _beliefs(ranking)
        self._graph = retrieved.search.query.graph
        self._named = retrieved.seeds.named

    def to(self, passages: Sequence[int]) -> list[Path]:
        """Return the best paths from the question's names to these passages, best first."""
        plan = self._stage.run.plan
        query = self._retrieved.search.query
        chosen = np.array(passages, np.int64)
        nodes, adjacency = self._found_graph(chosen)
        local = {int(node): at for at, node in enumerate(nodes)}
        named = self._sources(chosen)
        asked, topics = self._topics(nodes, passages, named)
        pairs = [(name, other) for name in named for other in passages]
        pairs += [(topic, other) for topic in asked for other in topics]
        if len(self._named):
            stated = self._related_to(np.array(named, np.int64)).tolist()
            pairs += [(name, other) for name in named for other in stated if other in local]
        flows = best_paths(
            adjacency,
            [(local[one], local[other]) for one, other in pairs if one != other],
            keep=FLOWS_AT_MOST,
            alpha=plan.graph.decay_rate,
            theta=plan.graph.pruning_threshold,
            nodes=FOUND_NODES,
            longest=1 + plan.graph.hops * ARCS_A_HOP,
            deadline=self._stage.is_over,
        )
        for trim in flows.trims:
            if trim.reason == Reason.TIMEOUT:
                self._stage.stop(Reason.TIMEOUT, f"without {trim.count} {trim.what}")
        # with learned boosts, choose among more paths
        wider = 2 if query.weights.boosts else 1
        kept = self._differing(self._believed(flows.paths, nodes), nodes, plan.paths * wider)
        self._stage.found = len(kept)
        self._stage.cut = len(flows.paths) - len(kept)
        says = {int(self._graph.first_entity + name) for name in self._named}
        writer = PathWriter(query, {*says, *(asked if says else ())})
        # The highest reliability is 1 + α, that of an edge to an only neighbour.
        most = 1 + plan.graph.decay_rate
        ways = [nodes[list(path.nodes)].tolist() for path in kept]
        writer.prepare(ways)
        return [
            writer.path(way, path.reliability / most) for way, path in zip(ways, kept, strict=True)
        ]

    def _believed(self, paths: Sequence[FlowPath], nodes: Ints) -> list[FlowPath]:
        """Multiply each path's reliability by the least belief of its passages; best first."""
        weighed = [
            replace(
                path,
                reliability=path.reliability
                * _least(self._beliefs, nodes[list(path.nodes)].tolist()),
            )
            for path in paths
        ]
        return sorted(weighed, key=lambda path: (-round(path.reliability, 12), path.nodes))

    def _differing(self, paths: Sequence[FlowPath], nodes: Ints, limit: int) -> list[FlowPath]:
        """Leave out paths that add nothing to a better one: parts of it, or the same stated path
        with titles and passages around it."""

        def stated(path: FlowPath) -> bool:
            return int(nodes[list(path.nodes)].min()) >= self._graph.first_topic

        kept: list[FlowPath] = []
        # A path from a title to its own passage is shown only if there is no other.
        informative = [path for path in paths if not self._is_title(nodes[list(path.nodes)])]
        for path in informative or paths:
            inside = any(set(path.nodes) <= set(other.nodes) for other in kept)
            around = any(set(other.nodes) <= set(path.nodes) for other in kept if stated(other))
            if not inside and not around and len(kept) < limit:
                kept.append(path)
        return kept

    def _topics(
        self, nodes: Ints, passages: Sequence[int], named: Sequence[int]
    ) -> tuple[list[int], list[int]]:
        """Return the topics the question asks about, and all topics in the small graph."""
        graph = self._graph
        asked = [chunk for chunk in passages if graph.first_entity + graph.title_of[chunk] in named]
        _, own, _ = graph.adjacency.of(np.array(asked or passages[:1], np.int64))
        return (
            np.unique(own[own >= graph.first_topic]).tolist(),
            nodes[nodes >= graph.first_topic].tolist(),
        )

    def _is_title(self, nodes: Ints) -> bool:
        graph = self._graph
        chunk = int(nodes.min())
        name = int(nodes.max())
        is_mention = chunk < graph.first_entity <= name < graph.first_topic
        return len(nodes) == 2 and is_mention and graph.first_entity + graph.title_of[chunk] == name

    def _found_graph(self, passages: Ints) -> tuple[Ints, Adjacency]:
        """Return the nodes of the small graph around the candidates, and the arcs among them."""
        graph = self._graph
        chunks = np.union1d(self._ranked, passages)
        counts, targets, weights = PathArcs(graph).of(chunks)
        source = np.repeat(chunks, counts)
        seen, times = np.unique(targets, return_counts=True)
        named = graph.first_entity + self._named
        titles = graph.first_entity + graph.title_of[chunks]
        joins = (times > 1) | np.isin(seen, named) | np.isin(seen, titles)
        joins |= seen >= graph.first_topic
        joins &= (seen >= graph.first_entity) & ~graph.barred[seen]
        others = np.union1d(np.union1d(seen[joins], named), self._related_to(named))
        counts, stated, weight = PathArcs(graph).of(others)
        # Skip their arcs to passages: they are known from the other side, and can be hundreds.
        among = np.flatnonzero(stated >= graph.first_entity)
        nodes = np.concatenate([chunks, others])  # sorted: all chunks come before other nodes
        first = np.concatenate([source, np.repeat(others, counts)[among]])
        second = np.concatenate([targets, stated[among]])
        weight = np.concatenate([weights, weight[among]])
        ends = np.searchsorted(nodes, first), np.searchsorted(nodes, second)
        inside = np.flatnonzero(
            (first < second) & is_at(nodes, ends[0], first) & is_at(nodes, ends[1], second)
        )
        one = ends[0][inside]
        two = ends[1][inside]
        _, once = np.unique(one * len(nodes) + two, return_index=True)
        return nodes, Adjacency.undirected(len(nodes), one[once], two[once], weight[inside][once])

    def _related_to(self, named: Ints) -> Ints:
        """Return the strongest RELATED_AT_MOST entities and topics next to these entities."""
        graph = self._graph
        _, targets, weights = graph.adjacency.of(named)
        stated = (targets >= graph.first_entity) & ~graph.barred[targets]
        targets = targets[stated]
        weights = weights[stated]
        return np.unique(targets[np.lexsort((targets, -weights))][:RELATED_AT_MOST])

    def _sources(self, passages: Ints) -> list[int]:
        """Return where paths start: names in the question, rarest first, or the best passage."""
        graph = self._graph
        named = self._named
        rarest = named[np.lexsort((named, graph.frequency[named]))][:SOURCES_AT_MOST]
        return [int(graph.first_entity + name) for name in rarest] or [int(passages[0])]
