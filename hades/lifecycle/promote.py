"""Promotion: a topic's versions, its edges and what these lead to become one new state.

It is made of what somebody wrote, never of an earlier promotion, so it does not feed on itself:
promoted again without news, nothing changes. Versions are the trace; no edge joins them.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b

from hades.domain.graph import Edge
from hades.domain.names import says
from hades.domain.promotion import Disagreement, Promotion, Side
from hades.domain.proposal import DEFAULT_THRESHOLD
from hades.domain.sentences import sentences
from hades.domain.settled import settled
from hades.domain.statement import statement
from hades.domain.times import NOW, from_micros, iso
from hades.domain.topics import PROMOTION, State
from hades.errors import Conflict, InvalidInput, NotFound
from hades.lifecycle import facts, review
from hades.lifecycle.disagreement import edge_disagreements, sentence_disagreements
from hades.lifecycle.synthesis import (
    HEADS,
    SAME_WORDS,
    SENTENCES_AT_MOST,
    changed_words,
    cited_edge,
    compare_versions,
    sentences_of_state,
    share_words,
)
from hades.models.chat import open_chat_model
from hades.models.checked import CheckedReply, cited_sentences
from hades.store.records import Draft, EdgeFilter, Write
from hades.store.store import Store

TRACE_VERSIONS = 10
RELATED_AT_MOST = 8
ENDED_AT_MOST = 10
REASONS = review.BLOCKED | {*review.ENABLING, "because", "contradicts"}
"""Relations that say why."""
REPLY_TOKENS_AT_MOST = 400
TASK = "Write the new state of one topic: what holds now, what changed and when, and why."


@dataclass(frozen=True, slots=True)
class ModelText:
    """What a model made of the sources: sentences that they support, with citations."""

    text: str = ""
    mark: str = ""
    """What it was made of."""
    reply: CheckedReply = field(default_factory=CheckedReply)


@dataclass(frozen=True, slots=True)
class Material:
    """All that a promotion is made of."""

    topic: str
    reason: str
    latest: State
    trace: tuple[State, ...]
    """What somebody wrote, oldest first; no promotions."""
    edges: tuple[Edge, ...]
    """Those that hold and somebody told."""
    derived: tuple[Edge, ...]
    ended: tuple[Edge, ...]
    related: tuple[State, ...]
    """What is at the other end of edges: to be compared, not to be quoted."""
    holds: tuple[Side, ...]
    changed: tuple[tuple[Side, Side], ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """How all of it is cited."""
        states = (state.id for state in (*self.trace, *self.related))
        return (*states, *(f"edge {edge.id}" for edge in (*self.edges, *self.ended)))

    @property
    def mark(self) -> str:
        """Another one whenever anything of it changed."""
        edges = [
            (edge.id, iso(edge.valid_from), edge.valid_to and iso(edge.valid_to), edge.evidence)
            for edge in (*self.edges, *self.ended)
        ]
        said = json.dumps([self.reason, self.sources, edges]).encode()
        return blake2b(said, digest_size=8).hexdigest()

    @property
    def statements(self) -> list[tuple[str, str]]:
        """What a model may say, a statement each: how it is cited, and its text."""
        return [
            *((one.source, one.text) for one in self.holds),
            *((new.source, changed_words(old, new)) for old, new in self.changed),
            *((f"edge {one.id}", f"{statement(one)}.") for one in self.edges),
            ("reason given", self.reason),
        ]

    @property
    def is_news(self) -> bool:
        """Whether the latest state is not already a promotion of this."""
        return (self.latest.promotion or {}).get("mark") != self.mark


def gather(
    store: Store, space: int, topic: str, reason: str, near: Callable[[str, str], bool]
) -> Material:
    """Everything a promotion of a topic is made of, as it is now.

    `near` tells whether two sentences are near in meaning.
    """
    latest = store.topics.state(space, topic, NOW)
    now = from_micros(store.now())
    written: deque[State] = deque(maxlen=TRACE_VERSIONS)
    for state in store.topics.history(space, topic, NOW):
        if state.forgotten:
            written.clear()
        elif state.promotion is None and state.valid_from <= max(now, latest.valid_from):
            written.append(state)
    node = store.entities.node(space, topic)
    told = store.edges.find(space, EdgeFilter(node=node, any_time=True), NOW)
    holding = [edge for edge in told if _holds(edge, now)]
    ended = [edge for edge in told if edge.valid_to is not None and edge.valid_to <= now]
    names = dict.fromkeys(
        end.name for edge in holding for end in (edge.source, edge.target) if end.name != topic
    )
    trace = sorted(written, key=lambda state: (state.valid_from, state.version)) or [latest]
    if any(len(sentences(state.content)) > SENTENCES_AT_MOST for state in trace):
        most = f"more than {SENTENCES_AT_MOST} sentences"
        raise InvalidInput(f"{topic!r} has {most}: too many to promote, split it.")
    holds, changed = compare_versions(
        trace, lambda one, other: share_words(one, other) >= SAME_WORDS or near(one, other)
    )
    return Material(
        topic=topic,
        reason=reason,
        latest=latest,
        trace=tuple(trace),
        edges=tuple(holding),
        derived=tuple(store.derived_edges.find(space, EdgeFilter(node=node), NOW)),
        ended=tuple(ended[-ENDED_AT_MOST:]),
        related=tuple(_written_states(store, space, names))[:RELATED_AT_MOST],
        holds=tuple(holds),
        changed=tuple(changed),
    )


def ask_model(found: Material, name: str, *, dry_run: bool) -> ModelText:
    """The sentences of a model that its sources support; in a dry run, what it would take."""
    cites, texts = zip(*found.statements, strict=True)
    asked = open_chat_model(name), TASK, texts
    reply = cited_sentences(*asked, max_tokens=REPLY_TOKENS_AT_MOST, dry_run=dry_run)
    text = "\n".join(
        f"- {one.text} " + " ".join(f"[{cites[number - 1]}]" for number in one.cited)
        for one in reply.held
    )
    return ModelText(text, found.mark, reply)


@dataclass(frozen=True, slots=True)
class Promoter:
    """One promotion within one write."""

    store: Store
    write: Write
    space: int
    actor: str
    found: Material
    near: Callable[[str, str], bool]

    def run(self, model: ModelText, *, dry_run: bool) -> Promotion:
        """Settle edges and conflicts, write the new state.

        Conflict when what a model was asked about changed meanwhile.
        """
        found, store, space = self.found, self.store, self.space
        if model.mark not in ("", found.mark):
            raise Conflict(f"{found.topic!r} or one of its sources changed: promote it again.")
        waiting = {one.id for one in store.proposals.find(space, "waiting", 0, None)}
        own = [one for one in (*found.edges, *found.derived) if one.source.name == found.topic]
        others = [one for state in found.related for one in sentences_of_state(state)]
        conflicts = [
            *edge_disagreements(own, found.ended),
            *sentence_disagreements(found.holds, others),
        ]
        closed, opened = self._settle_edges()
        closed += self._settle_conflicts(conflicts)
        lost = {(one.sides[0].source, one.sides[0].text) for one in conflicts if one.taken[0] == 1}
        holds = [one for one in found.holds if (one.source, one.text) not in lost]
        said_now = replace(found.latest, content=found.reason, valid_from=self._at)
        review.review(store, self.write, space, said_now, self.actor)
        after = gather(store, space, found.topic, found.reason, self.near)
        by = "model" if model.text else "extractive"
        said = {"by": by, "reason": found.reason, "of": after.trace[-1].version}
        said |= {"promoted_from": list(after.sources), "mark": after.mark}
        draft = Draft(
            content=_text(after, holds, conflicts, model.text),
            metadata={**found.latest.metadata, PROMOTION: said},
            confidence=min((one.confidence for one in holds), default=1.0),
            valid_from=self._at,
        )
        state, _ = store.topics.add(self.write, space, found.topic, draft)
        ended = {edge.id for edge in closed}
        proposals = store.proposals.find(space, "waiting", 0, None)
        return Promotion(
            state=state,
            before=found.latest,
            changed=True,
            by=by,
            sources=after.sources,
            kept=tuple(edge for edge in found.edges if edge.id not in ended),
            closed=tuple(store.edges.get(space, edge.id) for edge in closed),
            opened=tuple(opened),
            proposed=tuple(one for one in proposals if one.id not in waiting),
            conflicts=tuple(conflicts),
            dropped=model.reply.dropped,
            why=model.reply.why,
            usage=model.reply.usage,
            dry_run=dry_run,
        )

    @property
    def _at(self) -> datetime:
        return max(from_micros(self.write.at), self.found.latest.valid_from)

    def _settle_edges(self) -> tuple[list[Edge], list[Edge]]:
        """Close the edges to what is no longer in the way and open their inverse, or propose it.

        The reason, or the topic's last version, says so and names it: closed. Only the note
        about what was in the way says so: proposed.
        """
        found, blocking = self.found, review.blocking(self.store)
        states = {state.topic: state for state in found.related}
        last = found.trace[-1]
        closed: list[Edge] = []
        opened: list[Edge] = []
        for edge in found.edges:
            if edge.source.name != found.topic or review.relation_key(edge) not in blocking:
                continue
            target, about = edge.target.name, states.get(edge.target.name)
            own = sentences(last.content) if last.valid_from > edge.valid_from else []
            name = target.rpartition("/")[2]
            if any(says(one, name) and settled(target, one) for one in (found.reason, *own)):
                done = facts.change_fact(
                    *(self.store, self.write, self.space, found.topic, edge.relation, [edge]),
                    at=self._at,
                    to=None,
                    new_relation=None,
                    content=None,
                    evidence=found.reason,
                )
                closed += done.closed
                opened += done.opened
            elif about is not None and about.valid_from > edge.valid_from:
                word = settled(target, about.content)
                if word:
                    self._propose_end(edge, f"{about.id} says “{word}”")
        return closed, opened

    def _settle_conflicts(self, conflicts: list[Disagreement]) -> list[Edge]:
        """End the edge that lost by a rule; what no rule decides waits for review."""
        told = {f"edge {edge.id}": edge for edge in self.found.edges}
        closed = []
        for one in conflicts:
            side, _ = one.taken
            loser = told.get(one.sides[1 - (side or 0)].source)
            winner = told.get(one.sides[side or 0].source)
            if loser is not None and side is None:
                self._propose_end(loser, str(one))
            elif side is None and "@" in one.sides[1].source:
                other = one.sides[1].source.rpartition("@")[0]
                ends = {"source": self.found.topic, "relation": "contradicts", "target": other}
                self._propose("relate", {**ends, "evidence": str(one)}, "sources disagree")
            elif loser is not None and loser not in closed:
                later = winner is not None and winner.valid_from > loser.valid_from
                ends_at = winner.valid_from if winner is not None and later else self._at
                by = None if winner is None else winner.id
                self.store.edges.revise(self.write, loser.id, valid_to=ends_at, superseded_by=by)
                closed.append(loser)
        return closed

    def _propose_end(self, edge: Edge, why: str) -> None:
        ends = {"source": edge.source.name, "relation": edge.relation, "target": edge.target.name}
        self._propose("unrelate", {**ends, "at": iso(self._at)}, why)

    def _propose(self, kind: str, fields: dict[str, str], why: str) -> None:
        """Let a change wait for review, unless it waits already or was rejected."""
        ends = {name: fields[name] for name in ("source", "relation", "target")}
        for one in self.store.proposals.find(self.space, None, 0, None):
            if one.kind == kind and one.status != "applied" and ends.items() <= one.fields.items():
                return
        self.store.proposals.add(
            *(self.write, self.space, self.actor, kind, fields),
            confidence=review.SETTLED,
            threshold=DEFAULT_THRESHOLD,
            why=why,
        )


def _text(
    after: Material,
    holds: list[Side],
    conflicts: list[Disagreement],
    by_model: str,
) -> str:
    """The new state in words; a model's sentences stand for all but the reasons and conflicts.

    Of other topics it has the names alone: what they say would stay here when they are purged.
    """
    why = [edge for edge in after.edges if edge.relation in REASONS]
    changed = [changed_words(old, new) for old, new in after.changed]
    parts = (
        [f"{one.text} [{one.source}]" for one in holds if not by_model],
        [*changed, *map(cited_edge, after.ended)] if not by_model else [],
        [f"{after.reason} [reason given]", *map(cited_edge, why)],
        [str(_without_others(one, after.topic)) for one in conflicts],
        [cited_edge(edge) for edge in after.edges if edge not in why and not by_model],
    )
    said = [
        "\n".join([head, *(f"- {' '.join(line.split())}" for line in lines)])
        for head, lines in zip(HEADS, parts, strict=True)
        if lines
    ]
    return "\n\n".join([by_model] * bool(by_model) + said)


def _without_others(conflict: Disagreement, topic: str) -> Disagreement:
    """A conflict without the words of other topics."""
    one, other = (
        replace(side, text="") if side.source.rpartition("@")[0] not in ("", topic) else side
        for side in conflict.sides
    )
    return Disagreement((one, other))


def _holds(edge: Edge, now: datetime) -> bool:
    return edge.valid_from <= now and (edge.valid_to is None or edge.valid_to > now)


def _written_states(store: Store, space: int, names: Iterable[str]) -> Iterator[State]:
    """The current states of those names that are topics; of a promotion, what it was made of."""
    for name in names:
        with suppress(NotFound):
            state = store.topics.state(space, name, NOW)
            made = state.promotion
            yield state if made is None else store.topics.version(space, name, made["of"], NOW)
