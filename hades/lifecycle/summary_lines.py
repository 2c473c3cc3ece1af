"""Summary lines: the lines that say what happened in a period, and the choice of those that fit.

Nothing is written anew here: a line is made of sentences as they stand in the texts. Of every
topic it tells what is new, or what changed from what to what; of told facts which began and
which ended. What was replaced or forgotten within the period is said as such. The lines that say
most are taken first: decisions, what is important, and what is rare; what only says another line
again comes last.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from math import log

from hades.context.key_sentences import key_sentences
from hades.context.tokens import MINILM, count, cut_words
from hades.domain.graph import Edge
from hades.domain.statement import day, statement
from hades.domain.summaries import Cited, SummaryPeriod, cite
from hades.domain.times import AsOf
from hades.errors import NotFound
from hades.language.english.notable import DECISION, NOTABLE
from hades.language.english.replacement import said_words, share_words
from hades.language.sentences import plain_sentence, sentences
from hades.store.archive import LOST
from hades.store.store import Store
from hades.store.summaries import StateOfPeriod

LINE_TOKENS = 40
"""Of the words of a line, without what it cites; of a change, of each of its two sides half."""
HEAD_TOKENS = 8
"""What stands before a line in an answer: its number and its day."""
CHARACTERS_READ = 8_000
"""Of one state."""
ALIKE = 0.3
"""Two sentences that share so much of their words may be one before and after a change."""
DECIDED, CHANGED, NEW = "Decided", "Changed", "New"
_DECISION, _FACT, _TELLING = 1.0, 1.1, 0.1
_USUAL, _KIND = 1.0, 1.0
"""What speaks for a line, beside the importance of its state, and what speaks against it: that
many lines have its words, and that many are of its kind of topics (docs/lab/measurements.md)."""
USED_BY = 3
"""What so many lines say is not usual yet: of an accident three notes may tell."""
_KIND_OF_TOPIC = re.compile(r"[/\s:.\d_-]")
"""The kind is what stands before this: `incident/INC-31`, `meeting 5 May`."""
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
    since: datetime,
    until: datetime,
    states: Iterable[StateOfPeriod],
    edges: Iterable[Edge],
    *,
    known: datetime | None = None,
    lost_ok: bool = False,
) -> tuple[list[Line], int]:
    """What the states and edges of a time tell, and how many tokens the states have.

    What was before is told as it was `known`; with `lost_ok`, without what the archive lost.
    """
    then = AsOf(max(since, _SECOND_MOMENT) - _MOMENT, known)
    by_topic = sorted((one for one in states if one.kind != "code"), key=lambda one: one.topic)
    found, tokens = list[Line](), 0
    for topic, own in groupby(by_topic, key=lambda one: one.topic):
        before = ""
        with suppress(NotFound, *(LOST if lost_ok else ())):
            before = store.topics.state(space, topic, then).content
        by_id = {one.id: one for one in own}
        texts = store.topics.contents(by_id, lost_ok=lost_ok)
        tokens += sum(count([text[:CHARACTERS_READ] for text in texts.values()]))
        said = {state: _sentences(texts[state]) for state in by_id if state in texts}
        if said:
            found += _of_topic(by_id[next(reversed(said))], said, _sentences(before))
    return found + [_of_edge(edge, until) for edge in edges], tokens


def _of_topic(
    last: StateOfPeriod, said: Mapping[int, Sequence[str]], before: Sequence[str]
) -> Iterator[Line]:
    """What a topic told in a time, and what it replaced; `said` is in the order of time."""
    now, *earlier = said[last.id], *(texts for state, texts in said.items() if state != last.id)
    gone = [[text for text in texts if text not in now] for texts in (before, *earlier)]
    left = [_best(texts) for texts in gone if texts]
    new = [text for text in now if text not in before]
    section, text = CHANGED, ""
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
            section, worth = DECIDED, worth + _DECISION
        yield Line(section, cut_words(text, LINE_TOKENS), (last.topic, last.version), worth)


def _of_edge(edge: Edge, until: datetime) -> Line:
    ended = edge.valid_to is not None and edge.valid_to < until
    told = f"{'Ended: ' * ended}{statement(edge)}."
    return Line(CHANGED, cut_words(plain_sentence(told), LINE_TOKENS), ("", edge.id), _FACT)


def _change(texts: Sequence[str]) -> str:
    """Texts as they followed one another; where a line cannot hold all, the last two."""
    whole = " → ".join(texts)
    if len(texts) == 1 or count([whole])[0] <= LINE_TOKENS:
        return whole
    return f"{cut_words(texts[-2], LINE_TOKENS // 2)} → {texts[-1]}"


def _sentences(content: str) -> list[str]:
    return [plain_sentence(one) for one in sentences(content[:CHARACTERS_READ])]


def _best(texts: Sequence[str]) -> str:
    """The sentences that say most, as many as a line holds."""
    return cut_words(" ".join(key_sentences(texts, MINILM, LINE_TOKENS)), LINE_TOKENS)


def chosen_lines(lines: Sequence[Line], room: int) -> list[Line]:
    """The lines that say most within so many tokens of an answer, best first."""
    said = [frozenset(w for w in said_words(one.text) if not w.isdigit()) for one in lines]
    kind = [_KIND_OF_TOPIC.split(one.cited[0], maxsplit=1)[0] for one in lines]
    uses, sizes = Counter(word for words in said for word in words), Counter(kind)
    # What is alone of its kind is as rare as the rarest of the others.
    alone = min((size for size in sizes.values() if size > 1), default=1)

    def worth(at: int) -> float:
        often = sum(log(max(1, uses[word] / USED_BY)) for word in said[at])
        usual = often / max(1, len(said[at]))
        many = log(alone if sizes[kind[at]] == 1 else sizes[kind[at]])
        return lines[at].worth - (_USUAL * usual + _KIND * many) / log(len(lines) + 1)

    tokens = count([one.text for one in lines])
    kept: dict[frozenset[str], Line] = {}
    for at in sorted(range(len(lines)), key=worth, reverse=True):
        # The same with another number is told once, unless it was decided.
        line = lines[at]
        key = said[at] | {cite(line.cited)} if line.section == DECIDED else said[at]
        if key not in kept and tokens[at] + HEAD_TOKENS <= room:
            room -= tokens[at] + HEAD_TOKENS
            kept[key] = line
    return list(kept.values())


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
    since = period.since
    names = (day(since), f"Week from {day(since)}", f"{since:%B} {since.year}")
    return f"{names[period.level - 1]}: {states} states of {topics} topics."
