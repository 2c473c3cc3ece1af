"""Pathways: how what was found hangs together, and how it hangs on the question.

Paths are sought in the small graph of what was found: the candidates that were ranked, the
names they share or the question says, their topics, and what is stated between these. There
the flow of PathRAG tells which paths carry the most; no further document has to be read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hades.domain.answer import Path
from hades.domain.graph import Reason
from hades.graph.adjacency import Adjacency
from hades.graph.flow import FlowPath, best_paths, flow
from hades.index.graph_view import is_at
from hades.recall.path_text import Teller
from hades.recall.retrieve import Retrieved
from hades.recall.run import Run, Stage

Ints = npt.NDArray[np.int64]

RELATED_AT_MOST = 12
"""Facts told of what the question names that may become paths, strongest first."""
SOURCES_AT_MOST = 8
"""Names of the question that paths start from, rarest first."""
ARCS_A_HOP = 2
"""From passage to passage by way of a name."""
FOUND_NODES = 200
"""Of the small graph at most so many nodes are flown through."""
FLOW_LEAST = 0.005
"""What a node must give each neighbour to pass anything on; a passage has some 20 names,
so the paper's .05, meant for graphs of a few neighbours a node, would end at the first."""


def flowing(look: Retrieved) -> npt.NDArray[np.float64]:
    """By chunk number: what flows to it from the names of the question, or the best passage."""
    held = np.zeros(len(look.signals.mask))
    if not len(look.numbers):
        return held
    nodes, graph = found_graph(look, look.numbers)
    for source in sources_of(look, look.numbers):
        at = int(np.searchsorted(nodes, source))
        if at < len(nodes) and nodes[at] == source:
            reached = flow(graph, at, theta=FLOW_LEAST, nodes=FOUND_NODES).holds
            for node, amount in reached.items():
                if nodes[node] < len(held):
                    held[nodes[node]] += amount
    return held


class Pathways:
    """Paths from the question to the passages chosen for it."""

    def __init__(self, run: Run, stage: Stage, look: Retrieved) -> None:
        self._run = run
        self._stage = stage
        self._look = look
        self._web = look.scene.web

    def to(self, passages: Sequence[int]) -> list[Path]:
        """The best paths to passages, best first."""
        plan = self._run.plan
        chosen = np.array(passages, np.int64)
        nodes, graph = found_graph(self._look, chosen)
        local = {int(node): at for at, node in enumerate(nodes)}
        named = sources_of(self._look, chosen)
        asked, topics = self._topics(nodes, passages, named)
        pairs = [(one, other) for one in named for other in passages]
        pairs += [(one, other) for one in asked for other in topics]
        if len(self._look.signals.named):
            told = related_to(self._look, np.array(named, np.int64)).tolist()
            pairs += [(one, other) for one in named for other in told if other in local]
        found = best_paths(
            graph,
            [(local[one], local[other]) for one, other in pairs if one != other],
            keep=plan.paths * 2,
            score=plan.graph.score,
            theta=FLOW_LEAST,
            nodes=FOUND_NODES,
            longest=plan.graph.hops * ARCS_A_HOP,
            deadline=self._stage.is_over,
        )
        for trim in found.trims:
            if trim.reason == Reason.TIMEOUT:
                self._stage.stop(Reason.TIMEOUT, str(trim))
        kept = self._differing(found.paths, nodes, plan.paths)
        self._stage.found, self._stage.cut = len(kept), len(found.paths) - len(kept)
        says = {int(self._web.first_entity + one) for one in self._look.signals.named}
        teller = Teller(self._look.scene, {*says, *(asked if says else ())})
        return [teller.path([int(nodes[n]) for n in one.nodes], one.reliability) for one in kept]

    def _differing(self, paths: Sequence[FlowPath], nodes: Ints, limit: int) -> list[FlowPath]:
        """One path to a passage from a source, without those that add nothing to another:
        a part of it, or what it states with titles and passages around."""

        def stated(path: FlowPath) -> bool:
            return int(nodes[list(path.nodes)].min()) >= self._web.first_topic

        kept: list[FlowPath] = []
        # That a name titles its passage is worth a line only where there is nothing else.
        telling = [path for path in paths if not self._is_title(nodes[list(path.nodes)])]
        for path in telling or paths:
            inside = any(set(path.nodes) <= set(other.nodes) for other in kept)
            around = any(set(other.nodes) <= set(path.nodes) for other in kept if stated(other))
            if not inside and not around and len(kept) < limit:
                kept.append(path)
        return kept

    def _topics(
        self, nodes: Ints, passages: Sequence[int], named: Sequence[int]
    ) -> tuple[list[int], list[int]]:
        """The topics the question asks about, and all found of which something is stated."""
        web = self._web
        asked = [one for one in passages if web.first_entity + web.title_of[one] in named]
        _, own, _ = web.graph.of(np.array(asked or passages[:1], np.int64))
        return (
            np.unique(own[own >= web.first_topic]).tolist(),
            nodes[nodes >= web.first_topic].tolist(),
        )

    def _is_title(self, nodes: Ints) -> bool:
        web, chunk, name = self._web, int(nodes.min()), int(nodes.max())
        is_mention = chunk < web.first_entity <= name < web.first_topic
        return len(nodes) == 2 and is_mention and web.first_entity + web.title_of[chunk] == name


def found_graph(look: Retrieved, passages: Ints) -> tuple[Ints, Adjacency]:
    """The graph of what was found: its nodes, and their arcs among each other."""
    web = look.scene.web
    chunks = np.union1d(look.numbers, passages)
    counts, targets, weights = web.graph.of(chunks)
    source = np.repeat(chunks, counts)
    seen, times = np.unique(targets, return_counts=True)
    named = web.first_entity + look.signals.named
    titles = web.first_entity + web.title_of[chunks]
    joins = (times > 1) | np.isin(seen, named) | np.isin(seen, titles)
    joins |= seen >= web.first_topic
    joins &= (seen >= web.first_entity) & ~web.barred[seen]
    others = np.union1d(np.union1d(seen[joins], named), related_to(look, named))
    counts, stated, weight = web.graph.of(others)
    # Their arcs to passages are known from the other side, and a frequent name has hundreds.
    among = np.flatnonzero(stated >= web.first_entity)
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


def related_to(look: Retrieved, named: Ints) -> Ints:
    """What is stated of the names in the question: entities and topics next to them."""
    web = look.scene.web
    _, targets, weights = web.graph.of(named)
    stated = (targets >= web.first_entity) & ~web.barred[targets]
    targets, weights = targets[stated], weights[stated]
    return np.unique(targets[np.lexsort((targets, -weights))][:RELATED_AT_MOST])


def sources_of(look: Retrieved, passages: Ints) -> list[int]:
    """Where paths start: the names of the question, rarest first, else the best passage."""
    web, named = look.scene.web, look.signals.named
    rarest = named[np.lexsort((named, web.frequency[named]))][:SOURCES_AT_MOST]
    return [int(web.first_entity + one) for one in rarest] or [int(passages[0])]
