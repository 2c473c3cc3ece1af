"""Relations: questions that edges answer completely, such as what calls a function.

Such a question has a relation and the name of a thing: a symbol of code (full name or its end), a
file (path or its end), or a paper. If nothing has that name, it is an ordinary question. Each edge
found becomes a fact, and the passages that state the edges come first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hades.domain.answer import Fact, Path
from hades.domain.graph import MENTIONED, Edge, Node, NodeKind, Provenance, Reason
from hades.domain.question import Question
from hades.domain.topics import PlacedChunk
from hades.graph.arrays import Ints
from hades.index.graph_view import is_at
from hades.language.names import name_key, symbol_tail
from hades.language.paper_ids import paper_id
from hades.language.sentences import sentences
from hades.recall.answer.commits import (
    CHANGED_BY,
    OF_COMMITS,
    commit_edges,
    files_called,
    no_commits,
)
from hades.recall.find.finder import Scope
from hades.recall.find.results import Retrieved
from hades.recall.paths.path_text import path_of, step_along
from hades.recall.query_context import QueryContext
from hades.recall.rank import belief
from hades.recall.rank.code_signs import is_log_of_changes, is_test
from hades.recall.rank.ranking import Ranking
from hades.recall.run import Run
from hades.store.derived_edges import spellings
from hades.store.records import Direction, EdgeFilter
from hades.store.store import Store

NAMED_AT_MOST = 50
NAMES_TOLD = 5
"""The most things with the same short name whose edges are read and whom a message lists."""
QUOTED_CHARACTERS = 200
NAMES = "names"
NAMING_WEIGHT = 0.5
"""The relation for code that names a symbol without a known relation: a call on an object of an
unknown class, a function passed as an argument, an exception that is caught."""
NAMING_AT_MOST = 500
"""A name in more passages than this is too common to count."""

_USES = ("calls", "extends", "imports")
_RELATIONS = {"tests": _USES, "uses": _USES}
"""Words for several relations; `tests` keeps only edges in tests."""
IMPLEMENTS = "implements"
_OF_PAPERS = ("cites", IMPLEMENTS)
_INTRODUCES = ("def ", "async def ", "class ", "import ", "from ", "function ", "func ", "fn ")
PlacedEdges = list[tuple[int | None, Edge]]
"""Edges, each with the chunk that states it, or None."""


@dataclass(frozen=True, slots=True)
class RelationAsked:
    """A question for edges: which relations, and to or from which nodes."""

    relations: tuple[str, ...]
    direction: Direction
    tests: bool
    """Whether only edges in tests are wanted."""
    nodes: Mapping[int, str]
    """The nodes that the question names, with full names."""
    edges: PlacedEdges = field(default_factory=list)
    """The edges found, best first."""

    def __str__(self) -> str:
        called = [name for name in self.nodes.values() if "#" not in name]  # #2: defined again
        names = ", ".join(called[:NAMES_TOLD])
        more = f" and {len(called) - NAMES_TOLD} more" if len(called) > NAMES_TOLD else ""
        tests = " in tests" if self.tests else ""
        way = "to" if self.direction == "in" else "from"
        relations = ", ".join(f"`{relation}`" for relation in self.relations)
        return f"{relations} edges{tests} {way} {names}{more}"

    @property
    def command(self) -> str:
        """The `hades edges` command that lists all edges; NAME stands for one of several nodes."""
        if self.relations[0] in OF_COMMITS:
            return f"hades history {next(iter(self.nodes.values()))}"
        stored = [relation for relation in self.relations if relation != NAMES]
        relation = f" --relation {stored[0]}" if len(stored) == 1 else ""
        name = next(iter(self.nodes.values())) if len(self.nodes) == 1 else "NAME"
        return f"hades edges {name}{relation} --direction {self.direction}"


def relation_asked(store: Store, scope: Scope, question: Question) -> RelationAsked | None:
    """Return the relation and the known nodes that a question asks for, or None."""
    for meant in question.relations:
        relation = meant.relation
        names = meant.names
        paper = relation in _OF_PAPERS
        for name in reversed(names) if paper else names:
            if relation in OF_COMMITS:
                nodes = files_called(store, scope, name)
            else:
                nodes = _meant(store, scope, name, names, paper=paper)
            # "the code of X" may be an ordinary question about X
            if nodes and (relation != IMPLEMENTS or _has(store, scope, nodes, relation)):
                relations = _RELATIONS.get(relation, (relation,))
                return RelationAsked(relations, meant.direction, relation == "tests", nodes)
    return None


def _has(store: Store, scope: Scope, nodes: Iterable[int], relation: str) -> bool:
    """Return whether one of the nodes has an edge of a relation."""
    first, *others = nodes
    wanted = EdgeFilter(first, tuple(others), "out", relation, limit=1)
    return any(
        table.find(scope.space, wanted, scope.as_of) for table in (store.edges, store.derived_edges)
    )


def _meant(
    store: Store, scope: Scope, written: str, names: Iterable[str], *, paper: bool
) -> dict[int, str]:
    """Return the nodes that a name may mean, with their full names."""
    space = scope.space
    as_of = scope.as_of
    if paper:
        node = store.entities.node(space, paper_id(written) or written, as_of)
        return {} if node is None else {node: store.entities.describe(node).name}
    matching = store.derived_edges.called(space, written)
    if symbol_tail(written) != written:  # `Route.matches`: prefer the one of exactly that name
        matching = {node: name for node, name in matching.items() if name == written} or matching
    for other in names:  # `send of Client`
        narrowed = {
            node: name for node, name in matching.items() if other != written and other in name
        }
        matching = narrowed or matching
    # The bare name of a method only counts if nothing has a full name.
    full = {node: name for node, name in matching.items() if symbol_tail(name) != name}
    kept = sorted((full or matching).values(), key=lambda name: (is_test(name), name))
    # A package re-exports names of its modules, so two names may mean one node.
    nodes = (store.entities.node(space, name, as_of) for name in kept[:NAMED_AT_MOST])
    known = dict.fromkeys(node for node in nodes if node is not None)
    return {node: one.name for node, one in store.entities.described(known).items()}


def find_related(
    run: Run, retrieved: Retrieved, ranking: Ranking, asked: RelationAsked
) -> tuple[RelationAsked, Ranking]:
    """Return the request with the edges found, and the ranking with their passages first."""
    with run.stage("relation") as stage:
        query = retrieved.search.query
        of_commits = asked.relations[0] in OF_COMMITS
        if of_commits:
            edges = commit_edges(query, asked.relations[0], asked.nodes, retrieved.search.time)
            related = replace(asked, edges=[(None, edge) for edge in edges])
        else:
            related = _find(query, asked)
        stage.found = len(related.edges)
        if not related.edges:
            none = no_commits(query, asked.nodes) if of_commits else f"there are no {asked}"
            stage.note(Reason.NOTHING_NOTED, none)
        return related, _put_first(retrieved, ranking, related)


def _find(query: QueryContext, asked: RelationAsked) -> RelationAsked:
    store = query.store.derived_edges
    nodes = list(asked.nodes)
    way = asked.direction
    files = [node for node in nodes if NodeKind.TOPIC.has(node)]
    relations = asked.relations
    if len(files) == len(nodes) and "calls" in relations:
        relations = ("imports",)  # files are imported; only the symbols in them are called
    # A call on an object of an unknown class has an edge to the bare name only.
    tails = {symbol_tail(name) for name in asked.nodes.values()} if way == "in" else set[str]()
    bare = [
        node
        for tail in tails
        for node, name in store.called(query.space, tail).items()
        if name == tail
    ]
    edges = _edges(query, relations, way, [*nodes, *bare])
    if not edges:
        edges = _edges(query, relations, way, store.symbols_of(files))
    if asked.tests:
        edges = [row for row in edges if is_test(_place(row[1]))]
    if "calls" in relations and way == "in":
        edges += _naming(query, asked, {chunk for chunk, _ in edges})
        relations = (*relations, NAMES)
    edges.sort(key=lambda row: _order(row[1], relations))
    return replace(asked, relations=relations, edges=edges)


def _edges(
    query: QueryContext, relations: Iterable[str], direction: Direction, nodes: Sequence[int]
) -> PlacedEdges:
    """Return the edges of nodes that pass the filters, told ones first."""
    store = query.store
    space = query.space
    as_of = query.as_of
    by_key: dict[tuple[str, ...], tuple[int | None, Edge]] = {}
    for relation in relations if nodes else ():
        wanted = EdgeFilter(nodes[0], tuple(nodes[1:]), direction, relation)
        edges: PlacedEdges = [*store.derived_edges.placed(space, wanted, as_of)]
        if query.topics is None:
            edges = [(None, edge) for edge in store.edges.find(space, wanted, as_of)] + edges
        else:
            shown = query.graph.chunks[_numbers(query, edges)]
            edges = [row for row in edges if row[0] in shown]
        for chunk, edge in edges:
            key = (edge.source.name, relation, edge.target.name, _place(edge))
            by_key.setdefault(key, (chunk, edge))
    return list(by_key.values())


def _place(edge: Edge) -> str:
    """Return the topic that states an edge."""
    where = edge.provenance.chunk if edge.provenance else edge.source.name
    return where.rpartition("@")[0] or where


def _order(edge: Edge, relations: Sequence[str]) -> tuple[bool, bool, bool, int]:
    place = _place(edge)
    tail = symbol_tail(edge.target.name)
    # calls on unknown classes, and prose about something else, come last
    aside = (
        tail.lower() not in place.lower()
        if edge.relation == "documents"
        else edge.relation == NAMES or (edge.relation == "calls" and tail == edge.target.name)
    )
    return is_log_of_changes(place), aside, is_test(place), relations.index(edge.relation)


def _numbers(query: QueryContext, edges: PlacedEdges) -> Ints:
    """Return the numbers of the chunks that state the edges, in order, without hidden chunks."""
    ids = np.array([chunk for chunk, _ in edges if chunk is not None], np.int64)
    at = np.searchsorted(query.graph.chunks, ids)
    at = at[is_at(query.graph.chunks, at, ids)]
    return np.array(list(dict.fromkeys(at[query.mask[at]].tolist())), np.int64)


def _put_first(retrieved: Retrieved, ranking: Ranking, related: RelationAsked) -> Ranking:
    first = _numbers(retrieved.search.query, related.edges)
    sure = np.full(len(first), max((edge.weight for _, edge in related.edges), default=0.0))
    rest = ~np.isin(ranking.numbers, first)
    scores = ranking.scores.max(initial=0.0) + np.arange(len(first), 0, -1)
    return replace(
        ranking,
        numbers=np.concatenate([first, ranking.numbers[rest]]),
        scores=np.concatenate([scores, ranking.scores[rest]]),
        belief=np.concatenate([sure, ranking.belief[rest]]),
        near=np.concatenate([retrieved.seeds.cosine[first], ranking.near[rest]]),
        features=None,
        recency=None,
        are_notes=False,
    )


def _naming(
    query: QueryContext, asked: RelationAsked, known: Collection[int | None]
) -> PlacedEdges:
    """Return an edge `names` for each chunk of code that names a symbol but has no edge to it."""
    by_chunk: dict[int, Edge] = {}
    for node, name in asked.nodes.items():
        naming = query.indexes.words.saying(name_key(symbol_tail(name)))
        if len(naming) > NAMING_AT_MOST or not NodeKind.ENTITY.has(node):
            continue
        sources = query.store.chunks.sources([chunk for chunk in naming if chunk not in known])
        code = [
            chunk
            for chunk, (topic, kind, _) in sources.items()
            if kind == "code" and (is_test(topic) or not asked.tests)
        ]
        target = query.store.entities.describe(node)
        for chunk, placed in query.store.chunks.find(code, query.as_of).items():
            at = _named_at(placed.chunk.text, name)
            if at is not None:
                source = Node(NodeKind.TOPIC.label, placed.chunk.topic)
                where = Provenance(placed.chunk.id, *at)
                times = placed.valid_from, placed.valid_to, placed.recorded_at
                edge = Edge(0, source, NAMES, target, NAMING_WEIGHT, *times, provenance=where)
                by_chunk.setdefault(chunk, edge)
    shown = query.graph.chunks[_numbers(query, list(by_chunk.items()))].tolist()
    return [(chunk, by_chunk[chunk]) for chunk in shown]


def _named_at(text: str, symbol: str) -> tuple[int, int] | None:
    """Return the first span where code uses the name of a symbol without defining or importing
    it."""
    for form in spellings(symbol):
        for match in form.finditer(text):
            line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].lstrip()
            if not line.startswith(_INTRODUCES):
                return match.span()
    return None


def related_paths(related: RelationAsked, limit: int) -> list[Path]:
    """Return the best `limit` edges as paths of one step."""
    return [
        path_of(
            edge.source,
            [step_along(edge, edge.target, forward=True)],
            [edge.belief if edge.id > 0 else MENTIONED],
            edge.weight,
            f"the question asks for {related}",
        )
        for _, edge in related.edges[:limit]
    ]


def related_facts(related: RelationAsked, query: QueryContext, limit: int) -> list[Fact]:
    """Return the best `limit` edges as facts; each text has the file and line of its edge."""
    edges = related.edges[:limit]
    ids = [chunk for chunk, _ in edges if chunk is not None]
    placed = query.store.chunks.find(ids, query.as_of)
    facts = []
    for chunk, edge in edges:
        held = belief.interval(belief.of_probability(edge.weight))
        text = _edge_text(edge, placed.get(chunk) if chunk is not None else None)
        facts.append(Fact(edge, text, round(edge.weight, 6), held))
    return facts


def _edge_text(edge: Edge, placed: PlacedChunk | None) -> str:
    """Return the text of an edge: `a.f calls b.g (a.py:12)`; for prose, the sentence it quotes."""
    if edge.relation == CHANGED_BY:
        return edge.evidence
    words = f"{edge.source} {edge.relation} {edge.target}"
    if placed is None:
        return words
    text = placed.chunk.text
    at = edge.provenance.start if edge.provenance else 0
    where = f"{placed.chunk.topic}:{placed.line + text.count(chr(10), 0, at)}"
    if edge.relation == "contains":
        return f"{edge.target} is defined in {where}"
    if edge.relation == "documents":
        saying = next((part for part in sentences(text) if edge.evidence in part), text)
        if saying.startswith("#"):  # quote the text below a heading, too
            saying = text[text.index(saying) :]
        return f"{' '.join(saying.split())[:QUOTED_CHARACTERS]} ({where})"
    if edge.relation == NAMES:  # the code may mean another symbol of that name
        return f"{where} {NAMES} {symbol_tail(edge.target.name)}"
    if edge.source.kind == "topic":
        return f"{where} {edge.relation} {edge.target}"
    return f"{words} ({where})"
