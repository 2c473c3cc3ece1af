"""Chains: answers in several steps, over facts and notes.

"Where does the owner of Halcyon live?" takes two facts: who owns it, and where they live. Each step
is a fact or a note. The facts and notes about a name in a step, if the question lacks that name,
are possible next steps. The hop encoder chooses among them; the reader then judges
the steps together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from hades.domain.answer import Fact, Passage
from hades.domain.graph import Edge, Reason
from hades.domain.plain import one_line
from hades.domain.statement import statement
from hades.domain.times import from_micros
from hades.domain.topics import PlacedChunk
from hades.graph.arrays import Floats32, Ints
from hades.language.english.proper_names import NAME_PHRASE, is_name
from hades.language.english.terms import terms_in, unsaid_names
from hades.language.names import name_key
from hades.language.sentences import sentences
from hades.language.wording import plain_fact, spoken
from hades.models.encoder import Encoder
from hades.models.reader import SentenceReader
from hades.recall.answer.fact_search import held_facts, nearest_facts
from hades.recall.answer.passages import placed_passage
from hades.recall.find.results import SearchQuery
from hades.recall.find.scores import best
from hades.recall.rank import belief
from hades.recall.run import Stage

Result = TypeVar("Result")
STEPS_AT_MOST = 3
FIRST_FACTS = 2
FIRST_NOTES = 3
"""The facts and the notes, best first, that are tried as first steps."""
READ_AT_MOST = 6
"""The most chains that the reader judges after each step."""
KEPT = 2
"""The best of them, which are continued."""
NOTES_NEAR = 12
"""How many of the notes nearest to a chain are searched for one of its names."""
FACTS_OF_NOTE = 64
"""The most facts, those that share most words with a note, whose ends are searched for in it."""
NOTE_CHARACTERS = 400
NOTE_TERMS = 40
LEADING_CHARACTERS = 140
"""The most characters of the steps before the last one that the reader reads."""
LOGIT = 0.69
HOP = 2.83
CONSTANT = -1.2
"""Weights of a chain's logit: of the reader's logit, and of the cosine of the last step with the
hop encoder's vector. Learnt, but for the constant, which was chosen by hand
(docs/lab/details.md)."""
LATER = 1.0
"""A chain to an older version of a note must beat the chain to a later version by this logit."""
ENOUGH = 1.0
"""If a chain has at least this logit, chains with more steps are not searched for."""


@dataclass(frozen=True, slots=True)
class _Chain:
    text: str
    """The steps in plain words."""
    step: str
    """The last step in plain words."""
    told: tuple[str, ...]
    """The steps as they are shown."""
    ids: tuple[str, ...]
    """The passage or edge of each step."""
    next_names: frozenset[str]
    """The keys of the names that the last step may lead to."""
    nodes: frozenset[int]
    """The nodes of these names."""
    last: Edge | PlacedChunk | None = None
    logit: float = -math.inf


class Chains:
    """The search for chains of one question."""

    def __init__(
        self,
        stage: Stage,
        search: SearchQuery,
        encoder: Encoder,
        hop: Encoder,
        reader: SentenceReader,
    ) -> None:
        self._stage = stage
        self._search = search
        self._query = search.query
        self._encoder = encoder
        self._hop = hop
        self._reader = reader
        self._asked = f" {name_key(search.text)} "
        self._names = search.question.terms.names
        self._held = held_facts(self._query, search.time)
        self._notes = bool((self._query.mask & self._query.notes).any())

    def find(self, facts: Sequence[Fact], notes: Sequence[Passage]) -> list[Fact | Passage]:
        """Return the chains of two or three steps that may answer, likeliest first.

        Each is given as its last step, a fact or a passage, with the steps before it in `via`. If
        the time of the stage is up, only those judged so far are returned.
        """
        chains = [self._from_fact(fact) for fact in facts[:FIRST_FACTS]]
        chains += [self._from_note(note) for note in notes[:FIRST_NOTES]]
        judged: list[_Chain] = []
        try:
            for _ in range(STEPS_AT_MOST - 1):
                chains = self._continued([chain for chain in chains if chain.next_names])
                judged += chains
                if any(chain.logit >= ENOUGH for chain in chains):
                    break
                chains = chains[:KEPT]
        except TimeoutError:
            self._stage.stop(Reason.TIMEOUT, "without all answers in several steps")
        judged.sort(key=lambda chain: -chain.logit)
        return [self._result(chain) for chain in judged]

    def _waited(self, call: Callable[[], Result]) -> Result:
        """Return the result of a model; raise TimeoutError when the time of the stage is up."""
        waiting = self._stage.run.in_background(call, local=True)
        return waiting(self._stage.seconds_left)

    def _result(self, chain: _Chain) -> Fact | Passage:
        chance = 1 / (1 + math.exp(-chain.logit))
        text = " → ".join(chain.told)
        if isinstance(chain.last, Edge):
            sure = belief.interval(belief.of_probability(chance * chain.last.belief.mean))
            return Fact(chain.last, text, round(chance, 6), sure, chain.ids[:-1])
        assert chain.last is not None
        now = from_micros(self._query.valid)
        passage = placed_passage(chain.last, "chain", chance, now)
        return replace(passage, via=chain.ids[:-1], chained=text)

    def _from_fact(self, fact: Fact) -> _Chain:
        return self._with_edge(_Chain("", "", (), (), frozenset(), frozenset()), fact.edge)

    def _from_note(self, note: Passage) -> _Chain:
        text = _short(note.held or note.chunk.text)
        return self._with_text(note.chunk.topic, text, note.id)

    def _with_text(self, topic: str, text: str, id_: str, before: _Chain | None = None) -> _Chain:
        before_text, told, ids = (before.text, before.told, before.ids) if before else ("", (), ())
        key = f" {name_key(text)} "
        phrases = {name_key(match.group(0)) for match in NAME_PHRASE.finditer(text)}
        nodes, ends = self._nodes_in(text, key)
        names = {*filter(is_name, phrases), *ends}
        keys = {name for name in names if f" {name} " not in self._asked}
        step = f"{spoken(topic)}. {text}"
        return _Chain(
            f"{before_text}. {step}".removeprefix(". "),
            step,
            (*told, f"{one_line(topic)}: {text}"),
            (*ids, id_),
            frozenset(keys),
            nodes,
        )

    def _with_edge(self, chain: _Chain, edge: Edge) -> _Chain:
        """Return a chain with one more fact; the end of the fact that is new leads on."""
        rows = self._query.edges
        own = rows["id"] == edge.id
        keys = set[str]()
        nodes = set[int]()
        for name, end in ((edge.source.name, "source"), (edge.target.name, "target")):
            key = _leaf(name)
            at = rows[end][own].tolist()
            if f" {key} " not in self._asked and not chain.nodes.intersection(at):
                keys.add(key)
                nodes.update(at)
        step = plain_fact(edge.source.name, edge.relation, edge.target.name)
        return _Chain(
            f"{chain.text}. {step}".removeprefix(". "),
            step,
            (*chain.told, statement(edge)),
            (*chain.ids, edge.cite),
            frozenset(keys),
            frozenset(nodes),
            edge,
        )

    def _nodes_in(self, text: str, key: str) -> tuple[frozenset[int], set[str]]:
        """Return the nodes with facts whose names are in a text, and the keys of these names."""
        query = self._query
        held = self._held
        rows = self._query.edges
        nodes = set[int]()
        keys = set[str]()
        if not len(held):
            return frozenset(), keys
        has = query.fact_terms.having(held, query.indexes.words.terms(text)[:NOTE_TERMS])
        rarity = np.log1p(len(held) / np.maximum(1, has.sum(0)))
        ids = held[best(has @ rarity, np.ones(len(held), np.bool_), FACTS_OF_NOTE)].tolist()
        for id_, edge in query.store.edges.read(query.space, ids, query.as_of).items():
            for name, end in ((edge.source.name, "source"), (edge.target.name, "target")):
                leaf = _leaf(name)
                if f" {leaf} " in key and f" {leaf} " not in self._asked:
                    nodes.update(rows[end][rows["id"] == id_].tolist())
                    keys.add(leaf)
        return frozenset(nodes), keys

    def _continued(self, chains: Sequence[_Chain]) -> list[_Chain]:
        """Return chains with one more step, the READ_AT_MOST nearest, best first."""
        if not chains:
            return []
        question = self._search.text
        ways = list[tuple[float, str, _Chain]]()
        read = [f"{question} {chain.text}" for chain in chains]
        vectors = self._waited(lambda: self._hop.encode(read))
        for chain, vector in zip(chains, vectors, strict=True):
            missing = unsaid_names(self._names, [terms_in(chain.text)])
            for near, longer in (
                *self._next_facts(chain, vector),
                *self._next_notes(chain, vector),
            ):
                if unsaid_names(missing, [terms_in(longer.step)]) == missing:
                    text = f"{_leading(chain, longer.step)}. {longer.step}"
                    ways.append((near, text, longer))
                # Else the step adds a name of the question: chains start at those.
        ways = sorted(ways, key=lambda way: -way[0])[:READ_AT_MOST]
        texts = [text for _, text, _ in ways]
        judged = self._waited(lambda: self._reader.speaks(question, texts)).tolist()
        done = [
            replace(chain, logit=CONSTANT + LOGIT * logit + HOP * near)
            for logit, (near, _, chain) in zip(judged, ways, strict=True)
        ]
        return sorted(_lasting(done), key=lambda chain: -chain.logit)

    def _next_facts(self, chain: _Chain, vector: Floats32) -> Iterator[tuple[float, _Chain]]:
        query = self._query
        wanted = list(chain.nodes)
        rows = query.edges
        at = np.isin(rows["source"], wanted) | np.isin(rows["target"], wanted)
        ids: Ints = np.intersect1d(rows["id"][at], self._held)
        near = nearest_facts(query, vector, ids)
        best_ids = sorted(near, key=lambda id_: -near[id_])[:READ_AT_MOST]
        for id_, edge in query.store.edges.read(query.space, best_ids, query.as_of).items():
            if edge.cite not in chain.ids:
                yield near[id_], self._with_edge(chain, edge)

    def _next_notes(self, chain: _Chain, vector: Floats32) -> Iterator[tuple[float, _Chain]]:
        if not self._notes:
            return
        query = self._query
        near = np.where(query.mask & query.notes, query.cosine(vector), -np.inf)
        nearest = best(near, np.isfinite(near), NOTES_NEAR).tolist()
        numbers = self._stage.run.look_at(nearest, self._stage)
        ids = query.graph.chunks[numbers].tolist()
        placed = query.store.chunks.find(ids, query.as_of)
        newest = dict[str, int]()
        chosen = []
        for number, id_ in zip(numbers, ids, strict=True):
            one = placed.get(id_)
            if one is None or f" {_leaf(one.chunk.topic)} " in self._asked:
                continue  # a question that names the topic needs no steps to reach it
            topic = one.chunk.topic
            text = f" {name_key(_short(one.chunk.text))} "
            if any(id_.startswith(f"{topic}@") for id_ in chain.ids):
                continue
            is_about = _leaf(topic) in chain.next_names
            if is_about or any(f" {name} " in text for name in chain.next_names):
                chosen.append((number, one))
                # If the topic itself is not named, use only the newest version with such a name.
                newest[topic] = 0 if is_about else max(newest.get(topic, 0), one.chunk.version)
        for number, one in chosen:
            chunk = one.chunk
            if chunk.version >= newest[chunk.topic]:
                longer = self._with_text(chunk.topic, _short(chunk.text), chunk.id, chain)
                yield float(near[number]), replace(longer, last=one)


def _lasting(chains: Sequence[_Chain]) -> list[_Chain]:
    """Leave out chains to a version of a note if a chain to a later version is about as likely."""
    ends = [(chain, chain.last.chunk) for chain in chains if isinstance(chain.last, PlacedChunk)]
    gone = {
        old.ids
        for old, before in ends
        for new, after in ends
        if before.topic == after.topic and before.version < after.version
        if new.logit >= old.logit - LATER
    }
    return [chain for chain in chains if chain.ids not in gone]


def _leading(chain: _Chain, step: str) -> str:
    """Return the sentences of a chain that have the names in a step; a short chain whole.

    The reader reads 96 tokens, so a whole long note would leave no room for the step.
    """
    if len(chain.text) <= LEADING_CHARACTERS:
        return chain.text
    key = f" {name_key(step)} "
    names = [f" {name} " for name in chain.next_names if f" {name} " in key]
    parts = [
        part for part in sentences(chain.text) if any(n in f" {name_key(part)} " for n in names)
    ]
    return " ".join(parts or [chain.text])[:LEADING_CHARACTERS]


def _leaf(name: str) -> str:
    """Return the key of the last part of a name: `people/ada-byron` is called Ada Byron."""
    return name_key(spoken(name.rsplit("/", 1)[-1]))


def _short(text: str) -> str:
    return " ".join(text[:NOTE_CHARACTERS].split())
