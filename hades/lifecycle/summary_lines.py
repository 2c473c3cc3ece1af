"""Summary lines: the lines that say what happened in a period, and the choice of those that fit.

A line quotes sentences of the texts. For each topic it shows what is new, or the old and the new
sentence of a change; for told facts, which began and which ended. A line says so if something was
replaced or forgotten within the period. Decisions, important and rare lines are chosen first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from math import log

from hades.context.packer import key_sentences
from hades.context.tokens import MINILM, count, cut_words
from hades.domain.fitting import fitting
from hades.domain.graph import Edge
from hades.domain.statement import day, statement
from hades.domain.summaries import LEFT_OUT, Cited, SummaryPeriod, cite
from hades.domain.times import AsOf
from hades.errors import NotFound
from hades.language.english.lexicon import DECISION, NOTABLE
from hades.language.english.replacement import said_words, share_words
from hades.language.names import DIGITS
from hades.language.sentences import plain_sentence, sentences
from hades.store.archive import LOST
from hades.store.store import Store
from hades.store.summaries import StateOfPeriod

LINE_TOKENS = 40
"""The most tokens of a line, without its citation; each side of a change gets half."""
HEAD_TOKENS = 8
"""Tokens of the number and the day before a line in an answer."""
CHARACTERS_READ = 8_000
"""Characters read of one state."""
ALIKE = 0.3
"""From this share of common words on, two sentences may be the old and the new form of one
sentence."""
DECIDED = "Decided"
CHANGED = "Changed"
NEW = "New"
_DECISION = 1.0
_FACT = 1.1
_TELLING = 0.1
_USUAL = 1.0
_KIND = 1.0
"""Weights of a line's worth, which starts with the importance of its state. A decision, a fact and
an informative word add to it; words and kinds of topics that many lines have take from it
(docs/lab/measurements.md)."""
SERIES_FROM = 4
"""From this many on, lines that differ only in the numbers of their topics' names become one line:
`12 tasks: Task 0 done. … Task 11 done.`"""
USED_BY = 3
"""How many lines may share a word before it counts as usual: three notes may report one
accident."""
_KIND_OF_TOPIC = re.compile(r"[/\s:.\d_-]")
"""The end of the kind in a topic's name: `incident` in `incident/INC-31`, `meeting` in
`meeting 5 May`."""
_MOMENT = timedelta(microseconds=1)
_SECOND_MOMENT = datetime.min.replace(tzinfo=UTC) + _MOMENT
"""The earliest time that has a moment before it."""


@dataclass(frozen=True, slots=True)
class Line:
    """A candidate for a line of a summary."""

    section: str
    text: str
    cited: Cited
    worth: float
    also: tuple[Cited, ...] = ()
    """Further sources of the line."""
    of: int = 1
    """How many lines it stands for."""

    def __str__(self) -> str:
        return f"- {self.text} {cite(self.cited, *self.also)}"


def lines_of(
    store: Store,
    space: int,
    since: datetime,
    until: datetime,
    states: Iterable[StateOfPeriod],
    edges: Iterable[Edge],
    *,
    known: datetime | None = None,
    lost_ok: bool = False,
) -> tuple[list[Line], int]:
    """Return the lines of a period's states and edges, and the tokens of the states.

    States before the period are read as known at `known`. With `lost_ok`, texts that the archive
    lost are left out.
    """
    then = AsOf(max(since, _SECOND_MOMENT) - _MOMENT, known)
    by_topic = sorted((item for item in states if item.kind != "code"), key=lambda item: item.topic)
    lines = list[Line]()
    tokens = 0
    for topic, own in groupby(by_topic, key=lambda item: item.topic):
        before = ""
        with suppress(NotFound, *(LOST if lost_ok else ())):
            before = store.topics.state(space, topic, then).content
        by_id = {item.id: item for item in own}
        texts = store.topics.contents(by_id, lost_ok=lost_ok)
        tokens += sum(count([text[:CHARACTERS_READ] for text in texts.values()]))
        told = {state: _sentences(texts[state]) for state in by_id if state in texts}
        if told:
            lines += _of_topic(by_id[next(reversed(told))], told, _sentences(before))
    return lines + [_of_edge(edge, until) for edge in edges], tokens


def _of_topic(
    last: StateOfPeriod, told: Mapping[int, Sequence[str]], before: Sequence[str]
) -> Iterator[Line]:
    """Yield at most one line: what is new in a topic and what it replaced.

    `told` maps the period's states, in order of time, to their sentences.
    """
    now, *earlier = (
        told[last.id],
        *(texts for state, texts in told.items() if state != last.id),
    )
    gone = [[text for text in texts if text not in now] for texts in (before, *earlier)]
    left = [_best(texts) for texts in gone if texts]
    new = [text for text in now if text not in before]
    section = CHANGED
    text = ""
    if last.forgotten:
        text = f"No longer known: {left[-1]}" if left else "Forgotten."
    elif new:
        best = _best(new)
        like = [text for text in gone[0] if share_words(best, text) >= ALIKE]
        text = _change(list(dict.fromkeys([*like[:1], *left[bool(gone[0]) :], best])))
        section = CHANGED if before or earlier else NEW
    elif left:
        text = f"No longer said: {left[-1]}"
    if text:
        worth = last.importance + _TELLING * bool(NOTABLE.search(text))
        if DECISION.search(text):
            section = DECIDED
            worth = worth + _DECISION
        yield Line(section, cut_words(text, LINE_TOKENS), (last.topic, last.version), worth)


def _of_edge(edge: Edge, until: datetime) -> Line:
    ended = edge.valid_to is not None and edge.valid_to < until
    text = plain_sentence(f"{'Ended: ' * ended}{statement(edge)}.")
    return Line(CHANGED, cut_words(text, LINE_TOKENS), ("", edge.id), _FACT)


def _change(texts: Sequence[str]) -> str:
    """Join the texts of a change, oldest first; only the last two if a line cannot hold all."""
    whole = " → ".join(texts)
    if len(texts) == 1 or count([whole])[0] <= LINE_TOKENS:
        return whole
    return f"{cut_words(texts[-2], LINE_TOKENS // 2)} → {texts[-1]}"


def _sentences(content: str) -> list[str]:
    return [plain_sentence(sentence) for sentence in sentences(content[:CHARACTERS_READ])]


def _best(texts: Sequence[str]) -> str:
    """Return the most informative sentences, as many as a line holds."""
    return cut_words(" ".join(key_sentences(texts, MINILM, LINE_TOKENS)), LINE_TOKENS)


def chosen_lines(lines: Sequence[Line], room: int) -> list[Line]:
    """Return the lines of most worth that fit into `room` tokens, best first.

    A series of lines becomes one line, which counts them.
    """
    words_of = [frozenset(w for w in said_words(one.text) if not w.isdigit()) for one in lines]
    kind = [_kind(one) for one in lines]
    uses = Counter(word for words in words_of for word in words)
    sizes = Counter(kind)
    # the only line of its kind counts as much as a line of the smallest other kind
    alone = min((size for size in sizes.values() if size > 1), default=1)

    def worth(at: int) -> float:
        often = sum(log(max(1, uses[word] / USED_BY)) for word in words_of[at])
        usual = often / max(1, len(words_of[at]))
        many = log(alone if sizes[kind[at]] == 1 else sizes[kind[at]])
        return lines[at].worth - (_USUAL * usual + _KIND * many) / log(len(lines) + 1)

    series: dict[frozenset[str], list[Line]] = {}
    for at in sorted(range(len(lines)), key=worth, reverse=True):
        line = lines[at]
        decided = {cite(line.cited)} if line.section == DECIDED else set()
        series.setdefault(words_of[at] | _values(line) | decided, []).append(line)
    alike = [_counted(own) if len(own) >= SERIES_FROM else own for own in series.values()]
    each = [line for own in alike for line in own]
    sizes_of_lines = [tokens + HEAD_TOKENS for tokens in count([line.text for line in each])]
    return [each[place] for place in fitting(sizes_of_lines, room, skips=True)]


def _kind(line: Line) -> str:
    return _KIND_OF_TOPIC.split(line.cited[0], maxsplit=1)[0]


def _values(line: Line) -> frozenset[str]:
    """Return the numbers of a line that are not part of its topic's name."""
    named = {number.lstrip("0") for number in DIGITS.findall(line.cited[0])}
    return frozenset(
        word for word in said_words(line.text) if word.isdigit() and word.lstrip("0") not in named
    )


def _counted(series: Sequence[Line]) -> list[Line]:
    """Return one line for a series: how many there are, the first and the last."""
    first, *_, last = sorted(series, key=lambda line: _in_order(f"{line.cited[0]} {line.text}"))
    kind = _kind(first) or "fact"
    what = f"{len(series)} {kind}{'' if kind.endswith('s') else ' notes'}"
    if first.text == last.text:
        what = f"{what}, {first.cited[0]} … {last.cited[0]}"
        texts = [first.text]
    else:
        texts = [cut_words(line.text, LINE_TOKENS // 2) for line in (first, last)]
    text = f"{what}: {' … '.join(texts)}"
    return [replace(first, text=text, also=(last.cited,), of=len(series))]


def _in_order(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts 2 before 10."""
    return [(len(part), part) for part in (one.lstrip("0") for one in DIGITS.findall(text))]


def composed(head: str, lines: Iterable[Line], limit: int, every: int = 0) -> str:
    """Return a summary: head, then lines by section; the last are dropped to fit `limit` tokens.

    If it covers fewer than `every` lines, its last line says how many are left out.
    """
    kept = list(lines)
    while True:
        parts = [cut_words(head, limit)]
        for section in (DECIDED, CHANGED, NEW):
            own = [str(line) for line in kept if line.section == section]
            parts += ["\n".join([f"{section}:", *own])] if own else []
        left_out = every - sum(line.of for line in kept)
        text = "\n\n".join([*parts, *[f"{LEFT_OUT}{left_out}"] * (left_out > 0)])
        if not kept:
            return parts[0]
        if count([text])[0] <= limit:
            return text
        kept.pop()


def headline(period: SummaryPeriod, states: int, topics: int) -> str:
    """Return the first line of a summary: `3 November 2026: 14 states of 9 topics.`"""
    since = period.since
    names = (day(since), f"Week from {day(since)}", f"{since:%B} {since.year}")
    return f"{names[period.level - 1]}: {states} states of {topics} topics."
