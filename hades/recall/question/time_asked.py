"""The time a question asks about, as it narrows notes and told facts.

It comes from the caller (`at`, `since`, `until`), or is read in the words of the question. What
documents say of their own times ("in 1912") is not narrowed by it: only what was noted and told
has a time at which it held.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from hades.domain.answer import TimeKind, TimeWords, Wants
from hades.domain.times import FOREVER, from_micros, to_micros
from hades.graph.arrays import Flags, Ints
from hades.language.english.time_words import read_time, what_is_wanted


@dataclass(frozen=True, slots=True)
class TimeAsked:
    """A moment (`since` and `until` alike) or a window, in microseconds."""

    since: int
    until: int
    kind: TimeKind | None = None
    """None: how it is at the moment of the question."""
    wants: Wants = Wants.STATE
    words: TimeWords | None = None
    """How it was said, where the question says it."""

    timed: bool = False
    """Whether the caller says the moment."""

    @property
    def wants_happenings(self) -> bool:
        """Whether what came to be in a window is asked for."""
        return self.wants is Wants.HAPPENINGS and self.kind in (TimeKind.DURING, TimeKind.SINCE)

    @property
    def is_past(self) -> bool:
        """Whether what no longer holds is asked for, without saying when it held."""
        return self.kind in (TimeKind.ORIGIN, TimeKind.PAST)

    @property
    def wants_current(self) -> bool:
        """Whether the version of a note that holds is wanted: not the past, nor what happened."""
        return not self.is_past and not self.wants_happenings

    @property
    def is_any(self) -> bool:
        """Whether a date is asked for: a version of any time may tell it."""
        return self.wants is Wants.DATE and self.kind is None

    @property
    def is_timed(self) -> bool:
        """Whether a moment or a window is asked about, other than now."""
        return self.timed or (self.kind is not None and not self.is_past)

    def admits(self, starts: Ints, ends: Ints) -> Flags:
        """Whether what held from one time to another is of the time asked about."""
        if self.wants_happenings:
            began = (starts >= self.since) & (starts < self.until)
            found: Flags = began | ((ends >= self.since) & (ends < self.until))
            return found
        if self.is_past or self.wants is Wants.DATE:
            return starts <= self.until
        return (starts <= self.until) & (ends > self.since)

    def candidates(self, starts: Ints) -> Flags:
        """Whether versions of notes that began then may be shown at all."""
        if self.wants_happenings:
            return (starts >= self.since) & (starts < self.until)
        return starts <= self.until

    def fits(self, starts: Ints, ends: Ints, first: Flags) -> Any:
        """1 for versions of notes that held at the time asked about, else 0."""
        if self.wants_happenings or self.is_any:
            return np.ones(len(starts))
        if self.kind is TimeKind.ORIGIN:
            return first.astype(float)
        if self.kind is TimeKind.PAST:
            return (ends <= self.until).astype(float)
        return ((starts <= self.until) & (ends > self.since)).astype(float)

    def since_event(self, start: int) -> TimeAsked:
        """The same from when the event that it speaks of was noted."""
        words = self.words and replace(self.words, since=from_micros(start))
        return replace(self, since=start, kind=TimeKind.SINCE, words=words)


def time_asked(
    question: str,
    now: int,
    valid: int,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    read: bool = True,
) -> TimeAsked:
    """The time a question asks about: `since` and `until` as the caller says, else in its words.

    `valid` is the moment the caller asks about, now unless said. When an event was is left to be
    looked up: until then the time is that moment.
    """
    if since is not None or until is not None:
        return TimeAsked(
            -FOREVER if since is None else to_micros(since),
            FOREVER if until is None else to_micros(until),
            TimeKind.DURING,
            Wants.HAPPENINGS,
        )
    words = read_time(question, from_micros(now)) if read else None
    wants = what_is_wanted(question, words)
    at = TimeAsked(valid, valid, None, wants, words, timed=valid != now)
    if words is None:
        return at
    if words.event:
        # Before something happened: what held until then, and holds no more.
        return replace(at, kind=TimeKind.PAST) if words.kind is TimeKind.BEFORE else at
    if words.kind in (TimeKind.ORIGIN, TimeKind.PAST):
        return replace(at, kind=words.kind)
    begin = -FOREVER if words.since is None else to_micros(words.since)
    end = valid if words.until is None else min(valid, to_micros(words.until) - 1)
    if words.kind is TimeKind.BEFORE:
        begin = end
    return replace(at, since=begin, until=end, kind=words.kind)
