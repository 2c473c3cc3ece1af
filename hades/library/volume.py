"""A volume: one memory of a library, as the process that holds it sees it.

It answers with values that can be sent between processes: candidates for a question, the rows
around them, a sketch, or the result of an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from hades.domain.graph import NodeKind
from hades.domain.times import FOREVER, AsOf
from hades.errors import NotFound, Unavailable
from hades.graph.arrays import Floats, Floats32, Ints
from hades.ingest.summary import Summary
from hades.language.names import name_key
from hades.library.catalogue import Share
from hades.library.sketch import Sketch, centroids_of, hashes
from hades.memory import Memory, View
from hades.operations import sources
from hades.operations.briefs import brief as brief_of
from hades.operations.declare import OPERATIONS
from hades.operations.indexing import catch_up
from hades.operations.inside import Inside
from hades.recall.answer.fact_search import held_facts, nearest_facts
from hades.recall.find.results import Retrieved
from hades.recall.find.scores import best
from hades.recall.find.seeds import Encoding
from hades.recall.plan import UNHURRIED, make_plan
from hades.recall.query_context import QueryContext
from hades.recall.question.reading import read_question
from hades.recall.run import Run
from hades.recall.warming import load_kernels
from hades.store.around import Rows, rows_around
from hades.store.records import Problem

Open = Callable[..., Memory]
"""`hades.open`."""

FINDING, _ = make_plan(
    UNHURRIED,
    {
        "retriever": {"read_on": 0},
        "graph": {"beam_search": False},
        "budget": {"docs_max": 10_000},
    },
)
"""The plan of a volume. Reading on and the beam are left to the library, which has the results of
all volumes."""
STRONGEST = 5
"""The passages whose text, vector and names are sent, so that the library can read on."""
NAMES_AT_MOST = 30
"""The most names of the strongest passages, rarest first."""
SKETCHED_AFTER = 0.05
SMALL_CHUNKS = 5_000
"""A sketch is made again when this share of the changes is new; in a volume with few passages,
after every change."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The space and the times of a call."""

    space: str
    as_of: AsOf
    actor: str = ""


@dataclass(frozen=True, slots=True)
class Sought:
    """A question, as each volume gets it."""

    moment: Moment
    text: str
    filters: Mapping[str, Any]
    """The arguments of a scope."""
    vector: Floats32 | None
    frequency: Mapping[str, int]
    """For each stem of the question, the passages of the library that have it."""
    size: int
    """The number of passages of the library."""
    most: int
    """The most candidates that each signal sends."""


@dataclass(frozen=True, slots=True)
class Strong:
    """A strong candidate: what the library needs to read on from it."""

    score: float
    heading: str
    text: str
    vector: Floats32


@dataclass(frozen=True, slots=True)
class VolumeCandidates:
    """The candidates of a volume. The arrays have an entry for each."""

    chunks: Ints
    cosine: Floats
    words: Floats
    strong: tuple[Strong, ...] = ()
    names: tuple[str, ...] = ()
    """The keys of rare names in the strongest candidates."""
    nodes: tuple[int, ...] = ()
    """The entities that the question names, and the ends of the facts nearest to it."""
    change: int = 0
    """The change of the volume at which they were found."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows that the library wants of a volume."""

    moment: Moment
    sought: Sought | None = None
    """The question, if there is one."""
    chunks: Sequence[int] = ()
    nodes: Sequence[int] = ()
    vectors: Sequence[Floats32] = ()
    """Passages nearest to each of these vectors are sent, too."""
    keys: Sequence[str] = ()
    """Passages about these names are sent, too."""
    most: int = 0
    """The most passages by a vector, or by names."""
    names: Sequence[str] = ()
    """Everything about these topics or entities, which the caller named, is sent, too."""
    brief_of: tuple[str | None] | None = None
    """Also send the topics that a brief cites: of this topic, or of the space if it is None."""


@dataclass(frozen=True, slots=True)
class SentRows:
    """Rows of a volume, with what its indexes know about the passages in them."""

    rows: Rows
    terms: Sequence[tuple[int, bytes]] = ()
    """The hashed stems of passages."""
    words: Sequence[tuple[int, float]] = ()
    """The BM25 of passages for the question."""
    mentions: Sequence[tuple[int, int]] = ()
    """The number of passages of the volume that mention each entity."""


class Volume:
    """An open volume. Several threads may call it."""

    def __init__(self, opened: Open, place: str, options: Mapping[str, Any]) -> None:
        try:
            self._memory = opened(place, create=False, **options)
        except NotFound as error:
            raise Unavailable(f"There is no memory at {place}: bring it back.") from error

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()

    def revision(self) -> tuple[str, int]:
        """Return the generation and the number of the last change."""
        return self._memory.inside.store.changefeed.revision()

    def do(self, operation: str, moment: Moment, args: Sequence[Any], named: Any) -> Any:
        """Do an operation of the memory and return its result."""
        view = self._view(moment, make=OPERATIONS[operation].writes)
        return OPERATIONS[operation].of(view, *args, **named)

    def check(self) -> list[Problem]:
        """Check the memory."""
        return self._memory.check()

    def topics(self, moment: Moment) -> Sequence[str]:
        """Return the names of all topics of a space, even of those that are forgotten."""
        with self._viewed(moment) as inside:
            return [] if inside is None else inside.store.topics.with_versions(inside.space_id)

    def ingest(self, moment: Moment, args: Sequence[Any], named: Any, takes: Share) -> Summary:
        """Ingest those documents of a source that belong to this volume."""
        inside = replace(self._view(moment, make=True).inside, takes=takes)
        return sources.ingest(inside, *args, **named)

    def create_space(self, name: str) -> None:
        """Create a space, unless there is one."""
        if name not in {space.name for space in self._memory.spaces()}:
            self._memory.create_space(name)

    def drop_space(self, name: str) -> None:
        """Erase a space with everything in it."""
        if name in {space.name for space in self._memory.spaces()}:
            self._memory.drop_space(name)

    def ready(self, space: str, known: int) -> Sketch | None:
        """Index what was written and load the indexes of a space.

        Return a new sketch if the one made at the change `known` is too old, else None.
        """
        load_kernels()
        with self._viewed(Moment(space, AsOf())) as inside:
            if inside is None:
                return None
            catch_up(inside, None, degrades=True)
            with inside.query_context() as query:
                behind = inside.store.change() - known
                small = len(query.mask) <= SMALL_CHUNKS
            if behind > SKETCHED_AFTER * inside.store.change() or (behind and small):
                return _sketch(inside)
            return None

    def has(self, moment: Moment, name: str, facts: bool) -> frozenset[str]:
        """Return what has this name: a `topic` with a version or an `entity`; with `facts`, also
        whether somebody told a `fact` about it that holds."""
        found = set[str]()
        with self._viewed(moment) as inside:
            node = None
            if inside is not None:
                node = inside.store.entities.node(inside.space_id, name, inside.as_of)
                stamps = inside.store.topics.stamps(inside.space_id, [name])
                if stamps.get(name, (0, 0))[1]:
                    found.add("topic")
            if node is not None:
                if not NodeKind.TOPIC.has(node):
                    found.add("entity")
                edges = self._view(moment).edges(name, direction="out") if facts else ()
                if any(edge.id > 0 for edge in edges):
                    found.add("fact")
        return frozenset(found)

    def sketch(self, space: str) -> Sketch | None:
        """Return what the volume holds of a space; None if it has no such space."""
        with self._viewed(Moment(space, AsOf())) as inside:
            return None if inside is None else _sketch(inside)

    def find(self, sought: Sought) -> VolumeCandidates | None:
        """Return the candidates for a question; None if the volume has no such space."""
        with self._viewed(sought.moment) as inside:
            if inside is None:
                return None
            catch_up(inside, None, degrades=True)
            change = inside.store.change()
            return replace(_candidates(inside, sought), change=change)

    def rows(self, wanted: Wanted) -> SentRows | None:
        """Return the wanted rows; None if the volume has no such space."""
        with self._viewed(wanted.moment) as inside:
            if inside is None:
                return None
            named = (
                inside.store.entities.node(inside.space_id, name, inside.as_of)
                for name in wanted.names
            )
            nodes = [*wanted.nodes, *(node for node in named if node is not None)]
            if wanted.brief_of is not None:
                nodes += _nodes_of_brief(inside, *wanted.brief_of)
            model = inside.finder.encoder.model
            sought = wanted.sought
            scope = inside.scope(**({} if sought is None else sought.filters))
            text = "" if sought is None else sought.text
            with inside.engine.query_context(scope, None, text, nodes) as query:
                chunks = [*wanted.chunks]
                if sought is not None:
                    query = _weighed(query, sought)
                    chunks += _nearest(query, wanted, sought)
                if wanted.names:
                    chunks += _around(query, nodes)
                chunks = list(dict.fromkeys(chunks))
                rows = rows_around(inside.store, inside.space_id, model, chunks, nodes)
                return SentRows(
                    rows,
                    query.terms.hashed(chunks),
                    _said(query, text, chunks),
                    _mentions_of(query, [row[0] for row in rows["entities"]]),
                )

    @contextmanager
    def _viewed(self, moment: Moment) -> Iterator[Inside | None]:
        """Yield a space as of a moment; None if there is no such space."""
        try:
            inside = self._view(moment).inside
        except NotFound:
            inside = None
        yield inside

    def _view(self, moment: Moment, *, make: bool = False) -> View:
        if make:
            self.create_space(moment.space)
        memory = self._memory.in_space(moment.space, actor=moment.actor or None)
        if moment.as_of.is_now:
            return memory
        return memory.at(valid=moment.as_of.valid, known=moment.as_of.known)


def _candidates(inside: Inside, sought: Sought) -> VolumeCandidates:
    engine = inside.engine
    scope = inside.scope(**sought.filters)
    with engine.query_context(scope, None, sought.text) as whole:
        query = _weighed(whole, sought)
        run = Run(FINDING)
        now = inside.store.now()
        question = read_question(sought.text, now)
        when = engine.time(run, scope, query, question, now)
        encoding = None if sought.vector is None else _encoded(sought.vector)
        found = engine.find(run, query, question, when, encoding)
        numbers = _chosen(found, sought.most)
        strong = found.seeds.top[:STRONGEST]
        return VolumeCandidates(
            chunks=query.graph.chunks[numbers],
            cosine=found.seeds.cosine[numbers],
            words=found.seeds.words[numbers],
            strong=_strong(query, found, strong),
            names=_names_of(query, numbers[:STRONGEST]),
            nodes=_nodes_of(query, found, held_facts(query, when)),
        )


def _encoded(vector: Floats32) -> Encoding:
    """Return a function that returns a known vector without waiting."""
    return lambda _seconds: (vector, "")


def _weighed(query: QueryContext, sought: Sought) -> QueryContext:
    """Return the context with words weighed as in the whole library, if that is known."""
    if not sought.size:
        return query
    words = query.indexes.words.part_of(lambda stem: sought.frequency.get(stem, 0), sought.size)
    indexes = query.indexes.snapshot()
    indexes.words = words
    return replace(query, indexes=indexes)


def _chosen(found: Retrieved, most: int) -> Ints:
    """Return the best passages of each signal: one of each signal in turn, without repeats."""
    seeds = found.seeds
    walks = found.walks
    query = found.search.query
    mask = seeds.mask
    signals = [
        seeds.top[:most],
        best(walks.joined, mask, most),
        best(seeds.cosine, mask, most // 2),
        best(seeds.words, mask, most // 2),
        best(walks.far, mask, most // 2),
        best(seeds.prior, mask & query.notes, most),
    ]
    turns = zip_longest(*(numbers.tolist() for numbers in signals))
    chosen = dict.fromkeys(number for turn in turns for number in turn if number is not None)
    return np.array([*chosen], np.int64)


def _with_own(query: QueryContext, numbers: Ints) -> Ints:
    """Add the turns beside turns of conversations, and the other versions of notes."""
    graph = query.graph
    topic = query.indexes.chunks["topic"]
    spoken = numbers[graph.spoken[numbers]]
    beside = np.concatenate([graph.previous[spoken], graph.next[spoken]])
    noted = numbers[query.notes[numbers]]
    versions = np.flatnonzero(np.isin(topic, topic[noted]) & query.mask)
    return np.unique(np.concatenate([numbers, beside[beside >= 0], versions]))


def _strong(query: QueryContext, found: Retrieved, numbers: Ints) -> tuple[Strong, ...]:
    ids = query.graph.chunks[numbers].tolist()
    texts = query.store.chunks.texts(ids)
    headings = query.store.chunks.headings(ids)
    vectors = query.indexes.vectors_of(numbers)
    return tuple(
        Strong(
            float(found.seeds.prior[number]),
            headings[chunk],
            texts[chunk],
            vector,
        )
        for number, chunk, vector in zip(numbers.tolist(), ids, vectors, strict=True)
        if chunk in texts
    )


def _names_of(query: QueryContext, numbers: Ints) -> tuple[str, ...]:
    """Return the keys of the rarest names that passages mention."""
    graph = query.graph
    _, near, _ = graph.adjacency.of(numbers)
    near = np.unique(near[(near >= graph.first_entity) & (near < graph.first_topic)])
    near = near[~graph.barred[near]] - graph.first_entity
    rarest = near[np.lexsort((near, graph.frequency[near]))][:NAMES_AT_MOST]
    names = query.store.entities.names(graph.entities[rarest].tolist())
    return tuple(dict.fromkeys(map(name_key, names.values())))


def _nodes_of(query: QueryContext, found: Retrieved, held: Ints) -> tuple[int, ...]:
    """Return the entities that the question names, and the ends of the facts nearest to it."""
    nodes = NodeKind.ENTITY.node(query.graph.entities[found.seeds.named]).tolist()
    vector = found.search.vector
    if vector is not None and len(held):
        rows = query.edges
        near = nearest_facts(query, vector, held)
        of_these = np.isin(rows["id"], np.array([*near], np.int64))
        nodes += [*rows["source"][of_these].tolist(), *rows["target"][of_these].tolist()]
    return tuple(dict.fromkeys(nodes))


def _said(query: QueryContext, text: str, chunks: Sequence[int]) -> list[tuple[int, float]]:
    """Return the BM25 of those chunks that have a word of the question."""
    if not text:
        return []
    scores = query.words(text)
    own = np.isin(query.graph.chunks, np.array(chunks, np.int64))
    at = np.flatnonzero(own & (scores > 0))
    return list(zip(query.graph.chunks[at].tolist(), scores[at].tolist(), strict=True))


def _mentions_of(query: QueryContext, entities: Sequence[int]) -> list[tuple[int, int]]:
    graph = query.graph
    own = np.array(entities, np.int64)
    at = graph.numbers(NodeKind.ENTITY.node(own)) - graph.first_entity
    known = at >= 0
    return list(zip(own[known].tolist(), graph.frequency[at[known]].tolist(), strict=True))


def _nearest(query: QueryContext, wanted: Wanted, sought: Sought) -> list[int]:
    """Return the ids of the passages near to vectors and of those about names.

    The passage furthest from the question is included, so that the library scales cosines as a
    single memory does.
    """
    chosen = [np.zeros(0, np.int64)]
    if sought.vector is not None:
        chosen.append(best(1.0 - query.cosine(sought.vector), query.mask, 1))
    for vector in wanted.vectors:
        chosen.append(best(query.cosine(vector, exact=False), query.mask, wanted.most))
    if wanted.keys:
        _, known = query.indexes.moment(query.as_of)
        named = query.store.mentions.named(query.space, list(wanted.keys), known)
        nodes = np.array([NodeKind.ENTITY.node(entity) for _, entity in named], np.int64)
        at = query.graph.numbers(nodes)
        at = np.unique(at[at >= 0])
        at = at[~query.graph.barred[at]]
        titled = np.isin(query.graph.title_of, at - query.graph.first_entity) & query.mask
        _, saying, _ = query.graph.adjacency.of(at)
        said = np.zeros(len(query.mask), np.bool_)
        said[saying[saying < query.graph.first_entity]] = True
        near = np.ones(len(said)) if sought.vector is None else 1 + query.cosine(sought.vector)
        chosen += [best(near, titled, wanted.most), best(near, said & query.mask, wanted.most)]
    numbers = np.unique(np.concatenate(chosen))
    sent = np.flatnonzero(np.isin(query.graph.chunks, np.array(list(wanted.chunks), np.int64)))
    numbers = _with_own(query, np.union1d(numbers, sent))
    return [int(chunk) for chunk in query.graph.chunks[numbers]]


def _around(query: QueryContext, nodes: Sequence[int]) -> list[int]:
    """Return passages that mention nodes, belong to them, or share a name with those."""
    graph = query.graph
    chunks = list[int]()
    at = query.graph.numbers(np.array(nodes, np.int64))
    front = at[at >= 0]
    for _ in range(AROUND_ARCS):
        _, front, _ = graph.adjacency.of(front)
        front = np.unique(front)
        reached = front[front < graph.first_entity]
        chunks += graph.chunks[reached[query.mask[reached]][:AROUND_AT_MOST]].tolist()
        front = front[~graph.barred[front]][: 10 * AROUND_AT_MOST]
    for node in nodes:
        if NodeKind.TOPIC.has(node):
            chunks += query.store.chunks.ever_of(node >> 3)[-AROUND_AT_MOST:]
    return [int(chunk) for chunk in chunks]


AROUND_ARCS = 3
AROUND_AT_MOST = 150
"""How many arcs from a named node passages are sent, and the most at each distance."""


def _nodes_of_brief(inside: Inside, topic: str | None) -> list[int]:
    """Return the topics that a brief cites, and the ends of its facts, as nodes."""
    try:
        brief = brief_of(inside, topic, budget=BRIEF_TOKENS)
    except NotFound:
        return []
    lines = (*brief.decisions, *brief.open_threads, *brief.changes, *brief.ended)
    names = sorted({line.cite.rpartition("@")[0] for line in lines} - {""})
    facts = [int(line.cite.split()[1]) for line in lines if line.cite.startswith("edge ")]
    store = inside.store
    nodes = [store.entities.node(inside.space_id, name, inside.as_of) for name in names]
    for edge in facts:
        for belief in store.edges.beliefs(inside.space_id, edge, inside.as_of):
            for end in (belief.source, belief.target):
                nodes.append(store.entities.node(inside.space_id, end.name, inside.as_of))
    return [node for node in nodes if node is not None]


BRIEF_TOKENS = 4_000


def _sketch(inside: Inside) -> Sketch:
    store = inside.store
    space = inside.space_id
    catch_up(inside, None, degrades=True)
    with inside.query_context() as query:
        change = store.change()
        own = np.flatnonzero(query.indexes.chunks["space"] == space)
        stems, counts = query.terms.counted(query.indexes.chunks["id"][own])
        starts = query.indexes.spans(own, query.as_of)[0]
        vectors = query.indexes.vectors_of(np.intersect1d(own, np.flatnonzero(query.mask)))
        topics, keys = store.mentions.ever_named(space)
        begun = starts[(starts > 0) & (starts < FOREVER)]
        span = [] if not len(begun) else [int(begun.min()), int(begun.max())]
    return Sketch(
        revision=np.array([change, len(own), len(topics)], np.int64),
        span=np.array(span, np.int64),
        names=hashes([*keys, *topics, *map(name_key, topics)]),
        stems=stems,
        counts=counts.astype(np.uint32),
        centroids=centroids_of(vectors),
    )
