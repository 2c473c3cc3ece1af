"""The time a question asks about, which narrows notes and told facts.

It comes from the caller (`at`, `since`, `until`) or from the words of the question. It does not
narrow documents, which speak of other times ("in 1912") than the time at which they were read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from hades.domain.question import Question, Sign, TimeKind, TimeWords, Wants
from hades.domain.times import FOREVER, from_micros, to_micros
from hades.graph.arrays import Flags, Ints
from hades.index.note_times import Window


@dataclass(frozen=True, slots=True)
class TimeAsked:
    """The time a question asks about, in microseconds: a window, or a moment if both ends agree."""

    since: int
    until: int
    kind: TimeKind | None = None
    """None for a question about the moment itself."""
    wants: Wants = Wants.STATE
    words: TimeWords | None = None
    """The expression of time in the question, if any."""
    timed: bool = False
    """Whether the caller gave the moment."""
    by_event: bool = False
    """Whether notes are chosen by the times they mention, not by when they were written."""
    ahead: bool = False
    """Whether the question asks for the future, which only the words of notes tell."""

    @property
    def wants_happenings(self) -> bool:
        """Whether the question asks what happened in a window."""
        return self.wants is Wants.HAPPENINGS and self.kind in (TimeKind.DURING, TimeKind.SINCE)

    @property
    def is_past(self) -> bool:
        """Whether the question asks for a former version without saying when it held."""
        return self.kind in (TimeKind.ORIGIN, TimeKind.PAST)

    @property
    def wants_current(self) -> bool:
        """Whether the question wants the version that holds, not the past or what happened."""
        return not self.is_past and not self.wants_happenings

    @property
    def is_any(self) -> bool:
        """Whether a version of any time may answer: a date or versions are asked for."""
        current = self.wants.is_state or self.wants in (Wants.HAPPENINGS, Wants.STILL)
        return self.kind is None and not current

    @property
    def is_timed(self) -> bool:
        """Whether the question is about a moment or a window other than now."""
        return self.timed or (self.kind is not None and not self.is_past)

    def admits(self, starts: Ints, ends: Ints) -> Flags:
        """Return a mask over facts held from `starts` to `ends`: True for the time asked about."""
        if self.wants_happenings:
            began = (starts >= self.since) & (starts < self.until)
            changed: Flags = began | ((ends >= self.since) & (ends < self.until))
            return changed
        of_versions = self.kind is None and self.wants.is_of_versions
        if self.is_past or self.wants is Wants.DATE or of_versions:
            return starts <= self.until
        return (starts <= self.until) & (ends > self.since)

    @property
    def window(self) -> Window:
        """The window asked about."""
        return Window(self.since, self.until, self.ahead)

    def candidates(self, starts: Ints) -> Flags:
        """Return a mask over versions of notes that began at `starts`: True if one may be shown."""
        if self.wants_happenings:
            return (starts >= self.since) & (starts < self.until)
        return starts <= self.until

    def fits(self, starts: Ints, ends: Ints, first: Flags) -> Any:
        """Return 1 for versions of notes that fit the time asked about; `first` marks the first."""
        if self.wants_happenings or self.is_any:
            return np.ones(len(starts))
        if self.kind is TimeKind.ORIGIN:
            return first.astype(float)
        if self.kind is TimeKind.PAST:
            return (ends <= self.until).astype(float)
        return ((starts <= self.until) & (ends > self.since)).astype(float)

    def since_event(self, start: int) -> TimeAsked:
        """Return this time with `start`, when the question's event was noted, as its beginning."""
        words = self.words and replace(self.words, since=from_micros(start))
        return replace(self, since=start, kind=TimeKind.SINCE, words=words)


def time_asked(
    question: Question,
    valid: int,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    by_event: bool = False,
    read: bool = True,
    timed: bool = False,
) -> TimeAsked:
    """Return the time a question asks about: the caller's `since` and `until`, else its words.

    `valid` is the moment of the memory; `timed` if the caller chose another than now. The time of
    an event must be looked up later; until then `valid` stands for it.
    """
    if since is not None or until is not None:
        return TimeAsked(
            -FOREVER if since is None else to_micros(since),
            FOREVER if until is None else to_micros(until),
            TimeKind.DURING,
            Wants.HAPPENINGS,
            by_event=by_event,
        )
    words = question.time if read else None
    wants = question.wants
    if wants is Wants.HAPPENINGS and words is None:
        wants = Wants.STATE
    at = TimeAsked(valid, valid, None, wants, words, timed=timed)
    if words is None:
        return at
    if words.event:
        # "Before" an event asks for what no longer holds.
        return replace(at, kind=TimeKind.PAST) if words.kind is TimeKind.BEFORE else at
    if words.kind in (TimeKind.ORIGIN, TimeKind.PAST):
        return replace(at, kind=words.kind)
    begin = -FOREVER if words.since is None else to_micros(words.since)
    ends = FOREVER if words.until is None else to_micros(words.until)
    is_ahead = begin > valid and wants is Wants.HAPPENINGS
    if ends > valid and (is_ahead or Sign.PLANS in question.signs):
        begin = valid if words.since is None else begin
        at = replace(at, since=begin, until=ends, kind=TimeKind.DURING)
        return replace(at, wants=Wants.HAPPENINGS, by_event=True, ahead=True)
    at = replace(at, by_event=wants is Wants.HAPPENINGS and Sign.NOTED not in question.signs)
    end = valid if words.until is None else min(valid, to_micros(words.until) - 1)
    if words.kind is TimeKind.BEFORE:
        begin = end
    return replace(at, since=begin, until=end, kind=words.kind)
