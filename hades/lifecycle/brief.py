"""A brief: current decisions, open threads, recent changes and facts that just ended.

Rules choose the lines, no model. Tags, names of topics and, in the notes that changed last, words
show decisions and open threads. Changes are read as for a summary, so a line shows what is new in a
topic. All reads are bounded, however large the memory is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import chain

from hades.context.text.briefs import HEADINGS, brief_line, brief_text
from hades.context.tokens import count, cut_words
from hades.domain.brief import Brief, BriefLine
from hades.domain.fitting import fitting
from hades.domain.graph import SUPERSEDES, Edge
from hades.domain.statement import statement
from hades.domain.summaries import Cited
from hades.domain.times import DAY_MICROSECONDS, FOREVER, AsOf, from_micros, to_micros
from hades.language.english.decisions import (
    MARK_STEMS,
    decision_said,
    is_decision,
    is_open,
    is_over,
    open_said,
)
from hades.language.said import ANSWERING
from hades.language.sentences import plain_sentence, sentences
from hades.lifecycle.summary_lines import CHARACTERS_READ, LINE_TOKENS, lines_of
from hades.store.store import Store
from hades.store.summaries import StateOfPeriod

NAMED_READ = 1_000
MARKED_READ = 100
RECENT_READ = 200
EDGES_READ = 200
"""Limits of a read: topics whose name or tags are searched for a mark, topics of these whose text
is read, topics that changed last, and edges."""
NODES_READ = 1_000
"""The most topics below a topic whose edges are read."""
RECENT_MICROSECONDS = 30 * DAY_MICROSECONDS
"""A change is recent if it came at most this long before the last change, even if that was long
ago."""
DOCUMENTS_SHOWN = 5
"""The most documents and files that are listed, since a repository may bring thousands at once."""
SHARES = {"decisions": 0.5, "open_threads": 0.2, "changes": 0.2, "ended": 0.1}
"""The share of the budget of each part. Tokens that a part leaves go to the other parts in this
order."""
OWN_LINES = ("note", "conversation")
"""Kinds of topics that are not listed by name: notes have lines of their own, and conversations
have statements."""
FEW_WORDS = 5
"""A sentence with fewer words (“Not yet fixed.”) is shown after the first one of its note."""
BLOCKING = ("blocked_by",)
"""Relations whose edges are open threads while they hold."""
REPLACED = ("superseded_by", "replaced_by")
"""Relations from a topic that no longer counts to the one that does."""
_FIRST = to_micros(datetime.min)
Lines = list[tuple[BriefLine, Cited]]


@dataclass(slots=True)
class BriefParts:
    """The lines of a brief before they are fitted into a budget, each with its source."""

    decisions: Lines = field(default_factory=Lines)
    open_threads: Lines = field(default_factory=Lines)
    changes: Lines = field(default_factory=Lines)
    ended: Lines = field(default_factory=Lines)


@dataclass(frozen=True, slots=True)
class BriefReader:
    """Reads the lines of a brief: of a space, or of a topic and all below it."""

    store: Store
    space: int
    as_of: AsOf
    topic: str | None = None
    since: int = -FOREVER
    """Only changes from this time on, until before `until`, instead of the recent ones."""
    until: int = FOREVER

    def read(self) -> BriefParts:
        """Return all lines, the latest first in each part."""
        recent = self._recent(RECENT_READ, notes=True)
        notes = [row for row in recent if not row.forgotten]
        marked = self._marked()
        texts = self._texts([*notes, *(row for rows in marked.values() for row in rows)])
        gone = {edge.source.name for edge in self._of_relations(REPLACED)}
        over = defaultdict[str, set[str]](set)
        for edge in self._of_relations((SUPERSEDES,)):
            over[edge.target.name].add(str(edge.metadata.get("said")))
        parts = BriefParts()
        for name, says, other in (
            ("decisions", decision_said, open_said),
            ("open_threads", open_said, decision_said),
        ):
            section = getattr(parts, name)
            by_mark = {row.id for row in marked[name]}
            for row in sorted({*marked[name], *notes}, key=_by_time, reverse=True):
                text = texts.get(row.id, "")
                if row.topic in gone or is_over(row.topic, text):
                    continue
                is_marked = row.id in by_mark
                gone_by = frozenset(over[row.topic])
                part = _telling_part(text, says, other, gone_by, is_marked=is_marked)
                if part:
                    section.append(self._line(row, part))
        blocking = filter(self._is_about, self._of_relations(BLOCKING))
        parts.open_threads += map(self._fact, blocking)
        parts.open_threads.sort(key=lambda line: line[0].at, reverse=True)
        documents = self._recent(DOCUMENTS_SHOWN, notes=False)
        self._add_changes(parts, [*recent, *documents], self._edges())
        return parts

    def _recent(self, limit: int, *, notes: bool) -> list[StateOfPeriod]:
        """Return the notes, or the other topics, that changed last."""
        return self.store.activity.topics(
            self.space,
            self.as_of,
            limit,
            topic=self.topic,
            notes=notes,
            since=self.since,
            until=self.until,
        )

    def _marked(self) -> dict[str, list[StateOfPeriod]]:
        """Return the topics that a tag or their name marks as a decision, and as open."""
        rows = self.store.activity.topics(
            self.space, self.as_of, NAMED_READ, topic=self.topic, marks=MARK_STEMS
        )
        held = [row for row in rows if not row.forgotten]
        return {
            name: [row for row in held if _is_marked(row.topic, row.tags, is_marked)][:MARKED_READ]
            for name, is_marked in (("decisions", is_decision), ("open_threads", is_open))
        }

    def _texts(self, rows: Iterable[StateOfPeriod]) -> dict[int, str]:
        texts = self.store.topics.contents({row.id for row in rows}, lost_ok=True)
        return {state: text[:CHARACTERS_READ] for state, text in texts.items()}

    def _line(self, row: StateOfPeriod, text: str) -> tuple[BriefLine, Cited]:
        # A statement that answers something is not clear without the words that it quotes.
        tokens = 2 * LINE_TOKENS if ANSWERING in text else LINE_TOKENS
        at = from_micros(row.valid_from)
        short = whole_sentences(text, tokens)
        return BriefLine(f"{row.topic}@{row.version}", at, short), (row.topic, row.version)

    # Edges

    def is_known(self) -> bool:
        """Return whether there is a topic or an entity of this name, or a topic below it."""
        return bool(self._nodes())

    def _nodes(self) -> list[int] | None:
        """Return the nodes of the topic and all below it; None for the whole space."""
        if self.topic is None:
            return None
        nodes = self.store.activity.nodes(self.space, self.topic, NODES_READ)
        return nodes or self.store.entities.own_nodes(self.space, self.topic)

    def _edges(self) -> list[Edge]:
        """Return the edges that began or ended last, the latest first."""
        nodes = self._nodes()
        return self._edges_of_ids(
            self.store.activity.edges(self.space, self.as_of, EDGES_READ, nodes)
        )

    def _of_relations(self, relations: Iterable[str]) -> list[Edge]:
        """Return edges of these relations that hold, the last written first."""
        activity = self.store.activity
        of_each = [
            activity.edges_of(self.space, self.as_of, name, EDGES_READ) for name in relations
        ]
        return self._edges_of_ids(list(chain.from_iterable(of_each)))

    def _edges_of_ids(self, ids: Sequence[int]) -> list[Edge]:
        edges = self.store.edges.read(self.space, ids, self.as_of) if ids else {}
        return [edges[id_] for id_ in ids if id_ in edges]

    def _is_about(self, edge: Edge) -> bool:
        ends = (edge.source.name, edge.target.name)
        return self.topic is None or any(
            end == self.topic or end.startswith(f"{self.topic}/") for end in ends
        )

    def _fact(self, edge: Edge, then: Edge | None = None) -> tuple[BriefLine, Cited]:
        text = statement(edge)
        if then is not None:
            is_same = (then.source, then.relation) == (edge.source, edge.relation)
            text += f"; then {then.target if is_same else statement(then)}"
        at = edge.valid_to if edge.has_ended(self._now) else edge.valid_from
        line = BriefLine(edge.cite, at or edge.valid_from, cut_words(text, LINE_TOKENS))
        return line, ("", edge.id)

    @property
    def _now(self) -> datetime:
        return from_micros(self.store.moment(self.as_of)[0])

    # Changes

    def _add_changes(
        self, parts: BriefParts, recent: Sequence[StateOfPeriod], edges: Sequence[Edge]
    ) -> None:
        """Add the changes that other parts do not show, and the facts that ended."""
        facts = {edge.id: self._fact(edge) for edge in edges}
        times = {edge: to_micros(line.at) for edge, (line, _) in facts.items()}
        since = self.since
        if since == -FOREVER:
            last = max([*(row.valid_from for row in recent), *times.values()], default=0)
            since = max(last - RECENT_MICROSECONDS, _FIRST)
        by_id = {edge.id: edge for edge in edges}
        dated = [edge for edge in edges if since <= times[edge.id] < self.until]
        ended = {edge.id: edge for edge in dated if edge.has_ended(self._now)}
        parts.ended = [
            self._fact(edge, by_id.get(edge.superseded_by or 0)) for edge in ended.values()
        ]
        shown = {cited for section in (parts.decisions, parts.open_threads) for _, cited in section}
        shown |= {("", edge.superseded_by or 0) for edge in ended.values()}
        began = [facts[edge.id] for edge in dated if edge.id not in ended]
        rows = [
            row
            for row in recent
            if since <= row.valid_from and (row.topic, row.version) not in shown
        ]
        parts.changes = self._news(rows, since) + self._documents(rows)
        parts.changes += [fact for fact in began if fact[1] not in shown]
        parts.changes.sort(key=lambda line: line[0].at, reverse=True)

    def _news(self, rows: Sequence[StateOfPeriod], since: int) -> Lines:
        """Return a line for each change of a note, and for each topic that was forgotten."""
        by_cite = {(row.topic, row.version): row for row in rows}
        states = [row for row in rows if row.kind == "note"]
        period = from_micros(since), self._now
        lines, _ = lines_of(
            self.store, self.space, *period, states, (), known=self.as_of.known, lost_ok=True
        )
        return [self._line(by_cite[line.cited], line.text) for line in lines]

    def _documents(self, rows: Iterable[StateOfPeriod]) -> Lines:
        """Return the documents and files of code, by name only."""
        others = (row for row in rows if row.kind not in OWN_LINES and not row.forgotten)
        return [self._line(row, f"{row.kind} {row.topic}") for row in others]


def make_brief(reader: BriefReader, space: str, budget: int) -> Brief:
    """Return the brief of a reader's lines, as many as fit into `budget` tokens."""
    parts = reader.read()
    lines = {name: [line for line, _ in getattr(parts, name)] for name in HEADINGS}
    kept, left_out = fitted(lines, budget)
    text = brief_text(kept, past=not reader.as_of.is_now)
    return Brief(
        space=space,
        topic=reader.topic,
        **{name: tuple(section) for name, section in kept.items()},
        budget=budget,
        left_out=left_out,
        text=text,
        tokens=count([text])[0],
    )


def fitted(
    lines: dict[str, list[BriefLine]], budget: int
) -> tuple[dict[str, list[BriefLine]], int]:
    """Return the first lines of each part that fit, and how many were left out."""
    room = budget - sum(count([HEADINGS[name]])[0] for name, section in lines.items() if section)
    sizes = {name: count([brief_line(line) for line in section]) for name, section in lines.items()}
    taken = dict.fromkeys(lines, 0)
    for shares in (SHARES, dict.fromkeys(SHARES, 1.0)):  # then the rest, in order
        start = room
        for name, share in shares.items():
            left = sizes[name][taken[name] :]
            fits = len(fitting(left, min(room, int(start * share))))
            room -= sum(left[:fits])
            taken[name] += fits
    kept = {name: section[: taken[name]] for name, section in lines.items()}
    return kept, sum(len(section) for section in lines.values()) - sum(taken.values())


@lru_cache(maxsize=4 * NAMED_READ)
def _is_marked(topic: str, tags: tuple[str, ...], says: Callable[..., bool]) -> bool:
    return says(topic, tags)


@lru_cache(maxsize=4 * RECENT_READ)
def _telling_part(
    text: str,
    says: Callable[[str], bool],
    other: Callable[[str], bool],
    over: frozenset[str],
    *,
    is_marked: bool,
) -> str:
    """Return the part of a note's text that is a decision, or an open thread; "" if nothing is.

    If the note is marked, all its sentences count except those of the `other` part of the brief.
    Sentences in `over` are superseded and left out.
    """
    holding = (part for part in sentences(text) if part.strip() not in over)
    plain = [sentence for part in holding if (sentence := plain_sentence(part))]
    if is_marked:
        return " ".join([sentence for sentence in plain if not other(sentence)] or plain)
    telling = [sentence for sentence in plain if says(sentence)]
    few = 0 < sum(len(sentence.split()) for sentence in telling) < FEW_WORDS
    if plain and few and not says(plain[0]) and not other(plain[0]):
        telling = [plain[0], *telling]
    return " ".join(telling)


def whole_sentences(text: str, tokens: int) -> str:
    """Return the first sentences of a text that fit into `tokens`.

    Half a sentence may say the opposite of the whole sentence. So a first sentence that does not
    fit is cut only if it is longer than twice as many tokens.
    """
    parts = sentences(text)
    fits = len(fitting(count(parts), tokens))
    return " ".join(parts[:fits]) if fits else cut_words(text, 2 * tokens)


def _by_time(row: StateOfPeriod) -> tuple[int, int]:
    return row.valid_from, row.id
