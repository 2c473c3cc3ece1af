"""Digest: the lines that say what happened in a period, and the choice of those that fit.

Nothing is written anew here: a line is made of sentences as they stand in the texts. Of every
topic it tells what is new, or what changed from what to what; of told facts which began and
which ended. What was replaced or forgotten within the period is said as such. The lines that say
most are taken first: decisions, changes, what is important, what is not said every day; what only
says another line again comes last.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt

from hades.context.key_sentences import DECISION, NOTABLE, key_sentences
from hades.context.tokens import MINILM, count, cut_words
from hades.domain.graph import Edge
from hades.domain.sentences import sentences
from hades.domain.statement import day, statement
from hades.domain.summaries import Cited, SummaryPeriod, cite
from hades.domain.times import AsOf, from_micros
from hades.errors import NotFound
from hades.lifecycle.synthesis import plain_sentence, said_words, share_words
from hades.store.store import Store
from hades.store.summaries import StateOfPeriod

LINE_TOKENS = 40
"""Of the words of a line, without what it cites; of a change, of each of its two sides half."""
CHARACTERS_READ = 8_000
"""Of one state."""
ALIKE = 0.3
"""Two sentences that share so much of their words may be one before and after a change."""
DECIDED, CHANGED, NEW = "Decided", "Changed", "New"
_WORTH = {DECIDED: 0.6, CHANGED: 0.3, NEW: 0.0}
_FACT, _EARLIER, _TELLING, _RARE, _AGAIN, _SHARED = 1.1, -0.3, 0.1, 0.3, 0.6, 0.1
"""What speaks for a line or against it, beside the importance of its state. What is like the most
others is what is noted every day: of facts that no word marks, in 9 months of generated notes, 0 %
stay in 150 tokens when that speaks for a line, 51 % when it does not count, 67 % when it speaks
against it; by vectors instead of words 0, 28 and 52 %. Each line of a group of topics speaks
against the next one of it: else a few incidents are lost among a hundred small changes."""
_GROUP = re.compile(r"[/\s:.\d_-]")
"""A group of topics is named by what stands before this: `incident/INC-31`, `meeting 5 May`."""
_DIMS = 256
_MOMENT = timedelta(microseconds=1)
_SECOND_MOMENT = datetime.min.replace(tzinfo=UTC) + _MOMENT
"""There is none before the first."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that may stand in a summary."""

    section: str
    text: str
    cited: Cited
    worth: float
    also: tuple[Cited, ...] = ()
    """What else it was read in."""

    def __str__(self) -> str:
        return f"- {self.text} {cite(self.cited, *self.also)}"


def lines_of(
    store: Store,
    space: int,
    period: SummaryPeriod,
    states: Iterable[StateOfPeriod],
    edges: Iterable[Edge],
) -> list[Line]:
    """What the states and edges of a period tell."""
    then = AsOf(max(period.since, _SECOND_MOMENT) - _MOMENT)
    by_topic = sorted((one for one in states if one.kind != "code"), key=lambda one: one.topic)
    found: list[Line] = []
    for topic, own in groupby(by_topic, key=lambda one: one.topic):
        try:
            before = store.topics.state(space, topic, then).content
        except NotFound:
            before = ""
        found += _of_topic(store, list(own), before)
    return found + [_of_edge(edge, period) for edge in edges]


def _of_topic(store: Store, own: Sequence[StateOfPeriod], before: str) -> Iterator[Line]:
    """The line of the last state of a topic, and those of what it replaced in the period."""
    contents = store.topics.contents([one.id for one in own])
    said = {one.id: _sentences(contents[one.id]) for one in own}
    last, first = own[-1], _sentences(before) or (said[own[0].id] if len(own) > 1 else [])
    if last.forgotten:
        yield _line(CHANGED, last, f"No longer known: {_best(first)}" if first else "Forgotten.")
    else:
        new = [one for one in said[last.id] if one not in first]
        gone = [one for one in first if one not in said[last.id]]
        if not first:
            yield _line(NEW, last, _best(said[last.id]))
        elif new:
            yield _line(CHANGED, last, _change(_best(new), gone))
        elif gone:
            yield _line(CHANGED, last, f"No longer said: {_best(gone)}")
    for one, following in pairwise(own):
        kept = [text for text in said[one.id] if text not in (*said[last.id], *first)]
        if kept:
            until = day(from_micros(following.valid_from))
            yield _line(CHANGED, one, f"Until {until}: {_best(kept)}", _EARLIER)


def _of_edge(edge: Edge, period: SummaryPeriod) -> Line:
    ended = edge.valid_to is not None and edge.valid_to < period.until
    told = f"{'Ended: ' * ended}{statement(edge)}."
    return Line(CHANGED, cut_words(plain_sentence(told), LINE_TOKENS), ("", edge.id), _FACT)


def _line(section: str, state: StateOfPeriod, text: str, worth: float = 0.0) -> Line:
    if section != CHANGED or not worth:
        section = DECIDED if DECISION.search(text) else section
    worth += state.importance + _WORTH[section] + _TELLING * bool(NOTABLE.search(text))
    return Line(section, cut_words(text, LINE_TOKENS), (state.topic, state.version), worth)


def _change(new: str, gone: Sequence[str]) -> str:
    """What is said now, after what it replaced where that is clear."""
    share, old = max(((share_words(new, one), one) for one in gone), default=(0.0, ""))
    return new if share < ALIKE else f"{cut_words(old, LINE_TOKENS // 2)} → {new}"


def _sentences(content: str) -> list[str]:
    return [plain_sentence(one) for one in sentences(content[:CHARACTERS_READ])]


def _best(texts: Sequence[str]) -> str:
    """The sentences that say most, as many as a line holds."""
    return cut_words(" ".join(key_sentences(texts, MINILM, LINE_TOKENS)), LINE_TOKENS)


def chosen_lines(lines: Sequence[Line], room: int) -> list[Line]:
    """The lines that say most within so many tokens, best first."""
    if not lines:
        return []
    matrix = _directions(lines)
    usual = matrix @ matrix.mean(0)
    worth = np.array([one.worth for one in lines]) - _RARE * usual / max(usual.max(), 1e-9)
    tokens = count([str(one) for one in lines])
    again, shared = np.zeros(len(lines)), np.zeros(len(lines))
    groups = np.array([_GROUP.split(one.cited[0], maxsplit=1)[0] for one in lines])
    _, own, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    worth -= _RARE * sizes[own] / len(lines)
    kept: dict[frozenset[str], Line] = {}
    while np.isfinite(worth).any():
        at = int(np.argmax(worth - _AGAIN * again - _SHARED * shared))
        worth[at] = -np.inf
        line = lines[at]
        # The same with another number is told once, unless it was decided.
        said = frozenset(word for word in said_words(line.text) if not word.isdigit())
        key = said | {cite(line.cited)} if line.section == DECIDED else said
        if tokens[at] <= room and key not in kept:
            room -= tokens[at]
            kept[key] = line
            again = np.maximum(again, matrix @ matrix[at])
            shared += groups == groups[at]
    return list(kept.values())


def _directions(lines: Sequence[Line]) -> npt.NDArray[np.float32]:
    """A direction a line, by its words: what two lines share brings them together."""
    rows = np.zeros((len(lines), _DIMS), np.float32)
    for at, one in enumerate(lines):
        for word in said_words(one.text):
            rows[at, zlib.crc32(word.encode()) % _DIMS] += 1
    unit: npt.NDArray[np.float32] = rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-9)[:, None]
    return unit


def composed(head: str, lines: Iterable[Line], limit: int) -> str:
    """The text of a summary: a head, and its lines by section; never more tokens than allowed."""
    kept = list(lines)
    while True:
        parts = [cut_words(head, limit)]
        for section in (DECIDED, CHANGED, NEW):
            own = [str(one) for one in kept if one.section == section]
            parts += ["\n".join([f"{section}:", *own])] if own else []
        text = "\n\n".join(parts)
        if not kept or count([text])[0] <= limit:
            return text
        kept.pop()


def headline(period: SummaryPeriod, states: int, topics: int) -> str:
    """`3 November 2026: 14 states of 9 topics.`"""
    name = {1: day(period.since), 2: f"Week from {day(period.since)}"}.get(
        period.level, f"{period.since:%B} {period.since.year}"
    )
    return f"{name}: {states} states of {topics} topics."
