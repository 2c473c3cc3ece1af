"""Chains: facts that answer a question in several steps.

"Where does the owner of Halcyon live?" takes two facts: who owns it, and where they live. The first
step may also be a note. What a step names and the question does not is a bridge, and the facts
about a bridge are possible next steps. The hop encoder chooses among them; the encoder and the
reader then judge the steps together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hades.domain.answer import Fact, Passage
from hades.domain.graph import Edge
from hades.domain.statement import statement
from hades.graph.arrays import Ints
from hades.index.vectors import product
from hades.language.names import name_key, plain_fact, spoken
from hades.models.encoder import Encoder
from hades.models.reader import SentenceReader
from hades.recall.answer.fact_search import held_facts, nearest_facts
from hades.recall.find.results import SearchQuery
from hades.recall.find.scores import best
from hades.recall.query_context import QueryContext
from hades.recall.rank import belief

STEPS_AT_MOST = 3
FIRST_FACTS, FIRST_NOTES = 3, 3
"""The facts and the notes, best first, that are tried as first steps."""
READ_AT_MOST = 5
"""The chains that the encoder and the reader judge in each step."""
KEPT = 2
"""The best of them, which are continued."""
FACTS_OF_NOTE = 64
"""The facts that share most words with a note, whose ends are looked for in it."""
NOTE_CHARACTERS, NOTE_TERMS = 600, 40
COSINE, LOGIT, HOP, CONSTANT = 2.05, 0.32, 2.69, -3.09
"""Weights of a chain's logit: the cosine of its steps with the question, the reader's logit, and
the cosine of the last step with the hop encoder's vector. Learnt on 40 questions over facts and
notes of an invented boatyard, and on 50 of `evals/facts` that take one step."""


@dataclass(frozen=True, slots=True)
class _Chain:
    said: str
    """The steps in plain words, as the models read them."""
    told: tuple[str, ...]
    """The steps as they are shown."""
    ids: tuple[str, ...]
    """The passage or edge of each step."""
    nodes: frozenset[int]
    """The bridges: nodes from which the next step may start."""
    edges: tuple[Edge, ...] = ()
    logit: float = -math.inf


def find_chains(
    search: SearchQuery,
    encoder: Encoder,
    hop: Encoder,
    reader: SentenceReader,
    facts: Sequence[Fact],
    notes: Sequence[Passage],
) -> list[Fact]:
    """Return chains of two or three steps that may answer a question, as facts, likeliest first."""
    query, asked = search.query, f" {name_key(search.text)} "
    held = held_facts(query, search.time)
    if not len(held):
        return []
    chains = [
        *_from_facts(query, asked, facts[:FIRST_FACTS]),
        *_from_notes(query, asked, held, notes[:FIRST_NOTES]),
    ]
    found: list[_Chain] = []
    for _ in range(STEPS_AT_MOST - 1):
        chains = _continued(search, encoder, hop, reader, held, chains)
        found += chains
        chains = chains[:KEPT]
    found.sort(key=lambda chain: -chain.logit)
    return [_as_fact(chain) for chain in found]


def _as_fact(chain: _Chain) -> Fact:
    chance, last = 1 / (1 + math.exp(-chain.logit)), chain.edges[-1]
    sure = belief.interval(belief.of_probability(chance * last.belief.mean))
    return Fact(last, " → ".join(chain.told), round(chance, 6), sure, chain.ids[:-1])


def _from_facts(query: QueryContext, asked: str, facts: Sequence[Fact]) -> Iterator[_Chain]:
    rows = query.edges
    for fact in facts:
        edge = fact.edge
        own = rows["id"] == edge.id
        ends = ((edge.source.name, rows["source"][own]), (edge.target.name, rows["target"][own]))
        nodes = {int(node) for name, at in ends if not _is_in(asked, name) for node in at}
        if nodes:
            yield _Chain(_plain(edge), (fact.text,), (edge.cite,), frozenset(nodes), (edge,))


def _from_notes(
    query: QueryContext, asked: str, held: Ints, notes: Sequence[Passage]
) -> Iterator[_Chain]:
    """Yield notes that name an end of a fact, one chain for each such note."""
    rows = query.edges
    for note in notes:
        chunk = note.chunk
        text = " ".join((note.held or chunk.text)[:NOTE_CHARACTERS].split())
        has = query.fact_terms.having(held, query.indexes.words.terms(text)[:NOTE_TERMS])
        rarity = np.log1p(len(held) / np.maximum(1, has.sum(0)))
        ids = held[best(has @ rarity, np.ones(len(held), np.bool_), FACTS_OF_NOTE)].tolist()
        nodes, said = set[int](), f" {name_key(text)} "
        for id_, edge in query.store.edges.read(query.space, ids, query.as_of).items():
            own = rows["id"] == id_
            for name, end in ((edge.source.name, "source"), (edge.target.name, "target")):
                if _is_in(said, name) and not _is_in(asked, name):
                    nodes.update(rows[end][own].tolist())
        if nodes:
            told = f"{chunk.topic}: {text}"
            yield _Chain(f"{spoken(chunk.topic)}. {text}", (told,), (note.id,), frozenset(nodes))


def _continued(
    search: SearchQuery,
    encoder: Encoder,
    hop: Encoder,
    reader: SentenceReader,
    held: Ints,
    chains: Sequence[_Chain],
) -> list[_Chain]:
    """Return the chains with a next fact, the READ_AT_MOST nearest, best first."""
    if not chains:
        return []
    query, question = search.query, search.text
    ways: list[tuple[float, _Chain, int]] = []
    vectors = hop.encode([f"{question} {chain.said}" for chain in chains])
    for chain, vector in zip(chains, vectors, strict=True):
        ids = _touching(query, chain.nodes, held)
        ids = ids[~np.isin(ids, [edge.id for edge in chain.edges])]
        near = nearest_facts(query, vector, ids)
        ways += [(cosine, chain, id_) for id_, cosine in near.items()]
    ways = sorted(ways, key=lambda way: -way[0])[:READ_AT_MOST]
    edges = query.store.edges.read(query.space, [id_ for *_, id_ in ways], query.as_of)
    longer = [
        (cosine, _with(query, chain, edges[id_])) for cosine, chain, id_ in ways if id_ in edges
    ]
    if not longer:
        return []
    texts = [chain.said for _, chain in longer]
    vectors = encoder.encode([question, *texts])
    together = product(vectors[1:], vectors[0]).tolist()
    judged = reader.speaks(question, texts).tolist()
    logits = (
        CONSTANT + COSINE * cosine + LOGIT * logit + HOP * near
        for cosine, logit, (near, _) in zip(together, judged, longer, strict=True)
    )
    done = [replace(chain, logit=logit) for logit, (_, chain) in zip(logits, longer, strict=True)]
    return sorted(done, key=lambda chain: -chain.logit)


def _touching(query: QueryContext, nodes: frozenset[int], held: Ints) -> Ints:
    rows, wanted = query.edges, list(nodes)
    at = np.isin(rows["source"], wanted) | np.isin(rows["target"], wanted)
    return np.intersect1d(rows["id"][at], held)


def _with(query: QueryContext, chain: _Chain, edge: Edge) -> _Chain:
    """Return a chain with one more fact; its bridge is the end that the chain did not have."""
    rows = query.edges
    own = rows["id"] == edge.id
    ends = {int(node) for end in ("source", "target") for node in rows[end][own]}
    return _Chain(
        f"{chain.said}. {_plain(edge)}",
        (*chain.told, statement(edge)),
        (*chain.ids, edge.cite),
        frozenset(ends - chain.nodes),
        (*chain.edges, edge),
    )


def _plain(edge: Edge) -> str:
    return plain_fact(edge.source.name, edge.relation, edge.target.name)


def _is_in(text: str, name: str) -> bool:
    """Return whether a text, as a name key between spaces, contains the last part of a name."""
    return f" {name_key(spoken(name.rsplit('/', 1)[-1]))} " in text
