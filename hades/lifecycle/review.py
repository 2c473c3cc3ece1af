"""Review: propose the changes that follow from a new state of a topic.

A note that a bug is fixed does not mention the task that the bug blocked. A note that the rent is
950 does not mention the other note that says 900. HADES finds such edges and notes and proposes
each change with its reason. A change is written without review only if its pattern is sure and the
author may change the facts (see `authority`).
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, product
from typing import Any

from hades.domain.extraction import PATTERNS, extraction_metadata
from hades.domain.graph import RELATION_KINDS, SIMILAR_TO, SUPERSEDES, Edge
from hades.domain.proposal import DEFAULT_THRESHOLD, Proposal
from hades.domain.times import NOW, from_micros, iso, to_micros
from hades.domain.topics import State
from hades.errors import InvalidInput
from hades.language.english.contradiction import contradiction, entails, is_statement
from hades.language.english.moments import said_moment
from hades.language.english.prose_facts import ENDS, ENDS_ELSEWHERE, TABLE, ProseFact, facts_in
from hades.language.english.replacement import says_change
from hades.language.english.settled import settled, settled_elsewhere
from hades.language.names import name_key
from hades.language.wording import spoken
from hades.lifecycle import fact_changes, gate
from hades.lifecycle.authority import ENDS_OF_EDGE, against, ends_of, may_change, said_by
from hades.lifecycle.similar_notes import CurrentNote, sentences_of
from hades.store.records import Direction, EdgeDraft, EdgeFilter, Write
from hades.store.store import Store

SETTLED = 0.5
OTHERWISE = 0.6
"""The confidence that an edge ended because its obstacle is settled, and that two sentences
contradict each other. Both were chosen below every sensible threshold, so that such changes wait
for review."""
BLOCKED = {"blocked_by", "blocked_on", "delayed_by", "depends_on", "postponed_because"}
BLOCKED |= {"rejected_because", "waiting_for", "waiting_on", "waits_for", "waits_on"}
"""Relations to an obstacle, which blocks the source until it is settled."""
ENABLING = ("enabled_by", "viable_after_fix")
"""A relation with one of these as its inverse also leads to an obstacle."""
AFFECTED_AT_MOST = 10
"""Edges that a reason lists."""
NAMES_AT_MOST = 70
"""The most names that are looked up to find the obstacles that a note on another topic settles."""
FINDINGS_AT_MOST = 16
WAITING_AT_MOST = 1_000
"""The most changes that one state may propose, and the most waiting proposals they are compared
with."""


@dataclass(frozen=True, slots=True)
class _Finding:
    """A change that follows from a new state, with the fields of its proposal."""

    kind: str
    fields: Mapping[str, Any]
    confidence: float
    why: str
    at: datetime
    """Since when the change holds."""
    changed: str = ""
    """The name of the changed topic or entity; the reason lists the edges that lead to it."""
    ends: Sequence[Edge] = ()
    """The edges that the change ends."""


def review(
    store: Store,
    write: Write,
    space: int,
    state: State,
    actor: str,
    *,
    similar: Iterable[CurrentNote] = (),
    threshold: float = DEFAULT_THRESHOLD,
) -> None:
    """Propose the changes that follow from a new state of a topic.

    A change with at least `threshold` confidence is written at once if the actor may make it. The
    confidence is at most that of the note. A change that already waits is not proposed again.
    First, notes that the gate refused because of the topic are checked again.
    """
    gate.reconsider(store, write, space, state.topic, actor)
    if state.valid_to is not None or state.valid_from > from_micros(write.at):
        return
    if store.topics.kind(space, state.topic) != "note":
        return
    findings = list(_said_otherwise(state, similar, actor))
    if store.edges.there_are(space):
        findings = [*_ends(store, space, state), *_changed_facts(store, space, state), *findings]
    waiting = store.proposals.find(space, "waiting", 0, WAITING_AT_MOST) if findings else ()
    for finding in findings[:FINDINGS_AT_MOST]:
        sure = min(finding.confidence, state.confidence)
        if _waits(waiting, finding.kind, finding.fields, sure):
            continue
        why = finding.why + (
            against(store, space, state, actor, finding.ends) if finding.ends else ""
        )
        own = _may_write(store, space, finding, actor)
        applied = own and sure >= threshold and _written(store, write, space, finding)
        store.proposals.add(
            write,
            space,
            actor,
            finding.kind,
            finding.fields,
            confidence=sure,
            threshold=threshold if own else 1.0,
            why=why + _undo(finding) * applied + _listed(affected(store, space, finding.changed)),
            status="applied" if applied else "waiting",
        )


def blocking(store: Store) -> set[str]:
    """Return the relations that lead to an obstacle, as `relation_key` writes them."""
    inverses = store.edges.inverses().items()
    return BLOCKED | {relation for relation, inverse in inverses if inverse in ENABLING}


def relation_key(edge: Edge) -> str:
    """Return the relation of an edge in lower case with underscores."""
    return edge.relation.casefold().replace(" ", "_").replace("-", "_")


def affected(store: Store, space: int, name: str) -> list[Edge]:
    """Return the edges into a node of this name, which may change with it; [] without a node."""
    node = store.entities.node(space, name) if name else None
    if node is None:
        return []
    edges = store.edges.find(space, EdgeFilter(node=node, direction="in"), NOW)
    return [edge for edge in edges if edge.relation not in (SUPERSEDES, SIMILAR_TO)]


def _waits(
    waiting: Iterable[Proposal], kind: str, fields: Mapping[str, Any], confidence: float
) -> bool:
    """Return whether the same change already waits with at least this confidence."""
    ends = {name: fields[name] for name in ENDS_OF_EDGE}
    return any(
        old.kind == kind and old.confidence >= confidence and ends.items() <= old.fields.items()
        for old in waiting
    )


def _ends(store: Store, space: int, state: State) -> Iterator[_Finding]:
    """Yield findings that end the edges to an obstacle, if a note says that it is settled.

    The note is that of the obstacle, or one that names the obstacle by its number.
    """
    words = dict(islice(settled_elsewhere(state.content), NAMES_AT_MOST))
    if word := settled(state.topic, state.content):
        words[state.topic] = word
    nodes = {store.entities.node(space, name): word for name, word in words.items()}
    sides: tuple[tuple[Direction, set[str]], ...] = (("in", blocking(store)), ("out", {"blocks"}))
    for (node, word), (direction, relations) in product(nodes.items(), sides if nodes else ()):
        if node is None:
            continue
        for edge in store.edges.find(space, EdgeFilter(node=node, direction=direction), NOW):
            # An edge that began after the note is not settled by it.
            if relation_key(edge) in relations and edge.valid_from < state.valid_from:
                yield _end(edge, state, SETTLED, f"{state.id} says “{word}”")


def _changed_facts(store: Store, space: int, state: State) -> Iterator[_Finding]:
    """Yield findings that end or replace the edges that facts in a note replace or deny."""
    content = state.content if sentences_of(state.content) else ""
    told = [name for name in store.edges.relations().values() if spoken(name) in content]
    facts = facts_in(content, relations=told)
    places = Counter((fact.relation, fact.start) for fact in facts)
    for fact in facts:
        begins = said_moment(fact.valid_from, state.valid_from)
        if fact.valid_to is not None or (begins is None and fact.valid_from is not None):
            continue
        sentence = content[fact.start : fact.end]
        why = f"{state.id} says “{sentence}”"
        ended = () if fact.negated else ENDS.get(fact.relation, ())
        moved = () if fact.negated else ENDS_ELSEWHERE.get(fact.relation, ())
        for relation in dict.fromkeys((fact.relation, *ended, *moved)):
            starts = [
                (edge, since)
                for edge in _held(store, space, fact.subject, relation)
                if (since := _replaced_from(edge, begins or state.valid_from, state))
            ]
            target = name_key(fact.object)
            same = [edge for edge, _ in starts if name_key(edge.target.name) == target]
            others = [edge for edge, _ in starts if name_key(edge.target.name) != target]
            if fact.negated or relation in ended:
                yield from (_end(edge, state, fact.confidence, why, fact.subject) for edge in same)
            elif others and (sure := _certainty(fact, sentence, places[fact.relation, fact.start])):
                since = max(since for _, since in starts)
                fields = {
                    **ends_of(others[0]),
                    "target": fact.object,
                    "exclusive": True,
                    "evidence": sentence,
                    "valid_from": iso(since),
                    "metadata": extraction_metadata(PATTERNS, state.id, fact.start, fact.end),
                }
                yield _Finding("relate", fields, sure, why, since, fact.subject, others)


def _held(store: Store, space: int, name: str, relation: str) -> list[Edge]:
    """Return the current edges of a relation that start at a name.

    If there is none and the relation is one of persons, the name may be a first name: it then means
    the only entity whose name begins with it.
    """
    names = [name]
    edges = list[Edge]()
    if name.isalpha() and RELATION_KINDS.get(relation, ("",))[0] == "person":
        called = [entity.name for entity in store.entities.list(space, f"{name} *", limit=2)]
        names += called if len(called) == 1 else []
    for called_so in names:
        node = store.entities.node(space, called_so)
        if node is not None and not edges:
            wanted = EdgeFilter(node=node, direction="out", relation=relation)
            edges = store.edges.find(space, wanted, NOW)
    return edges


def _replaced_from(edge: Edge, begins: datetime, state: State) -> datetime | None:
    """Return the time from which a fact of a note replaces an edge; None if it cannot.

    The fact holds from `begins` on. An edge that was told without a start began some time before it
    was recorded, so a later note replaces it from the note's time on.
    """
    if edge.valid_from < begins:
        return begins
    is_open = edge.valid_from == edge.recorded_at < state.valid_from
    return state.valid_from if is_open else None


def _certainty(fact: ProseFact, sentence: str, listed: int) -> float:
    """Return the confidence that a fact replaces facts with other objects; 0 if it does not.

    For a relation in the table of verbs, the table says whether it has one object at a time. For
    any other relation, the sentence must state a change plainly and must not list several objects.
    """
    if fact.exclusive:
        return fact.confidence
    if fact.relation in TABLE or listed > 1 or not is_statement(sentence):
        return 0.0
    return OTHERWISE if says_change(sentence) else 0.0


def _said_otherwise(
    state: State, similar: Iterable[CurrentNote], author: str
) -> Iterator[_Finding]:
    """Yield one finding for each other note that the new state contradicts."""
    own = sentences_of(state.content)
    # A state of an earlier time does not supersede a note of a later time.
    since = to_micros(state.valid_from)
    for note in (one for one in similar if one.valid_from <= since):
        pairs = product(own, note.sentences) if note.topic != state.topic else ()
        for new, old in pairs:
            conflict = contradiction(new, old, state.topic, note.topic)
            if conflict is None or any(entails(one, old) for one in own):
                continue
            fields = {
                "source": state.topic,
                "relation": SUPERSEDES,
                "target": note.topic,
                "evidence": new,
                "metadata": {"says": new, "said": old},
                "valid_from": iso(state.valid_from),
            }
            began = f"{from_micros(note.valid_from):%Y-%m-%d}, confidence {note.confidence:g}"
            why = f"{state.id} says “{new}” {said_by(state, author)}, "
            why += f"{note.id} “{old}” ({note.author}, {began}): {conflict}"
            yield _Finding("relate", fields, OTHERWISE, why, state.valid_from, note.topic)
            break


def _end(edge: Edge, state: State, sure: float, why: str, changed: str = "") -> _Finding:
    fields = {**ends_of(edge), "at": iso(state.valid_from)}
    return _Finding("unrelate", fields, sure, why, state.valid_from, changed, [edge])


def _undo(finding: _Finding) -> str:
    """Return the commands that undo a change written at once, as the end of a reason."""
    new = shlex.join(str(finding.fields[name]) for name in ENDS_OF_EDGE)
    steps = [f"`hades unrelate {new} --mistake`"] if finding.kind == "relate" else []
    for edge in finding.ends:
        since = ["--valid-from", iso(edge.valid_from)]
        steps.append(f"`hades relate {shlex.join([*ends_of(edge).values(), *since])}`")
    return f"; to undo: {', '.join(steps)}"


def _listed(edges: Sequence[Edge]) -> str:
    """Return the end of a reason: the edges that the change may affect."""
    some = ", ".join(f"{edge} ({edge.id})" for edge in edges[:AFFECTED_AT_MOST])
    more = f" and {len(edges) - AFFECTED_AT_MOST} more" * (len(edges) > AFFECTED_AT_MOST)
    return f"; look also at {some}{more}" if edges else ""


def _may_write(store: Store, space: int, finding: _Finding, actor: str) -> bool:
    """Return whether the actor may change all edges that a finding would change."""
    changed = list(finding.ends)
    if finding.ends and finding.kind == "relate":
        source, target = (
            store.entities.node(space, finding.fields[e]) for e in ("source", "target")
        )
        draft = EdgeDraft(source or 0, finding.fields["relation"], target or 0)
        try:
            changed += fact_changes.changed_by(store, space, draft, finding.at, exclusive=True)
        except InvalidInput:  # the change cannot be written, so it waits for review
            return False
    return may_change(store, space, actor, changed)


def _written(store: Store, write: Write, space: int, finding: _Finding) -> bool:
    """Write a change; return False if it is invalid, for example because two rivals begin at the
    same time."""
    fields = finding.fields
    node = store.entities.ensure
    try:
        if finding.kind == "unrelate":
            fact_changes.unrelate(store, write, finding.ends[0], finding.at, mistake=False)
        else:
            ends = [node(write, space, fields[end], "concept") for end in ("source", "target")]
            details = {name: fields[name] for name in ("evidence", "metadata")}
            draft = EdgeDraft(
                ends[0], fields["relation"], ends[1], valid_from=finding.at, **details
            )
            fact_changes.relate(store, write, space, draft, exclusive="exclusive" in fields)
    except InvalidInput:
        return False
    return True
