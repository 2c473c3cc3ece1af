"""Fact search: the told facts that a question may mean, in words with their time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hades.domain.answer import Fact
from hades.domain.graph import SIMILAR_TO, Edge, NodeKind, Reason
from hades.domain.statement import statement
from hades.graph.arrays import Floats, Floats32, Ints
from hades.index.vectors import product
from hades.index.words import is_said, name_words, stems
from hades.language.english.lexicon import STOP_WORDS
from hades.language.wording import fact_words, plain_fact, spoken
from hades.models.encoder import Encoder
from hades.models.reader import SentenceReader
from hades.recall.answer.standing import believe_ended_less, with_disputes
from hades.recall.find.results import SearchQuery
from hades.recall.find.scores import best
from hades.recall.find.seeds import encoded
from hades.recall.query_context import QueryContext
from hades.recall.question.names import names_in
from hades.recall.question.time_asked import TimeAsked
from hades.recall.rank import belief
from hades.recall.rank.note_candidates import topic_name
from hades.recall.run import Stage

CANDIDATES = 40
"""How many of the facts nearest in meaning have their names compared with the question."""
SAID_AT_MOST = 16
"""The most facts without a vector that one question encodes, chosen by shared words. More of them
hardly add right answers (docs/lab/details.md)."""
NEAR_UNKNOWN = 0.5
"""The similarity assumed for a fact that shares words with the question but cannot be encoded."""
COSINE = 6.2
SAID = 1.7
BOTH = 1.5
RELATION = 0.6
CONSTANT = -5.7
"""Weights of a fact's logit: the cosine, and the shares of words that the question contains of the
name of the better covered end, of the other end's name, and of the relation. Learnt on half of the
questions of `evals/facts`."""
ENDED = 1.5
"""The bonus of a fact that no longer holds, if the question asks for the past."""
CHANCE_AT_LEAST = 0.02
"""A less likely fact is not shown."""
FACTS_READ = 6
READ_WITHIN = 2.0
"""The reader judges at most FACTS_READ facts, with logits at most READ_WITHIN below the best
one's."""
LIKELY = 0.43
READ = 0.69
READ_CONSTANT = 0.7
"""Weights of a fact's logit before reading and of the reader's logit, and a constant. Learnt on
`training/facts` and `evals/facts` (docs/lab/details.md)."""


def find_facts(
    stage: Stage,
    search: SearchQuery,
    encoder: Encoder,
    reader: SentenceReader | None,
    limit: int,
) -> list[Fact]:
    """Return at most `limit` told facts that a question may mean, likeliest first."""
    asked = search.time
    query = search.query
    held = held_facts(query, asked) if limit else np.zeros(0, np.int64)
    if not len(held):
        return []
    # The facts are already narrowed to the time asked about. Its words would match dates in names.
    question = search.question.untimed
    read = _candidates(stage, search, encoder, question, held)
    spread = Counter(word for fact in read for word in set().union(*map(_name, fact.ends)))
    rarity = {word: math.log(1 + len(read) / count) for word, count in spread.items()}
    asked_stems = set(stems(question))
    near = [fact.compared(asked_stems, rarity, asked) for fact in _numbers_apart(read, asked_stems)]
    near = [fact for fact in near if fact.chance >= CHANCE_AT_LEAST]
    near.sort(key=_NearFact.order)
    if reader is not None and near and not stage.is_late("the reader"):
        near = _judged(stage, reader, search.text, near)
    facts = [fact.result for fact in near[:limit]]
    facts = facts if asked.is_past else believe_ended_less(facts)
    if asked.kind is not None or not query.as_of.is_now:
        return facts
    return with_disputes(query.store, query.space, facts)


def _judged(
    stage: Stage, reader: SentenceReader, question: str, facts: Sequence[_NearFact]
) -> list[_NearFact]:
    """Let the reader judge the likeliest facts, if the time allows it; order them anew."""
    first = [fact for fact in facts[:FACTS_READ] if fact.logit >= facts[0].logit - READ_WITHIN]
    texts = [fact.text for fact in first]
    logits = stage.waited(lambda: reader.speaks(question, texts), "without the reader", local=True)
    if logits is None:
        return list(facts)
    judged = [
        replace(fact, logit=READ_CONSTANT + LIKELY * fact.logit + READ * logit)
        for fact, logit in zip(first, logits.tolist(), strict=True)
    ]
    judged.sort(key=_NearFact.order)
    # Rank a fact that was not read below those that were.
    least = judged[-1].logit
    others = [replace(fact, logit=min(fact.logit, least)) for fact in facts[len(first) :]]
    return [*judged, *others]


def _candidates(
    stage: Stage, search: SearchQuery, encoder: Encoder, question: str, held: Ints
) -> list[_NearFact]:
    """Return the facts nearest in meaning, and those that share most names and words with the
    question.

    The search by words covers facts about entities that the question names, and facts without a
    vector. If the question has no vector, it covers all facts.
    """
    query = search.query
    vector = search.vector
    missing = held[~np.isin(held, query.indexes.facts.chunks)]
    if len(missing):  # edges `similar_to` are not told facts and get no vector
        alike = query.edges["relation"] == query.store.edges.relation(SIMILAR_TO)
        held, missing = (np.setdiff1d(ids, query.edges["id"][alike]) for ids in (held, missing))
    if len(missing):
        of = f"{len(missing):,} of {len(held):,} facts"
        stage.note(Reason.NO_EMBEDDINGS, f"{of} have no vector yet")
    named = _named(stage, query, question, held)
    searched = held if vector is None else np.union1d(missing, held[named > 0])
    edges = _sharing_words(stage, query, question, searched, named[np.searchsorted(held, searched)])
    vectors = None
    waiting = {one: edge for one, edge in edges.items() if vector is None or one in missing}
    # The question has no vector if no text or fact has one, or if the encoder failed or was late.
    is_other = search.time.words is not None or question != search.text
    if (waiting or is_other) and (vector is not None or not query.has_vectors):
        told = (fact_words(e.source.name, e.relation, e.target.name) for e in waiting.values())
        late = "facts are compared by their words"
        vectors = encoded(stage, encoder, [question, *told], late)
    near = dict.fromkeys(edges, NEAR_UNKNOWN)
    if vectors is not None:
        vector = vectors[0]
        near |= dict(zip(waiting, product(vectors[1:], vector).tolist(), strict=True))
    if vector is not None:
        nearest = nearest_facts(query, vector, held)
        nearest |= _cosines(query, vector, edges.keys() - nearest.keys())
        edges |= query.store.edges.read(query.space, list(nearest), query.as_of)
        near |= nearest
    return [_NearFact(edge, near[one]) for one, edge in edges.items()]


def held_facts(query: QueryContext, asked: TimeAsked) -> Ints:
    """Return the ids of the facts that belong to the time asked about and pass the topic filter."""
    rows = query.edges
    known = query.indexes.moment(query.as_of)[1]
    held = (rows["space"] == query.space) & (rows["recorded_at"] <= known)
    held &= (rows["retired_at"] > known) & asked.admits(rows["valid_from"], rows["valid_to"])
    if query.topics is not None:
        nodes = _nodes_of(query, set(query.topics))
        held &= np.isin(rows["source"], nodes) | np.isin(rows["target"], nodes)
    return np.unique(rows["id"][held])


def _named(stage: Stage, query: QueryContext, question: str, held: Ints) -> Floats:
    """Return, for each fact of `held`, the rarity of its entities that the question names, or 0.

    An entity is rarer the fewer facts it has, so that a hub does not hide the names it is joined
    to.
    """
    rarity = np.zeros(len(held))
    if "names" not in stage.run.plan.retriever.retrievers or len(held) <= SAID_AT_MOST:
        return rarity
    graph = query.graph
    rows = query.edges
    numbers = names_in(question, graph, query.lookup)
    entities = graph.entities[np.isin(graph.roots, numbers)]
    topics = query.indexes.chunks["topic"][np.flatnonzero(np.isin(graph.title_of, numbers))]
    nodes = np.concatenate([NodeKind.ENTITY.node(entities), NodeKind.TOPIC.node(topics)])
    for end in ("source", "target"):
        own = np.flatnonzero(np.isin(rows[end], nodes))
        own = own[np.isin(rows["id"][own], held)]
        _, which, counts = np.unique(rows[end][own], return_inverse=True, return_counts=True)
        of_end = np.zeros(len(held))
        of_end[np.searchsorted(held, rows["id"][own])] = np.log1p(len(held) / counts[which])
        rarity += of_end
    return rarity


def _sharing_words(
    stage: Stage, query: QueryContext, question: str, facts: Ints, named: Floats
) -> dict[int, Edge]:
    """Map the ids of the facts that share most with the question to edges, best first.

    The score counts the words shared with the question, and the rarity of named entities (`named`).
    """
    if "words" not in stage.run.plan.retriever.retrievers or not len(facts):
        return {}
    has = query.fact_terms.having(facts, query.indexes.words.terms(question))
    rarity = np.log1p(len(facts) / np.maximum(1, has.sum(0)))
    shared = has @ rarity + named
    ids = facts[best(shared, np.ones(len(facts), np.bool_), SAID_AT_MOST)].tolist()
    edges = query.store.edges.read(query.space, ids, query.as_of)
    return {edge: edges[edge] for edge in ids if edge in edges}


def _numbers_apart(read: Sequence[_NearFact], asked_stems: set[str]) -> list[_NearFact]:
    """Drop facts about, say, rack 5 if the question names rack 9, unless it names their other
    end."""
    ends = [[topic_name(name) for name in fact.ends] for fact in read]
    named = {
        end.shape for of_fact in ends for end in of_fact if end.is_named_by_number(asked_stems)
    }
    return [
        fact
        for fact, of_fact in zip(read, ends, strict=True)
        if any(end.is_named_by_number(asked_stems) for end in of_fact)
        or named.isdisjoint(end.shape for end in of_fact)
    ]


def nearest_facts(query: QueryContext, vector: Floats32, held: Ints) -> dict[int, float]:
    """Map the ids of the facts nearest in meaning, among the ids `held`, to their cosine."""
    rows = query.edges
    facts = query.indexes.facts
    all_ids = np.unique(facts.chunks)
    mask, own = (np.isin(all_ids, ids) for ids in (held, rows["id"][rows["space"] == query.space]))
    at = np.searchsorted(all_ids, facts.chunks)
    numbers, near = facts.nearest(vector, at, mask, own, CANDIDATES)
    return dict(zip(all_ids[numbers].tolist(), near.tolist(), strict=True))


def _cosines(query: QueryContext, vector: Floats32, ids: Iterable[int]) -> dict[int, float]:
    """Map the ids of facts to their cosine, without those that have no vector."""
    facts = query.indexes.facts
    rows = np.flatnonzero(np.isin(facts.chunks, [*ids]))
    near = product(facts.full(rows), vector)
    return dict(zip(facts.chunks[rows].tolist(), near.tolist(), strict=True))


def _nodes_of(query: QueryContext, topics: set[int]) -> list[int]:
    """Return the nodes at which edges of these topics may end: the topics and their subjects."""
    subjects = query.store.changefeed.since("subjects", 0)
    return [
        *(NodeKind.TOPIC.node(topic) for topic in topics),
        *(NodeKind.ENTITY.node(entity) for topic, entity in subjects if topic in topics),
    ]


@dataclass(frozen=True, slots=True)
class _NearFact:
    """A fact and its similarity to the question."""

    edge: Edge
    near: float
    logit: float = 0.0
    """The logit of the probability that the question means this fact."""

    @property
    def ends(self) -> tuple[str, str]:
        return self.edge.source.name, self.edge.target.name

    @property
    def chance(self) -> float:
        return 1 / (1 + math.exp(-self.logit))

    def order(self) -> tuple[float, int]:
        """Return the key that sorts facts, likeliest first."""
        return -self.logit, self.edge.id

    @property
    def text(self) -> str:
        """The fact as the reader reads it: a sentence after the name of its topic."""
        source, target = self.ends
        return f"{spoken(source)}. {plain_fact(source, self.edge.relation, target)}"

    @property
    def result(self) -> Fact:
        sure = belief.interval(belief.of_probability(self.chance * self.edge.belief.mean))
        return Fact(self.edge, statement(self.edge), round(self.chance, 6), sure)

    def compared(
        self, asked_stems: set[str], rarity: dict[str, float], asked: TimeAsked
    ) -> _NearFact:
        """Return the fact with its logit before it is read."""
        source, target = (_share(_name(end), asked_stems, rarity) for end in self.ends)
        relation = _share(_name(self.edge.relation), asked_stems, {})
        past = (1 if self.edge.valid_to else -1) * ENDED if asked.is_past else 0.0
        logit = CONSTANT + past + COSINE * self.near + RELATION * relation
        logit += SAID * max(source, target) + BOTH * min(source, target)
        return replace(self, logit=logit)


def _name(name: str) -> dict[str, frozenset[str]]:
    return {word: parts for word, parts in name_words(name).items() if word not in STOP_WORDS}


def _share(
    name: dict[str, frozenset[str]], asked_stems: set[str], rarity: dict[str, float]
) -> float:
    """Return the share of a name's words that are in the question, weighted by their rarity."""
    weights = {word: rarity.get(word, 1.0) for word in name}
    covered = sum(
        weights[word] for word, parts in name.items() if is_said(word, parts, asked_stems)
    )
    return covered / (sum(weights.values()) or 1.0)
