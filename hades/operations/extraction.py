"""Extraction: facts that texts state become edges, or proposals where they are not sure enough."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any

from hades.domain.extraction import (
    FACTS_LISTED,
    PATTERNS,
    ExtractedFact,
    Extraction,
    extraction_metadata,
)
from hades.domain.graph import Edge
from hades.domain.names import name_key
from hades.domain.rules import clean_name, clean_share
from hades.domain.times import NOW
from hades.domain.topics import State
from hades.errors import Conflict, InvalidInput, NotFound
from hades.operations.declare import Param, Role, operation
from hades.operations.parameters import ModelName, TopicGlob
from hades.operations.proposals import undone
from hades.store.archive import LOST
from hades.store.records import EdgeFilter, Progress

if TYPE_CHECKING:
    from hades.domain.prose_facts import ProseFact
    from hades.lifecycle.model_facts import ModelReader
    from hades.memory import Memory

_EARLIEST = datetime.min.replace(tzinfo=UTC)
"""The start of what is only known to have ended."""


@operation("POST", "/extract", role=Role.WRITER, command="extract", job=True)
def extract(
    memory: Memory,
    topic: Annotated[
        str | None, Param("Only this topic; else all.", example="design/approach_x")
    ] = None,
    *,
    glob: TopicGlob = None,
    model: ModelName = None,
    threshold: Annotated[
        float, Param("From here on a fact is applied; below it is proposed.", flag="--threshold")
    ] = 0.9,
    dry_run: Annotated[bool, Param("Only show what would be done.", flag="--dry-run")] = False,
    on_progress: Progress | None = None,
) -> Extraction:
    """Read the facts that notes and documents tell in prose: Maya works at Acme since May.

    A fact that is sure enough becomes an edge; an exclusive one ends the old value, and one
    that no longer holds is ended. The others wait for approval (`proposals`). Each says in
    its metadata who found it and where, and its sentence is the evidence. Of a note every
    version is read, in their order; of documents and conversations the current one. A state that
    was read is not read again with the same arguments; a run that was stopped goes on. Code and
    summaries are not read. With a `model`, that one reads; a `dry_run` then only tells its cost.
    """
    needed = clean_share(threshold, "threshold")
    if memory._store.in_transaction:
        raise InvalidInput("Extract before or after a batch or snapshot, not inside it.")
    if glob is not None:
        clean_name(glob, "pattern")
    if topic is not None:
        memory.get(topic)
    run = _Run(memory, 0.9 if needed is None else needed, dry_run, model)
    return run.read(topic, glob, on_progress or (lambda _what, _done, _total: None))


class _Run:
    """One extraction: what was found so far, and how states become edges."""

    def __init__(self, memory: Memory, threshold: float, dry_run: bool, model: str | None) -> None:
        self.memory, self.threshold, self.dry_run = memory, threshold, dry_run
        self.reader: ModelReader | None = None
        if model is not None:
            from hades.lifecycle.model_facts import ModelReader

            self.reader = ModelReader(model, self._fail)
        self.by = PATTERNS if self.reader is None else self.reader.name
        self.facts: list[ExtractedFact] = []
        self.outcomes: Counter[str] = Counter()
        self.states = self.failed = 0
        self.failures: list[str] = []
        known = (one.fields for one in memory.proposals("all") if one.kind == "relate")
        self.proposed = {_key(one["source"], one["relation"], one["target"]) for one in known}

    def read(self, topic: str | None, glob: str | None, told: Progress) -> Extraction:
        """Read the states that changed since the last run with these arguments."""
        store, space = self.memory._store, self.memory._space_id
        said = f"{self.by}\0{topic}\0{glob}\0{self.threshold}"
        # A digest, so that a purged name leaves no trace in it.
        mark = f"history:{space}:extracted:{sha256(said.encode()).hexdigest()[:16]}"
        # In a copy of the memory changes have other numbers.
        generation, _, last = (store.meta(mark) or "").partition(" ")
        own = store.meta("generation") or ""
        after = int(last) if last and generation == own else 0
        changed, is_lost = list(store.topics.changed(space, after, topic, glob)), False
        for number, (name, version, change) in enumerate(changed, start=1):
            told("extracting", number - 1, len(changed))
            try:
                state = self.memory.get(name, version)
            except NotFound:  # purged or forgotten meanwhile
                pass
            except LOST as error:  # read when it is back: the mark stays before it
                is_lost = True
                self._fail(f"{name}@{version}: {error}")
            else:
                corrected = state.valid_to is not None and state.valid_to <= state.valid_from
                made_of_others = state.level or state.promotion is not None
                if not made_of_others and not corrected:
                    self._read(state)
            # One commit may have written several states.
            ends = number == len(changed) or changed[number][2] > change
            if ends and not (is_lost or self.dry_run):
                with self.memory.batch():
                    store.set_meta(mark, f"{own} {change}")
        told("extracting", len(changed), len(changed))
        return Extraction(
            states=self.states,
            facts=tuple(self.facts),
            outcomes=dict(self.outcomes),
            failed=self.failed,
            failures=tuple(self.failures),
            usage=None if self.reader is None else self.reader.usage,
            dry_run=self.dry_run,
        )

    def _fail(self, why: str) -> None:
        self.failed += 1
        if len(self.failures) < FACTS_LISTED:
            self.failures.append(why)

    def _read(self, state: State) -> None:
        from hades.domain.prose_facts import facts_in

        self.states += 1
        if self.reader is None:
            found = facts_in(state.content, state.topic)
        else:
            found = self.reader.read(state, dry_run=self.dry_run)
        if not found:
            return
        with undone(self.memory) if self.dry_run else self.memory.batch():
            for fact in (self._placed(one, state) for one in found):
                try:
                    with self.memory.batch():
                        outcome = self._store(fact)
                except (InvalidInput, Conflict, NotFound) as error:
                    outcome = "refused"
                    self._fail(f"{state.id}: {error}")
                self.outcomes[outcome] += 1
                if len(self.facts) < FACTS_LISTED:
                    self.facts.append(replace(fact, outcome=outcome))

    def _placed(self, fact: ProseFact, state: State) -> ExtractedFact:
        """A fact with the names and times it is stored under."""
        from hades.recall.periods import said_moment

        # `Maya` is people/maya in its own notes.
        own = {name_key(state.topic), name_key(state.topic.rpartition("/")[2])}
        subject = state.topic if name_key(fact.subject) in own else fact.subject
        since, until = (
            said_moment(words, state.valid_from) for words in (fact.valid_from, fact.valid_to)
        )
        unread = (fact.valid_from and not since) or (fact.valid_to and not until)
        begins = since or (_EARLIEST if until and not fact.negated else state.valid_from)
        return ExtractedFact(
            *(subject, fact.relation, fact.object, fact.exclusive, fact.negated),
            *(0.0 if unread else fact.confidence, begins, until, state.id),
            start=fact.start,
            end=fact.end,
            evidence=state.content[fact.start : fact.end],
            by=self.by,
        )

    def _store(self, fact: ExtractedFact) -> str:
        """Apply or propose a fact; the word for what was done."""
        from hades.domain.prose_facts import ENDS, ENDS_ELSEWHERE

        memory = self.memory
        same = self._edges(fact, fact.relation)
        if fact.negated:
            holding = [one for one in same if one.valid_to is None]
            if not holding or fact.confidence < self.threshold:
                return "nothing to end" if not holding else "unsure"
            for edge in holding:
                memory.unrelate(edge.id, at=fact.valid_to or fact.valid_from)
            return "ended"
        if any(_covers(one, fact) for one in same):
            return "known"
        sure = fact.confidence >= self.threshold
        ends = fact.subject, fact.relation, fact.object
        if not sure and _key(*ends) in self.proposed:
            return "known"
        named: dict[str, Any] = {
            "evidence": fact.evidence,
            "valid_from": fact.valid_from,
            "valid_to": fact.valid_to,
            "exclusive": fact.exclusive and fact.valid_to is None,
            "metadata": extraction_metadata(fact.by, fact.source, fact.start, fact.end),
        }
        if not sure:
            memory.propose(*ends, confidence=fact.confidence, threshold=1.0, **named)
            return "proposed"
        memory.relate(*ends, **named)
        over = [
            one for relation in ENDS.get(fact.relation, ()) for one in self._edges(fact, relation)
        ]
        for relation in ENDS_ELSEWHERE.get(fact.relation, ()):
            held = memory.edges(fact.subject, relation=relation, direction="out")
            over += [one for one in held if name_key(one.target.name) != name_key(fact.object)]
        for edge in over:
            if edge.valid_to is None and edge.valid_from < fact.valid_from:
                memory.unrelate(edge.id, at=fact.valid_from)
        return "applied"

    def _edges(self, fact: ExtractedFact, relation: str) -> list[Edge]:
        """The edges of a relation between the two, whether or not they still hold."""
        store, space = self.memory._store, self.memory._space_id
        nodes = [store.entities.node(space, name) for name in (fact.subject, fact.object)]
        if None in nodes:
            return []
        wanted = EdgeFilter(nodes[0], (), "out", relation, nodes[1], any_time=True)
        return store.edges.find(space, wanted, NOW)


def _key(source: str, relation: str, target: str) -> tuple[str, str, str]:
    return name_key(source), relation, name_key(target)


def _covers(edge: Edge, fact: ExtractedFact) -> bool:
    """Whether an edge says all that a fact does; one told by hand is never touched.

    A fact without an end is also said by one that ended later than the fact began.
    """
    held = edge.valid_to is None or fact.valid_from < edge.valid_to
    ends = edge.valid_to is None or fact.valid_to is None or fact.valid_to <= edge.valid_to
    return (
        held
        and ends
        and (edge.valid_from <= fact.valid_from or "extracted_by" not in edge.metadata)
    )
