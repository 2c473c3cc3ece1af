"""Path text: turn a path of node numbers into names, relations and the words that state them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from hades.domain.answer import Path, Step, SubgraphEdge
from hades.domain.graph import CERTAIN, MENTIONED, Belief, Edge, Node, NodeKind, row_of
from hades.domain.hierarchy import are_distant
from hades.domain.topics import Chunk
from hades.domain.weights import initial_weight
from hades.graph.arrays import Floats32, Ints
from hades.index.graph_build import WEIGHT_RELATION
from hades.index.graph_view import GraphView
from hades.recall.query_context import QueryContext
from hades.recall.rank import belief
from hades.store.derived_edges import DOCUMENTS
from hades.store.records import EdgeFilter

SNIPPET_CHARACTERS = 90
MENTION_WEIGHT = 0.5
"""The weight of a step between a text and a name or topic. Any stated relation weighs more (.7 to
.95), so that paths prefer it to a mention."""
_HEADING_MARKS = re.compile(r"^#{1,6}[ \t]+", re.MULTILINE)
_HEADINGS = re.compile(r"^#{1,6}[ \t].*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PathArcs:
    """The arcs of the graph with weights for paths, 0 to 1.

    A stated relation counts fully and a mention half. In the graph itself, whose weights are for
    walks, a relation counts less than a mention.
    """

    graph: GraphView
    hub_demotion: float = 0.0
    """An arc to a node counts 1/(1 + this × its degree) of its weight."""

    def __len__(self) -> int:
        return len(self.graph.adjacency)

    def of(self, nodes: Ints) -> tuple[Ints, Ints, Floats32]:
        """Return the neighbour count of each node, then all neighbours and their weights."""
        graph, (counts, targets, weights) = self.graph, self.graph.adjacency.of(nodes)
        sources = np.repeat(nodes, counts)
        low = np.minimum(sources, targets)
        high = np.maximum(sources, targets)
        told = np.minimum(weights / np.where(high < graph.first_topic, WEIGHT_RELATION, 1.0), 1.0)
        kept = np.where(low < graph.first_entity, weights * MENTION_WEIGHT, told)
        kept = kept / (1 + self.hub_demotion * graph.adjacency.degrees(targets))
        return counts, targets, kept.astype(np.float32)


class PathWriter:
    """A writer of paths for one query; `named` has the numbers of nodes that the question names."""

    def __init__(self, query: QueryContext, named: Collection[int] = ()) -> None:
        self._query = query
        self._graph = query.graph
        self._named = named
        self._anything_told = query.store.edges.there_are(query.space)
        self._weights = query.weights
        self._stated_steps: dict[tuple[int, int], tuple[Step, Belief]] = {}
        self._derived: dict[tuple[int, int], list[Edge]] = {}
        self._chunks: dict[int, Chunk] = {}
        self._names: dict[int, Node] = {}
        self._groups: dict[int, int | None] = {}

    def prepare(self, paths: Sequence[Sequence[int]]) -> None:
        """Read everything that some paths of node numbers need, in few SQL statements."""
        numbers = {number for path in paths for number in path}
        chunks = {int(self._graph.chunks[n]): n for n in numbers if self._is_chunk(n)}
        placed_chunks = self._query.store.chunks.find(list(chunks), self._query.as_of)
        self._chunks |= {chunks[id_]: placed.chunk for id_, placed in placed_chunks.items()}
        others = {self._graph.node(n): n for n in numbers if not self._is_chunk(n)}
        described = self._query.store.entities.described(others)
        self._names |= {others[id_]: node for id_, node in described.items()}
        self._read_derived(pair for path in paths for pair in pairwise(path))

    def path(self, numbers: Sequence[int], reliability: float) -> Path:
        """Return the path along these node numbers, with names, relations and snippets."""
        steps: list[Step] = []
        beliefs: list[Belief] = []
        at = 0
        while at < len(numbers) - 1:
            step, sure, used = self._step(numbers, at)
            distant = are_distant(self._group(numbers[at]), self._group(numbers[at + used]))
            steps.append(replace(step, layer_bridge=True) if distant else step)
            beliefs.append(sure if step.edge > 0 else self._weights.belief(step.relation, sure))
            at += used
        rationale = self._rationale(numbers)
        boost = self._weights.boost(step.relation for step in steps if not step.edge < 0)
        path = path_of(self.node(numbers[0]), steps, beliefs, reliability * boost, rationale)
        learned = {} if boost == 1 else {"boost": boost}
        return replace(path, parts={**path.parts, "nodes": float(len(numbers)), **learned})

    def edges(self, one: int, two: int) -> list[SubgraphEdge]:
        """Return the told edges between two nodes, in both directions, or else one joining step."""
        told: list[Edge] = []
        if not self._is_chunk(one) and not self._is_chunk(two):
            told = self._told_between(one, two)
            known = {edge.id for edge in told}  # a symmetric edge is found in both directions
            told += [edge for edge in self._told_between(two, one) if edge.id not in known]
        if told:
            return [
                SubgraphEdge(
                    edge.source, edge.relation, edge.target, edge.weight, _shortened(edge.evidence)
                )
                for edge in told
            ]
        step = self._step([one, two], 0)[0]
        ends = (self.node(one), step.target)
        source, target = ends if step.forward else ends[::-1]
        return [SubgraphEdge(source, step.relation, target, step.weight, step.snippet, step.chunk)]

    def topic(self, number: int) -> str:
        """Return the topic of a chunk; for another node, its name, which may be a topic."""
        return self._chunk(number).topic if self._is_chunk(number) else self.node(number).name

    def _step(self, numbers: Sequence[int], at: int) -> tuple[Step, Belief, int]:
        """Return the step from node `at` on, its belief and its arcs: 2 across a titled chunk."""
        one = numbers[at]
        two = numbers[at + 1]
        if at + 2 < len(numbers) and self._is_chunk(two) and self._is_entity(numbers[at + 2]):
            three = numbers[at + 2]
            title = self._title(two)
            if one == title or (three == title and self._is_entity(one)):
                named = three if one == title else one
                return self._mention(two, three, named, forward=one == title), MENTIONED, 2
        if self._is_chunk(one) and self._is_entity(two):
            if self._title(one) == two:
                return Step("title of", self.node(two), 1.0, False), CERTAIN, 1
            return self._mention(one, two, two, forward=True), MENTIONED, 1
        if self._is_entity(one) and self._is_chunk(two):
            cited = self._chunk(two).id
            if self._title(two) == one:
                return Step("title of", self.node(two), 1.0, True, "", cited), CERTAIN, 1
            step = self._mention(two, two, one, forward=True)
            if step.relation == DOCUMENTS:
                return replace(step, forward=False), MENTIONED, 1
            return replace(step, relation="mentioned in"), MENTIONED, 1
        if (one, two) not in self._stated_steps:
            self._stated_steps[one, two] = self._stated(one, two)
        return *self._stated_steps[one, two], 1

    def _mention(self, chunk: int, target: int, named: int, *, forward: bool) -> Step:
        """Return the step of a text that names something; prose `documents` code that it names."""
        relation = "mentions"
        weight = MENTION_WEIGHT
        entity = row_of(self._graph.node(named))
        if self._query.store.derived_edges.is_documented(int(self._graph.chunks[chunk]), entity):
            first = initial_weight(DOCUMENTS)
            aged = self._weights.aged(DOCUMENTS, first.value, first.components, 0.0)
            relation = DOCUMENTS
            weight = aged.value
        stating = self._chunk(chunk)
        words = snippet(stating.text, str(self.node(named)))
        return Step(relation, self.node(target), weight, forward, words, stating.id)

    def _stated(self, one: int, two: int) -> tuple[Step, Belief]:
        """Return a step along a told or derived edge, between chunks, or to a chunk's topic."""
        node = self.node(two)
        if self._is_chunk(one) and self._is_chunk(two):
            return Step("next", node, MENTION_WEIGHT, bool(self._graph.next[one] == two)), CERTAIN
        if self._is_chunk(one) or self._is_chunk(two):
            return Step("says", node, MENTION_WEIGHT, self._is_chunk(two)), CERTAIN
        for read in (self._told_between, self._derived_between):
            for source, target in ((one, two), (two, one)):
                if edges := read(source, target):
                    # the strongest edge; of equally strong ones, the older
                    edge = max(edges, key=lambda edge: (edge.weight, -abs(edge.id)))
                    sure = edge.belief if edge.id > 0 else MENTIONED
                    return step_along(edge, node, forward=source == one), sure
        return Step("same as", node, 1.0), MENTIONED

    def _told_between(self, source: int, target: int) -> list[Edge]:
        """Return the told edges from one node to another."""
        if not self._anything_told:
            return []
        ends = self._graph.node(source), self._graph.node(target)
        wanted = EdgeFilter(node=ends[0], direction="out", target=ends[1])
        return self._query.store.edges.find(self._query.space, wanted, self._query.as_of)

    def _derived_between(self, source: int, target: int) -> list[Edge]:
        """Return the derived edges from one node to another."""
        if (source, target) not in self._derived:
            self._read_derived([(source, target)])
        return self._derived[source, target]

    def _read_derived(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Read the derived edges between pairs of nodes, in both directions."""
        node = self._graph.node
        query = self._query
        joined = [pair for pair in pairs if not any(map(self._is_chunk, pair))]
        given = {
            (node(a), node(b)): (a, b) for one, two in joined for a, b in ((one, two), (two, one))
        }
        if given:
            read = query.store.derived_edges.between(query.space, given, query.as_of)
            self._derived |= {given[ends]: edges for ends, edges in read.items()}

    def _rationale(self, numbers: Sequence[int]) -> str:
        first, *others, last = numbers
        between = [str(self.node(n)) for n in others if self._is_entity(n) and n != first]
        named = " is named in the question and" if first in self._named else ""
        way = f" by way of {', '.join(between)}" if between else ""
        return f"{self.node(first)}{named} leads to {self.node(last)}{way}"

    # Nodes

    def _group(self, number: int) -> int | None:
        """Return the cluster of level 2 of a chunk, or that of most chunks next to another node.

        Without a hierarchy, or if none of these chunks is in it, return None.
        """
        arrays = self._query.clusters()
        if arrays is not None and number not in self._groups:
            chunks = np.array([number], np.int64)
            if not self._is_chunk(number):
                _, targets, _ = self._graph.adjacency.of(chunks)
                chunks = targets[targets < self._graph.first_entity]
            groups = arrays.group_of(chunks)
            counts = np.bincount(groups[groups >= 0])
            self._groups[number] = int(counts.argmax()) if len(counts) else None
        return self._groups.get(number)

    def _is_chunk(self, number: int) -> bool:
        return number < self._graph.first_entity

    def _is_entity(self, number: int) -> bool:
        return self._graph.first_entity <= number < self._graph.first_topic

    def _title(self, chunk: int) -> int | None:
        title = int(self._graph.title_of[chunk])
        return None if title < 0 else self._graph.first_entity + title

    def node(self, number: int) -> Node:
        """Return the kind and name of a node number."""
        if number not in self._names:
            if self._is_chunk(number):
                node = Node(NodeKind.CHUNK.label, self._chunk(number).id)
            else:
                node = self._query.store.entities.describe(self._graph.node(number))
            self._names[number] = node
        return self._names[number]

    def _chunk(self, number: int) -> Chunk:
        if number not in self._chunks:
            chunk = int(self._graph.chunks[number])
            placed = self._query.store.chunks.find([chunk], self._query.as_of)
            self._chunks[number] = placed[chunk].chunk
        return self._chunks[number]


def path_of(
    start: Node,
    steps: Sequence[Step],
    beliefs: Sequence[Belief],
    reliability: float,
    rationale: str,
) -> Path:
    """Return a path of steps; the path's belief is the belief that all steps hold."""
    return Path(
        start=start,
        steps=tuple(steps),
        reliability=round(reliability, 6),
        belief=belief.interval(belief.path_belief(beliefs)),
        score=round(reliability, 6),
        parts={"hops": float(len(steps)), "nodes": len(steps) + 1.0},
        rationale=rationale,
    )


def step_along(edge: Edge, target: Node, *, forward: bool) -> Step:
    """Return an edge as a step to `target`, one of its ends; `forward` if along the edge."""
    chunk = edge.provenance.chunk if edge.provenance else ""
    snippet = _shortened(edge.evidence)
    return Step(edge.relation, target, edge.weight, forward, snippet, chunk, edge=edge.id)


def snippet(text: str, name: str) -> str:
    """Return a few words of a text around a name, or its start if the name is not in it."""
    body = _HEADINGS.sub("", text)
    text = body if name.casefold() in body.casefold() else _HEADING_MARKS.sub("", text)
    match = re.search(re.escape(name), text, re.IGNORECASE)
    if match is None:
        first = name.split()[0] if name.split() else name
        match = re.search(rf"\b{re.escape(first)}", text, re.IGNORECASE)
    middle = 0 if match is None else (match.start() + match.end()) // 2
    start = max(0, min(middle - SNIPPET_CHARACTERS // 2, len(text) - SNIPPET_CHARACTERS))
    part = " ".join(text[start : start + SNIPPET_CHARACTERS].split())
    if start:
        part = "…" + part[part.find(" ") + 1 :]
    if start + SNIPPET_CHARACTERS < len(text):
        part = part[: part.rfind(" ")] + "…" if " " in part else part
    return part.replace('"', "'")


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    if len(flat) > SNIPPET_CHARACTERS:
        cut = flat.rfind(" ", 0, SNIPPET_CHARACTERS)
        flat = flat[: cut if cut > 0 else SNIPPET_CHARACTERS] + "…"
    return flat.replace('"', "'")
