"""Pathways: the paths that join the question with the passages that were found.

Paths are sought in the small graph of what was found: the candidates that were ranked, the
names they share or the question says, their topics, and what is stated between these. There
the flow of PathRAG tells which paths carry the most; no further document has to be read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hades.domain.answer import Path
from hades.domain.graph import Reason
from hades.graph.adjacency import Adjacency
from hades.graph.arrays import Ints
from hades.graph.flow import FlowPath, best_paths
from hades.index.graph_view import is_at
from hades.recall.find.retrieve import Retrieved
from hades.recall.paths.path_text import PathArcs, PathWriter
from hades.recall.plan import ARCS_A_HOP
from hades.recall.run import Run, Stage

RELATED_AT_MOST = 12
"""Facts told of what the question names that may become paths, strongest first."""
SOURCES_AT_MOST = 8
"""Names of the question that paths start from, rarest first."""
FOUND_NODES = 200
"""Of the small graph at most so many nodes are flown through."""


class Pathways:
    """Paths from the question to the passages chosen for it."""

    def __init__(self, run: Run, stage: Stage, retrieved: Retrieved) -> None:
        self._run = run
        self._stage = stage
        self._retrieved = retrieved
        self._graph = retrieved.query.graph

    def to(self, passages: Sequence[int]) -> list[Path]:
        """The best paths to passages, best first."""
        plan = self._run.plan
        chosen = np.array(passages, np.int64)
        nodes, adjacency = found_graph(self._retrieved, chosen)
        local = {int(node): at for at, node in enumerate(nodes)}
        named = sources_of(self._retrieved, chosen)
        asked, topics = self._topics(nodes, passages, named)
        pairs = [(one, other) for one in named for other in passages]
        pairs += [(one, other) for one in asked for other in topics]
        if len(self._retrieved.signals.named):
            told = related_to(self._retrieved, np.array(named, np.int64)).tolist()
            pairs += [(one, other) for one in named for other in told if other in local]
        found = best_paths(
            adjacency,
            [(local[one], local[other]) for one, other in pairs if one != other],
            keep=plan.paths * 2,
            alpha=plan.graph.decay_rate,
            theta=plan.graph.pruning_threshold,
            nodes=FOUND_NODES,
            longest=1 + plan.graph.hops * ARCS_A_HOP,
            deadline=self._stage.is_over,
        )
        for trim in found.trims:
            if trim.reason == Reason.TIMEOUT:
                self._stage.stop(Reason.TIMEOUT, f"without {trim.count} {trim.what}")
        kept = self._differing(found.paths, nodes, plan.paths)
        self._stage.found, self._stage.cut = len(kept), len(found.paths) - len(kept)
        says = {int(self._graph.first_entity + one) for one in self._retrieved.signals.named}
        writer = PathWriter(self._retrieved.query, {*says, *(asked if says else ())})
        # An edge to the only neighbour has the most: 1 + α.
        most = 1 + plan.graph.decay_rate
        return [writer.path(nodes[list(o.nodes)].tolist(), o.reliability / most) for o in kept]

    def _differing(self, paths: Sequence[FlowPath], nodes: Ints, limit: int) -> list[FlowPath]:
        """One path to a passage from a source, without those that add nothing to another:
        a part of it, or what it states with titles and passages around."""

        def stated(path: FlowPath) -> bool:
            return int(nodes[list(path.nodes)].min()) >= self._graph.first_topic

        kept: list[FlowPath] = []
        # That a name titles its passage is worth a line only where there is nothing else.
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
        """The topics the question asks about, and all found of which something is stated."""
        graph = self._graph
        asked = [one for one in passages if graph.first_entity + graph.title_of[one] in named]
        _, own, _ = graph.adjacency.of(np.array(asked or passages[:1], np.int64))
        return (
            np.unique(own[own >= graph.first_topic]).tolist(),
            nodes[nodes >= graph.first_topic].tolist(),
        )

    def _is_title(self, nodes: Ints) -> bool:
        graph, chunk, name = self._graph, int(nodes.min()), int(nodes.max())
        is_mention = chunk < graph.first_entity <= name < graph.first_topic
        return len(nodes) == 2 and is_mention and graph.first_entity + graph.title_of[chunk] == name


def found_graph(retrieved: Retrieved, passages: Ints) -> tuple[Ints, Adjacency]:
    """The graph of what was found: its nodes, and their arcs among each other."""
    graph = retrieved.query.graph
    chunks = np.union1d(retrieved.numbers, passages)
    counts, targets, weights = PathArcs(graph).of(chunks)
    source = np.repeat(chunks, counts)
    seen, times = np.unique(targets, return_counts=True)
    named = graph.first_entity + retrieved.signals.named
    titles = graph.first_entity + graph.title_of[chunks]
    joins = (times > 1) | np.isin(seen, named) | np.isin(seen, titles)
    joins |= seen >= graph.first_topic
    joins &= (seen >= graph.first_entity) & ~graph.barred[seen]
    others = np.union1d(np.union1d(seen[joins], named), related_to(retrieved, named))
    counts, stated, weight = PathArcs(graph).of(others)
    # Their arcs to passages are known from the other side, and a frequent name has hundreds.
    among = np.flatnonzero(stated >= graph.first_entity)
    nodes = np.concatenate([chunks, others])  # all chunks stand before all others
    first = np.concatenate([source, np.repeat(others, counts)[among]])
    second = np.concatenate([targets, stated[among]])
    weight = np.concatenate([weights, weight[among]])
    ends = np.searchsorted(nodes, first), np.searchsorted(nodes, second)
    inside = np.flatnonzero(
        (first < second) & is_at(nodes, ends[0], first) & is_at(nodes, ends[1], second)
    )
    one, two = ends[0][inside], ends[1][inside]
    _, once = np.unique(one * len(nodes) + two, return_index=True)
    return nodes, Adjacency.undirected(len(nodes), one[once], two[once], weight[inside][once])


def related_to(retrieved: Retrieved, named: Ints) -> Ints:
    """What is stated of the names in the question: entities and topics next to them."""
    graph = retrieved.query.graph
    _, targets, weights = graph.adjacency.of(named)
    stated = (targets >= graph.first_entity) & ~graph.barred[targets]
    targets, weights = targets[stated], weights[stated]
    return np.unique(targets[np.lexsort((targets, -weights))][:RELATED_AT_MOST])


def sources_of(retrieved: Retrieved, passages: Ints) -> list[int]:
    """Where paths start: the names of the question, rarest first, else the best passage."""
    graph, named = retrieved.query.graph, retrieved.signals.named
    rarest = named[np.lexsort((named, graph.frequency[named]))][:SOURCES_AT_MOST]
    return [int(graph.first_entity + one) for one in rarest] or [int(passages[0])]
