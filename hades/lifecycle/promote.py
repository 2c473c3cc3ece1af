"""Promotion: merge a topic's versions and edges into one new state.

Its text is plain sentences, so that recall can quote it: a paragraph for each version with the
sentences that still hold, one for those that held before, and the reason. It is made only of
versions that somebody wrote, never of an earlier promotion, so promoting again without news changes
nothing.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from itertools import groupby, islice
from typing import Any

from hades.domain.graph import Edge
from hades.domain.promotion import Disagreement, Promotion, Side
from hades.domain.proposal import DEFAULT_THRESHOLD
from hades.domain.rules import clean_content
from hades.domain.statement import day, statement
from hades.domain.times import NOW, from_micros, iso
from hades.domain.topics import PROMOTION, State
from hades.errors import InvalidInput, NotFound
from hades.ingest.document import Block, pack_document
from hades.ingest.phases import note_document, under
from hades.language.english.settled import settled
from hades.language.names import says
from hades.language.sentences import sentences
from hades.language.wording import spoken
from hades.lifecycle import fact_changes, gate, review
from hades.lifecycle.authority import ends_of, is_told
from hades.lifecycle.disagreement import decided, edge_disagreements, sentence_disagreements
from hades.lifecycle.synthesis import (
    SENTENCES_AT_MOST,
    compare_versions,
    sentences_of,
    sentences_of_state,
)
from hades.models.chat import open_chat_model
from hades.models.checked import CheckedReply, cited_sentences
from hades.store.records import Draft, EdgeFilter, Write
from hades.store.store import Store

TRACE_VERSIONS = 10
TRACE_SENTENCES = 300
"""How many of the latest versions and sentences are compared. The limit exists because each
sentence is compared with all later ones while other writers wait."""
RELATED_AT_MOST = 8
ENDED_AT_MOST = 10
BETWEEN = "\n\n"
GIVEN = "reason given"
"""The citation of the reason."""
REPLY_TOKENS_AT_MOST = 400
TASK = "Write the new state of one topic: what holds now, what changed and when, and why."
Paragraph = tuple[str, str]
"""A text and the citation of its sources."""
Changes = Sequence[tuple[Side, Side]]


@dataclass(frozen=True, slots=True)
class Material:
    """The sources of a promotion: the topic's versions, its edges and the states around it."""

    topic: str
    reason: str
    now: datetime
    latest: State
    trace: tuple[State, ...]
    """The versions that somebody wrote, oldest first, without promotions."""
    edges: tuple[Edge, ...]
    """The told edges that hold."""
    closing: tuple[Edge, ...]
    """Those of `edges` whose obstacle is gone, as the reason or the last version says."""
    ended: tuple[Edge, ...]
    related: tuple[State, ...]
    """States at the other end of edges: compared, but not quoted."""
    over: tuple[Side, ...]
    """Obstacles that are gone: the name of each, and until when it was in the way."""

    def compared(self) -> tuple[list[Side], list[tuple[Side, Side]]]:
        """Return the sentences that hold, and the (replaced, replacement) pairs."""
        given = sentences_of(self.reason, GIVEN, 1.0, self.now)
        return compare_versions(self.topic, self.trace, given, self.over, self.now)

    @property
    def sources(self) -> tuple[str, ...]:
        """The citations of all states and edges."""
        states = (state.id for state in (*self.trace, *self.related))
        return (*states, *(f"edge {edge.id}" for edge in (*self.edges, *self.ended)))

    @property
    def mark(self) -> str:
        """A hash that differs when any source differs."""
        edges = [
            (edge.id, iso(edge.valid_from), edge.valid_to and iso(edge.valid_to), edge.evidence)
            for edge in (*self.edges, *self.ended)
        ]
        sources = json.dumps([self.reason, self.sources, edges]).encode()
        return blake2b(sources, digest_size=8).hexdigest()

    @property
    def is_news(self) -> bool:
        """Whether the latest state is not already a promotion of exactly these sources."""
        return (self.latest.promotion or {}).get("mark") != self.mark


def gather(store: Store, space: int, topic: str, reason: str) -> Material:
    """Read the sources of a topic's promotion, as they are now; refuse a text that is too long."""
    latest = store.topics.state(space, topic, NOW)
    now = from_micros(store.now())
    written: deque[State] = deque(maxlen=TRACE_VERSIONS)
    for state in store.topics.history(space, topic, NOW, archived=False):
        if state.forgotten:
            written.clear()
        elif state.promotion is None and state.valid_from <= max(now, latest.valid_from):
            written.append(state)
    whole = store.topics.whole(space, written, NOW)
    trace = sorted(whole, key=lambda state: (state.valid_from, state.version)) or [latest]
    counts = [len(sentences(state.content, SENTENCES_AT_MOST + 1)) for state in trace]
    while len(trace) > 1 and sum(counts) > TRACE_SENTENCES:
        trace = trace[1:]
        counts = counts[1:]
    if max(counts) > SENTENCES_AT_MOST:
        most = f"more than {SENTENCES_AT_MOST} sentences"
        raise InvalidInput(f"{topic!r} has {most}: too many to promote, split it.")
    node = store.entities.node(space, topic)
    told = store.edges.find(space, EdgeFilter(node=node, any_time=True), NOW)
    ended = [edge for edge in told if edge.has_ended(now)]
    edges = [edge for edge in told if _holds(edge, now)]
    names = dict.fromkeys(
        end.name for edge in edges for end in (edge.source, edge.target) if end.name != topic
    )
    relations = review.blocking(store)
    over = [
        edge
        for edge in told
        if edge.source.name == topic
        and edge.valid_from <= now
        and review.relation_key(edge) in relations
        and (not _holds(edge, now) or _is_settled(edge, reason, trace[-1]))
    ]
    return Material(
        topic=topic,
        reason=reason,
        now=now,
        latest=latest,
        trace=tuple(trace),
        edges=tuple(edges),
        closing=tuple(edge for edge in over if _holds(edge, now)),
        ended=tuple(ended[-ENDED_AT_MOST:]),
        related=tuple(islice(_written_states(store, space, names), RELATED_AT_MOST)),
        over=tuple(
            Side(_last_part(edge), f"edge {edge.id}", 1.0, min(edge.valid_to or now, now))
            for edge in over
        ),
    )


def ask_model(
    material: Material, name: str, *, dry_run: bool
) -> tuple[CheckedReply, list[Paragraph]]:
    """Return a model's checked reply, and its supported sentences with their citations.

    A dry run does not ask the model: its reply has only the estimated usage, and no sentences.
    """
    edges = [(f"{statement(one)}.", f"edge {one.id}") for one in material.edges]
    given = *_paragraphs(material.trace[-1], *material.compared()), *edges
    texts, cites = zip(*given, (material.reason, GIVEN), strict=True)
    asked = open_chat_model(name), TASK, texts
    reply = cited_sentences(*asked, max_tokens=REPLY_TOKENS_AT_MOST, dry_run=dry_run)
    return reply, [(one.text, ", ".join(cites[at - 1] for at in one.numbers)) for one in reply.held]


@dataclass(frozen=True, slots=True)
class Promoter:
    """One promotion within one write."""

    store: Store
    write: Write
    space: int
    actor: str
    material: Material

    def run(self, reply: CheckedReply, by_model: list[Paragraph], *, dry_run: bool) -> Promotion:
        """Settle edges and conflicts, and write the new state; the caller undoes a dry run."""
        material = self.material
        store = self.store
        space = self.space
        last = max((one.id for one in store.proposals.find(space)), default=0)
        holds, changed = material.compared()
        conflicts = self._conflicts(holds)
        closed, opened = self._settle_edges()
        closed += self._settle_conflicts(conflicts)
        said_now = replace(material.latest, content=material.reason, valid_from=self._at)
        review.review(store, self.write, space, said_now, self.actor)
        after = gather(store, space, material.topic, material.reason)
        lost = {one.sides[0]: one.sides[1] for one in conflicts if one.taken[0] == 1}
        for one in (one for one in holds if one in lost):
            until = lost[one].since if lost[one].since > one.since else self._at
            changed.append((one, replace(lost[one], since=until)))
        holds = [one for one in holds if one not in lost]
        text = by_model or _paragraphs(material.trace[-1], holds, changed)
        text.append((f"Reason: {_with_end(' '.join(material.reason.split()))}", GIVEN))
        made = {
            "by": "model" if by_model else "extractive",
            "reason": material.reason,
            "of": after.trace[-1].version,
            "promoted_from": list(after.sources),
            "cited": [cited for _, cited in text],
            "mark": after.mark,
        }
        draft = Draft(
            content=clean_content(BETWEEN.join(paragraph for paragraph, _ in text)),
            metadata={**material.latest.metadata, PROMOTION: made},
            confidence=min((one.confidence for one in holds), default=1.0),
            valid_from=self._at,
        )
        state, _ = store.topics.add(self.write, space, material.topic, draft)
        gate.reconsider(store, self.write, space, material.topic, self.actor)
        outline = _outline(material, text, whole=bool(by_model))
        store.chunks.outline(space, material.topic, state.version, outline)
        ended = {edge.id for edge in closed}
        return Promotion(
            state=state,
            before=material.latest,
            changed=True,
            by=str(made["by"]),
            sources=after.sources,
            kept=tuple(edge for edge in material.edges if edge.id not in ended),
            closed=tuple(store.edges.get(space, edge.id) for edge in closed),
            opened=tuple(opened),
            proposed=tuple(store.proposals.find(space, "waiting", last, None)),
            conflicts=tuple(conflicts),
            dropped=reply.dropped,
            why=reply.why,
            usage=reply.usage,
            dry_run=dry_run,
        )

    @property
    def _at(self) -> datetime:
        return max(from_micros(self.write.at), self.material.latest.valid_from)

    def _conflicts(self, holds: list[Side]) -> list[Disagreement]:
        """Return the disagreements of current sources that nobody has decided."""
        material = self.material
        store = self.store
        own = [one for one in material.edges if one.source.name == material.topic]
        others = [one for state in material.related for one in sentences_of_state(state)]
        done = decided(store.proposals.find(self.space))
        return [
            *edge_disagreements(own, material.ended, done),
            *sentence_disagreements(holds, others, done),
        ]

    def _settle_edges(self) -> tuple[list[Edge], list[Edge]]:
        """Close the edges to obstacles that are gone, and open their inverses; return both."""
        closed: list[Edge] = []
        opened: list[Edge] = []
        for edge in self.material.closing:
            change = fact_changes.change_fact(
                self.store,
                self.write,
                self.space,
                self.material.topic,
                edge.relation,
                [edge],
                at=self._at,
                to=None,
                new_relation=None,
                content=None,
                evidence=self.material.reason,
            )
            closed += change.closed
            opened += change.opened
        return closed, opened

    def _settle_conflicts(self, conflicts: list[Disagreement]) -> list[Edge]:
        """End and return the edges that a rule decides against. A conflict without a rule waits for
        review; so does a told edge that lost to an extracted one."""
        told = {f"edge {edge.id}": edge for edge in self.material.edges}
        closed = []
        for conflict in conflicts:
            side = conflict.taken[0]
            if side is None:
                self._leave_to_review(conflict, told.get(conflict.sides[1].source))
                continue
            winner, loser = (told.get(conflict.sides[at].source) for at in (side, 1 - side))
            if winner and loser and is_told(loser) and not is_told(winner):
                self._leave_to_review(conflict, loser)
            elif loser is not None and loser not in closed:
                later = winner is not None and winner.valid_from > loser.valid_from
                ends_at = winner.valid_from if winner is not None and later else self._at
                by = None if winner is None else winner.id
                self.store.edges.revise(self.write, loser.id, valid_to=ends_at, superseded_by=by)
                closed.append(loser)
        return closed

    def _leave_to_review(self, conflict: Disagreement, edge: Edge | None) -> None:
        """Propose to end an edge or, without one, to note which topic contradicts this one.

        A proposal that waits or was rejected is not made again.
        """
        new, old = conflict.sides
        if edge is not None:
            kind = "unrelate"
            why = str(conflict)
            ends = ends_of(edge)
            more: dict[str, Any] = {"at": iso(self._at)}
        else:
            kind = "relate"
            why = "sources disagree"
            ends = {"source": self.material.topic}
            ends |= {"relation": "contradicts", "target": old.source.rpartition("@")[0]}
            more = {"evidence": str(conflict), "metadata": {"says": new.text, "said": old.text}}
        for proposal in self.store.proposals.find(self.space):
            if (
                proposal.kind == kind
                and proposal.status != "applied"
                and ends.items() <= proposal.fields.items()
            ):
                return
        self.store.proposals.add(
            self.write,
            self.space,
            self.actor,
            kind,
            {**ends, **more},
            confidence=review.SETTLED,
            threshold=DEFAULT_THRESHOLD,
            why=why,
        )


def _paragraphs(last: State, holds: Iterable[Side], changed: Changes) -> list[Paragraph]:
    """Return the paragraphs of a promoted text.

    The last version is quoted as it is if all of it holds. Sentences of earlier versions get their
    day. Replaced sentences come last, with the day until which they held.
    """
    paragraphs = []
    for source, own in groupby(holds, key=lambda one: one.source):
        sides = list(own)
        if sides == sentences_of_state(last):
            paragraphs.append((last.content.strip(), source))
        else:
            text = " ".join(_with_end(one.text) for one in sides).rstrip(".")
            paragraphs.append((f"{text} ({day(sides[0].since)}).", source))
    if changed:
        before = (f"Until {day(new.since)}: {_with_end(old.text)}" for old, new in changed)
        cited = dict.fromkeys(one.source for both in changed for one in both)
        paragraphs.append((" ".join(before), ", ".join(cited)))
    return paragraphs


def _with_end(sentence: str) -> str:
    return sentence if sentence[-1] in ".!?…" else f"{sentence}."


def _outline(material: Material, paragraphs: list[Paragraph], *, whole: bool) -> bytes:
    """Return, packed, the paragraphs of the new state to index as blocks; with `whole`, all.

    Otherwise the blocks are the text of the last version (which thus stays the same passage), what
    held before, and the reason. Text of earlier versions that still holds is found in those
    versions.
    """
    earlier = {state.id for state in material.trace[:-1]}
    name = spoken(material.topic)
    note = note_document(material.topic, material.trace[-1].content.strip())
    blocks = list[Block]()
    at = 0
    for text, cited in paragraphs:
        if text == note.content:
            blocks += (
                block._replace(
                    start=at + block.start, end=at + block.end, heading=under(name, block.heading)
                )
                for block in note.blocks or (Block(0, len(text)),)
            )
        elif whole or cited not in earlier:
            blocks.append(Block(at, at + len(text), name, whole=True))
        at += len(text) + len(BETWEEN)
    return pack_document(replace(note, blocks=tuple(blocks)))


def _holds(edge: Edge, now: datetime) -> bool:
    return edge.valid_from <= now and (edge.valid_to is None or edge.valid_to > now)


def _is_settled(edge: Edge, reason: str, last: State) -> bool:
    """Return whether the edge's target is settled: a sentence names it and says so.

    The sentence may be the reason, or be in the last version if that version began after the edge.
    """
    own = sentences(last.content) if last.valid_from > edge.valid_from else []
    name = _last_part(edge)
    return any(
        says(sentence, name) and settled(edge.target.name, sentence) for sentence in (reason, *own)
    )


def _last_part(edge: Edge) -> str:
    return edge.target.name.rpartition("/")[2]


def _written_states(store: Store, space: int, names: Iterable[str]) -> Iterator[State]:
    """Yield the current states of those names that are topics; of a promotion, its last source."""
    for name in names:
        with suppress(NotFound):
            state = store.topics.state(space, name, NOW)
            origin = state.promotion
            yield state if origin is None else store.topics.version(space, name, origin["of"], NOW)
