"""Extraction: facts that texts state become edges, or proposals if they are not sure enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any

from hades.domain.extraction import (
    EXTRACTED_FROM,
    FACTS_LISTED,
    PATTERNS,
    ExtractedFact,
    Extraction,
    extraction_metadata,
)
from hades.domain.graph import Edge
from hades.domain.rules import clean_name, clean_share
from hades.domain.times import NOW, iso
from hades.domain.topics import State
from hades.errors import Conflict, InvalidInput, NotFound
from hades.language.names import name_key
from hades.lifecycle import fact_changes
from hades.lifecycle.authority import ENDS_OF_EDGE, against, ends_of, is_told, may_change
from hades.operations import proposals, states
from hades.operations.declare import Param, Role, operation
from hades.operations.edges import edges, relate, unrelate
from hades.operations.inside import Inside
from hades.operations.parameters import DryRun, ModelName, TopicGlob
from hades.operations.proposals import apply_change, undone
from hades.store.archive import LOST
from hades.store.records import EdgeDraft, EdgeFilter, Progress

if TYPE_CHECKING:
    from hades.language.english.prose_facts import ProseFact
    from hades.lifecycle.model_facts import ModelReader

_EARLIEST = datetime.min.replace(tzinfo=UTC)
"""The start of a fact that is only known to have ended."""


@operation("POST", "/extract", role=Role.WRITER, command="extract", job=True)
def extract(
    inside: Inside,
    topic: Annotated[
        str | None,
        Param("Only this topic (default: all).", example="design/approach_x", rule=clean_name),
    ] = None,
    *,
    glob: TopicGlob = None,
    model: ModelName = None,
    threshold: Annotated[
        float,
        Param("The confidence from which a fact is stored, not proposed.", flag="--threshold"),
    ] = 0.9,
    dry_run: DryRun = False,
    on_progress: Progress | None = None,
) -> Extraction:
    """Turn sentences of notes and documents into facts.

    A fact with at least `threshold` confidence becomes an edge. A new value of a relation with one
    value at a time ends the old edge, and a denial ends the edge that it denies, if the old edge
    was extracted from a text of the same author. Less sure facts and changes of other edges wait
    for approval (`proposals`); less sure denials are dropped. The metadata of an edge says who
    found it and where; its sentence is the evidence. All versions of a note are read in order, and
    the current version of documents and conversations; code and summaries are not. A run skips
    states that a run with the same arguments has read. With a `model`, the model reads; `dry_run`
    then only estimates its cost.
    """
    needed = clean_share(threshold, "threshold")
    if topic is not None:
        states.get(inside, topic)
    run = _Run(inside, 0.9 if needed is None else needed, dry_run, model)
    return run.read(topic, glob, on_progress or (lambda _what, _done, _total: None))


class _Run:
    """One run of `extract`, with its facts and outcomes so far."""

    def __init__(self, inside: Inside, threshold: float, dry_run: bool, model: str | None) -> None:
        self.inside = inside
        self.threshold = threshold
        self.dry_run = dry_run
        self.reader: ModelReader | None = None
        if model is not None:
            from hades.lifecycle.model_facts import ModelReader

            self.reader = ModelReader(model, self._fail)
        self.by = PATTERNS if self.reader is None else self.reader.name
        self.facts: list[ExtractedFact] = []
        self.outcomes: Counter[str] = Counter()
        self.states = self.failed = 0
        self.failures: list[str] = []
        self.undecided: set[tuple[str, ...]] = set()
        """The changes that wait or were rejected, each with the topic it was extracted from."""
        self.waiting: dict[tuple[str, ...], float] = {}
        """The highest confidence with which any topic proposed each waiting change."""
        for known in proposals.proposals(inside, "all"):
            if known.kind in ("relate", "unrelate") and known.status in ("waiting", "rejected"):
                self._note_proposal(known.kind, known.fields, known.confidence, known.status)

    def read(self, topic: str | None, glob: str | None, report: Progress) -> Extraction:
        """Extract and store facts of states that changed since the last run of these arguments."""
        store = self.inside.store
        space = self.inside.space_id
        arguments = f"{self.by}\0{topic}\0{glob}\0{self.threshold}"
        # A digest, so that a purged name leaves no trace in it.
        mark = f"history:{space}:extracted:{sha256(arguments.encode()).hexdigest()[:16]}"
        # Change numbers differ in a copy of the memory, which has another generation.
        generation, _, last = (store.meta(mark) or "").partition(" ")
        own = store.meta("generation") or ""
        after = int(last) if last and generation == own else 0
        changed = list(store.topics.changed(space, after, topic, glob))
        is_lost = False
        for number, (name, version, change) in enumerate(changed, start=1):
            report("extracting", number - 1, len(changed))
            try:
                state = states.get(self.inside, name, version)
            except NotFound:  # purged or forgotten meanwhile
                pass
            except LOST as error:  # the mark stays before it, so that a later run reads it
                is_lost = True
                self._fail(f"{name}@{version}: {error}")
            else:
                corrected = state.valid_to is not None and state.valid_to <= state.valid_from
                made_of_others = state.level or state.promotion is not None
                if not made_of_others and not corrected:
                    self._extract(state)
            # One commit may have written several states.
            ends = number == len(changed) or changed[number][2] > change
            if ends and not (is_lost or self.dry_run):
                with self.inside.batch():
                    store.set_meta(mark, f"{own} {change}")
        report("extracting", len(changed), len(changed))
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

    def _note_proposal(
        self, kind: str, fields: Mapping[str, Any], confidence: float, status: str = "waiting"
    ) -> None:
        edge = _edge_key(kind, fields)
        self.undecided.add((*edge, _read_in(fields)))
        if status == "waiting":
            self.waiting[edge] = max(confidence, self.waiting.get(edge, 0.0))

    def _is_undecided(self, kind: str, fields: Mapping[str, Any]) -> bool:
        """Return whether the same change from the same topic waits or was rejected."""
        return (*_edge_key(kind, fields), _read_in(fields)) in self.undecided

    def _extract(self, state: State) -> None:
        from hades.language.english.prose_facts import facts_in

        self.states += 1
        if self.reader is None:
            stated = facts_in(state.content, state.topic)
        else:
            stated = self.reader.read(state, dry_run=self.dry_run)
        if not stated:
            return
        with undone(self.inside) if self.dry_run else self.inside.batch():
            for fact in (self._placed(prose, state) for prose in stated):
                try:
                    with self.inside.batch():
                        outcome = self._store(fact, state)
                except (InvalidInput, Conflict, NotFound) as error:
                    outcome = "refused"
                    self._fail(f"{state.id}: {error}")
                self.outcomes[outcome] += 1
                if len(self.facts) < FACTS_LISTED:
                    self.facts.append(replace(fact, outcome=outcome))

    def _placed(self, fact: ProseFact, state: State) -> ExtractedFact:
        """Return a fact with the names and times under which it is stored."""
        from hades.language.english.moments import said_moment

        # In the notes of people/maya, `Maya` means that topic.
        own = {name_key(state.topic), name_key(state.topic.rpartition("/")[2])}
        subject = state.topic if name_key(fact.subject) in own else fact.subject
        since, until = (
            said_moment(words, state.valid_from) for words in (fact.valid_from, fact.valid_to)
        )
        unread = (fact.valid_from and not since) or (fact.valid_to and not until)
        begins = since or (_EARLIEST if until and not fact.negated else state.valid_from)
        return ExtractedFact(
            subject,
            fact.relation,
            fact.object,
            fact.exclusive,
            fact.negated,
            0.0 if unread else min(fact.confidence, state.confidence),
            begins,
            until,
            state.id,
            start=fact.start,
            end=fact.end,
            evidence=state.content[fact.start : fact.end].replace("\x00", ""),
            by=self.by,
        )

    def _store(self, fact: ExtractedFact, state: State) -> str:
        """Apply or propose a fact. Return the outcome: applied, proposed, known, unsure …"""
        same = self._edges(fact, fact.relation)
        if fact.negated:
            holding = [edge for edge in same if edge.valid_to is None]
            if not holding or fact.confidence < self.threshold:
                return "nothing to end" if not holding else "unsure"
            return self._end(holding, fact, state, fact.valid_to or fact.valid_from)
        if any(_covers(edge, fact) for edge in same):
            return "known"
        fields: dict[str, Any] = {
            **dict(zip(ENDS_OF_EDGE, (fact.subject, fact.relation, fact.object), strict=True)),
            "evidence": fact.evidence,
            "valid_from": iso(fact.valid_from),
            "valid_to": None if fact.valid_to is None else iso(fact.valid_to),
            "exclusive": fact.exclusive and fact.valid_to is None,
            "metadata": extraction_metadata(fact.by, fact.source, fact.start, fact.end),
        }
        fields = {name: value for name, value in fields.items() if value not in (None, False)}
        if self._is_undecided("relate", fields):
            return "known"
        changed = self._changed_by(fact)
        if fact.confidence < self.threshold or not self._may_change(state, changed):
            return self._propose("relate", fields, fact, state, changed)
        relate(self.inside, **fields, create=True)
        self._end(self._ended_by(fact), fact, state, fact.valid_from)
        return "applied"

    def _end(self, edges: list[Edge], fact: ExtractedFact, state: State, at: datetime) -> str:
        """End edges, or propose to end those that the note may not end. Return the outcome."""
        outcome = "ended"
        for edge in edges:
            fields = {**ends_of(edge), "at": iso(at)}
            if self._is_undecided("unrelate", fields) or not self._may_change(state, [edge]):
                outcome = self._propose("unrelate", fields, fact, state, [edge])
            else:
                unrelate(self.inside, edge.id, at=at)
        return outcome

    def _propose(
        self,
        kind: str,
        fields: dict[str, Any],
        fact: ExtractedFact,
        state: State,
        changed: list[Edge],
    ) -> str:
        """Propose a change, unless it waits or was rejected. Return `proposed` or `known`."""
        inside = self.inside
        surest = self.waiting.get(_edge_key(kind, fields), -1.0)
        if self._is_undecided(kind, fields) or surest >= fact.confidence:
            return "known"
        with undone(inside):
            apply_change(inside, kind, fields, fact.confidence)
        why = f"{state.id} says “{fact.evidence}”"
        if changed:
            author = self._author(state)
            why += against(inside.store, inside.space_id, state, author, changed)
        with inside.write("propose") as write:
            inside.store.proposals.add(
                write,
                inside.space_id,
                inside.actor,
                kind,
                fields,
                confidence=fact.confidence,
                threshold=1.0,
                why=why,
            )
        self._note_proposal(kind, fields, fact.confidence)
        return "proposed"

    def _author(self, state: State) -> str:
        author = self.inside.store.topics.author(self.inside.space_id, state.topic, state.version)
        return author or ""

    def _may_change(self, state: State, edges: list[Edge]) -> bool:
        return may_change(self.inside.store, self.inside.space_id, self._author(state), edges)

    def _changed_by(self, fact: ExtractedFact) -> list[Edge]:
        """Return the edges that a fact would end or change."""
        store = self.inside.store
        space = self.inside.space_id
        source, target = (store.entities.node(space, name) for name in (fact.subject, fact.object))
        if source is None:
            return []
        draft = EdgeDraft(source, fact.relation, target or 0, valid_to=fact.valid_to)
        exclusive = fact.exclusive and fact.valid_to is None
        return fact_changes.changed_by(store, space, draft, fact.valid_from, exclusive=exclusive)

    def _ended_by(self, fact: ExtractedFact) -> list[Edge]:
        """Return the edges of other relations that a fact ends."""
        from hades.language.english.prose_facts import ENDS, ENDS_ELSEWHERE

        over = list[Edge]()
        for relation in ENDS.get(fact.relation, ()):
            over += self._edges(fact, relation)
        for relation in ENDS_ELSEWHERE.get(fact.relation, ()):
            held = edges(self.inside, fact.subject, relation=relation, direction="out")
            over += [edge for edge in held if name_key(edge.target.name) != name_key(fact.object)]
        start = fact.valid_from
        return [edge for edge in over if edge.valid_to is None and edge.valid_from < start]

    def _edges(self, fact: ExtractedFact, relation: str) -> list[Edge]:
        """Return the edges of a relation between the ends of a fact, also ended ones."""
        store = self.inside.store
        space = self.inside.space_id
        nodes = [store.entities.node(space, name) for name in (fact.subject, fact.object)]
        if None in nodes:
            return []
        wanted = EdgeFilter(nodes[0], (), "out", relation, nodes[1], any_time=True)
        return store.edges.find(space, wanted, NOW)


def _edge_key(kind: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a key for a proposed change: its kind and its edge."""
    source, relation, target = (str(fields[name]) for name in ENDS_OF_EDGE)
    return kind, name_key(source), relation, name_key(target)


def _read_in(fields: Mapping[str, Any]) -> str:
    """Return the topic that a proposed edge was extracted from, or "" if unknown."""
    return str((fields.get("metadata") or {}).get(EXTRACTED_FROM, "")).rpartition("@")[0]


def _covers(edge: Edge, fact: ExtractedFact) -> bool:
    """Return whether an edge already says all of a fact, so that nothing is to be done.

    An edge that ended covers a fact without an end if it ended after the fact began. A told edge
    need not have begun as early as the fact: it is never changed.
    """
    held = edge.valid_to is None or fact.valid_from < edge.valid_to
    ends = edge.valid_to is None or fact.valid_to is None or fact.valid_to <= edge.valid_to
    return held and ends and (edge.valid_from <= fact.valid_from or is_told(edge))
