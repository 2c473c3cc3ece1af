"""Summaries: the days, weeks and months they are of, and the lines they consist of.

A summary is the state of a topic such as `summary/2026-11-03`, `summary/2026-W45` or
`summary/2026-11`. Each of its lines ends with what it was read in: `[topic@version]`, or
`[edge 12]` for a told fact that began or ended.
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
DAILY, WEEKLY, MONTHLY = 1, 2, 3
LEVELS = {"daily": DAILY, "weekly": WEEKLY, "monthly": MONTHLY}
_UNITS = {DAILY: "day", WEEKLY: "week", MONTHLY: "month"}
TOKENS = {DAILY: 400, WEEKLY: 600, MONTHLY: 800}
"""Of a summary at most …"""
SHARES = {DAILY: 1 / 3, WEEKLY: 1 / 6, MONTHLY: 1 / 11}
TOKENS_AT_LEAST = 320
"""… and what an answer made of it has: a share of the tokens of its originals, from a few on."""
LEAST_DAYS = {MONTHLY: 27, WEEKLY: 6, DAILY: 0.5}
"""A time of more days is told by months, weeks or days."""


def answer_tokens(level: int, originals: int) -> int:
    """How many tokens an answer from a summary may have, by those of the originals."""
    return min(TOKENS[level], max(TOKENS_AT_LEAST, int(SHARES[level] * originals)))


@dataclass(frozen=True, slots=True, order=True)
class SummaryPeriod:
    """A day, a week from Monday on, or a month, in UTC."""

    since: datetime
    level: int

    @classmethod
    def around(cls, level: int, day: int) -> SummaryPeriod:
        """The period that a day is in, counted from 1970."""
        start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day)
        if level == WEEKLY:
            start -= timedelta(days=start.weekday())
        return cls(start.replace(day=1) if level == MONTHLY else start, level)

    @property
    def until(self) -> datetime:
        """Its end, which is no longer part of it."""
        return shift(self.since, 1, _UNITS[self.level])

    @property
    def days(self) -> range:
        """Its days, counted from 1970."""
        return range(day_of(to_micros(self.since)), day_of(to_micros(self.until)))

    def lies_in(self, other: SummaryPeriod) -> bool:
        """Whether all of it is part of another."""
        return other.since <= self.since and self.until <= other.until

    @property
    def topic(self) -> str:
        """The topic of its summary."""
        if self.level == WEEKLY:
            year, week, _ = self.since.isocalendar()
            return f"{PREFIX}{year:04}-W{week:02}"
        return PREFIX + f"{self.since.date()}"[: 10 if self.level == DAILY else 7]


def day_of(micros: int) -> int:
    """The day of a moment, counted from 1970."""
    return micros // DAY_MICROSECONDS


_PLAIN_NAME = re.compile(r'[^\s\[\]"@;]+(?: [^\s\[\]"@;]+)*')
Cited = tuple[str, int]
"""A topic and a version; of an edge no topic, and its number."""


def cite(*cited: Cited) -> str:
    """What a line was read in, as it stands at its end: `[price@2; edge 7]`.

    A name that could pass for more is quoted, without the brackets and marks that stand around it.
    """
    parts = []
    for topic, number in cited:
        name = topic
        if not _PLAIN_NAME.fullmatch(topic):
            name = json.dumps(topic).replace("[", "\\u005b").replace(";", "\\u003b")
        parts.append(f"{name}@{number}" if topic else f"edge {number}")
    return f"[{'; '.join(parts)}]"


def read_lines(content: str) -> list[tuple[str, Cited]]:
    """The lines of a summary, each with what it was read in first."""
    found = []
    for line in content.splitlines():
        text, _, cited = line.rpartition(" [")
        name, at, number = cited.removesuffix("]").split("; ")[0].rpartition("@")
        with suppress(ValueError):  # no line of ours
            version = int(number if at else number.removeprefix("edge "))
            if line.startswith("- "):
                topic = json.loads(name) if name.startswith('"') else name
                found.append((text[2:], (topic, version)))
    return found


@dataclass(frozen=True, slots=True)
class SummaryMade:
    """A summary that was made, or would be in a dry run."""

    topic: str
    level: int
    states: int
    """How many states of its time it stands for."""
    tokens: int
    by: str
    """`extractive`, or the name of the model."""
    why: str = ""
    """Why it is extractive though a model was asked for."""


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What `consolidate` did, or would do in a dry run."""

    made: tuple[SummaryMade, ...] = ()
    unchanged: int = 0
    """Summaries of which nothing changed."""
    skipped: tuple[tuple[str, str], ...] = ()
    """Summaries that could not be made, and why."""
    dry_run: bool = False
    usage: Usage | None = None
    """What the model took, where one was asked; in a dry run what it would take at most."""
