"""Summaries: their periods (days, weeks, months) and their lines.

A summary is the state of a topic such as `summary/2026-11-03`, `summary/2026-W45` or
`summary/2026-11`. Each line ends with its source: `[topic@version]`, or `[edge 12]` for a told fact
that began or ended.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hades.domain.answer import Usage
from hades.domain.times import DAY_MICROSECONDS, shift, to_micros

PREFIX = "summary/"
KIND = "summary"
"""The kind of topics that only `consolidate` writes. They are not indexed."""
DAILY = 1
WEEKLY = 2
MONTHLY = 3
LEVELS = {"daily": DAILY, "weekly": WEEKLY, "monthly": MONTHLY}
_UNITS = {DAILY: "day", WEEKLY: "week", MONTHLY: "month"}
TOKENS = {DAILY: 400, WEEKLY: 600, MONTHLY: 800}
"""The most tokens of a summary."""
SHARES = {DAILY: 1 / 3, WEEKLY: 1 / 6, MONTHLY: 1 / 11}
TOKENS_AT_LEAST = 320
"""The token limit of an answer from a summary: the share SHARES of its originals' tokens, but at
least TOKENS_AT_LEAST and at most TOKENS."""
LEAST_DAYS = {MONTHLY: 27, WEEKLY: 6, DAILY: 0.5}
"""A question about more days than this is answered from summaries of this level."""


def answer_tokens(level: int, originals: int) -> int:
    """Return the token limit of an answer from a summary of texts with `originals` tokens."""
    return min(TOKENS[level], max(TOKENS_AT_LEAST, int(SHARES[level] * originals)))


@dataclass(frozen=True, slots=True, order=True)
class SummaryPeriod:
    """A day, a week that starts on Monday, or a month, in UTC."""

    since: datetime
    level: int

    @classmethod
    def around(cls, level: int, day: int) -> SummaryPeriod:
        """Return the period that contains a day; days are counted from 1970."""
        start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day)
        if level == WEEKLY:
            start -= timedelta(days=start.weekday())
        return cls(start.replace(day=1) if level == MONTHLY else start, level)

    @property
    def until(self) -> datetime:
        """The end, which is not part of the period."""
        return shift(self.since, 1, _UNITS[self.level])

    @property
    def days(self) -> range:
        """The days, counted from 1970."""
        return range(day_of(to_micros(self.since)), day_of(to_micros(self.until)))

    def lies_in(self, other: SummaryPeriod) -> bool:
        """Return whether another period contains this one."""
        return other.since <= self.since and self.until <= other.until

    @property
    def topic(self) -> str:
        """The topic of the period's summary."""
        if self.level == WEEKLY:
            year, week, _ = self.since.isocalendar()
            return f"{PREFIX}{year:04}-W{week:02}"
        return PREFIX + f"{self.since.date()}"[: 10 if self.level == DAILY else 7]


def day_of(micros: int) -> int:
    """Return the day of a moment, counted from 1970."""
    return micros // DAY_MICROSECONDS


_PLAIN_NAME = re.compile(r'[^\s\[\]"@;]+(?: [^\s\[\]"@;]+)*')
LEFT_OUT = "Left out for lack of space: "
"""The beginning of the last line of a summary that lacks some lines; their number follows."""
Cited = tuple[str, int]
"""A topic and a version; for an edge, "" and its number."""


def cite(*cited: Cited) -> str:
    """Return the citation at the end of a line: `[price@2; edge 7]`.

    A name with characters that citations use is quoted, with `[` and `;` escaped.
    """
    parts = []
    for topic, number in cited:
        name = topic
        if not _PLAIN_NAME.fullmatch(topic):
            name = json.dumps(topic).replace("[", "\\u005b").replace(";", "\\u003b")
        parts.append(f"{name}@{number}" if topic else f"edge {number}")
    return f"[{'; '.join(parts)}]"


def read_lines(content: str) -> list[tuple[str, Cited]]:
    """Return the text of each cited line of a summary, with its first source."""
    lines = []
    for line in content.splitlines():
        text, _, cited = line.rpartition(" [")
        name, at, number = cited.removesuffix("]").split("; ")[0].rpartition("@")
        with suppress(ValueError):  # a head or section line has no citation
            version = int(number if at else number.removeprefix("edge "))
            if line.startswith("- "):
                topic = json.loads(name) if name.startswith('"') else name
                lines.append((text[2:], (topic, version)))
    return lines


def read_left_out(content: str) -> int:
    """Return the number of left-out lines that a summary states."""
    number = content.rpartition("\n")[2].removeprefix(LEFT_OUT)
    return int(number) if number.isdecimal() and len(number) < 10 else 0


@dataclass(frozen=True, slots=True)
class SummaryMade:
    """A summary that was made, or that a dry run would make."""

    topic: str
    level: int
    states: int
    """How many states it covers."""
    tokens: int
    by: str
    """`extractive`, or the name of the model."""
    why: str = ""
    """Why it is extractive though a model was asked for."""


@dataclass(frozen=True, slots=True)
class Consolidation:
    """The result of `consolidate`, or what a dry run would do."""

    made: tuple[SummaryMade, ...] = ()
    unchanged: int = 0
    """How many summaries are still up to date."""
    skipped: tuple[tuple[str, str], ...] = ()
    """Summaries that could not be made, and why."""
    dry_run: bool = False
    usage: Usage | None = None
    """The usage of the model, if one was asked; in a dry run the most it would use."""
    why: str = ""
    """Why none was made, in a sentence."""
