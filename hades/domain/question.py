"""Questions: how a question was understood.

A question is read once, by `recall/question/`, before anything is searched. All later stages
use the `Question` and do not interpret the text again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from hades.domain.statement import moment_words, window_words


class Intent(StrEnum):
    """The kind of a question, which decides the default plan."""

    STATUS = "status"
    RECENT = "recent"
    OVERVIEW = "overview"
    WHY = "why"
    WHEN = "when"
    BRIDGE = "bridge"
    """A question in two steps: who is the director of the film that …"""
    COMPARE = "compare"
    RELATION = "relation"
    """A question for the edges of one relation: what calls a function."""
    CONNECTION = "connection"
    """A question for the paths between two names: how is Ann connected with Ben."""
    BRIEF = "brief"
    """An opening question, such as “what is next?”, which the brief answers."""
    LOOKUP = "lookup"
    """Any other, plain question."""


class Mode(StrEnum):
    """The breadth of an answer, from few passages (execution) to many (brainstorming)."""

    EXECUTION = "execution"
    PLANNING = "planning"
    BRAINSTORMING = "brainstorming"


class TimeKind(StrEnum):
    """The part of time to which a question is narrowed."""

    DURING = "during"
    """Some moment of the window."""
    BEFORE = "before"
    """The state just before `until`."""
    SINCE = "since"
    """The time from `since` on."""
    ORIGIN = "origin"
    """The first version."""
    PAST = "past"
    """A version that no longer holds."""


@dataclass(frozen=True, slots=True)
class TimeWords:
    """The time that a question asks about: `since` <= t < `until`, in UTC.

    `said` has its words in the question; it is "" if the time was judged without such words. With
    an `event`, both ends are None until the time of the event is looked up.
    """

    kind: TimeKind
    said: str
    since: datetime | None = None
    until: datetime | None = None
    event: str = ""

    def __str__(self) -> str:
        """Return the words and the time: `in March: 1 to 31 March 2025`."""
        return f"{self.said}: {self._understood}" if self.said else self._understood

    @property
    def _understood(self) -> str:
        if self.kind is TimeKind.ORIGIN:
            return "the first version"
        if self.since is None and self.until is None:
            is_past = self.kind in (TimeKind.PAST, TimeKind.BEFORE)
            return "what no longer holds" if is_past else "not narrowed to a time"
        if self.since is None or self.until is None or self.kind is TimeKind.SINCE:
            until = "" if self.until is None else f"before {moment_words(self.until)}"
            return until if self.since is None else f"since {moment_words(self.since)}"
        return window_words(self.since, self.until)


class Wants(StrEnum):
    """The kind of answer that a question wants: how things are, what happened, a date, or versions.

    The values from PERSON to YES_OR_NO, which name a kind of thing, also ask how things are.
    """

    STATE = "state"
    PERSON = "person"
    PLACE = "place"
    NUMBER = "number"
    DURATION = "duration"
    REASON = "reason"
    YES_OR_NO = "yes_or_no"
    HAPPENINGS = "happenings"
    DATE = "date"
    CHANGES = "changes"
    """All versions, in order of time."""
    EVER = "ever"
    """Whether some version says so."""
    STILL = "still"
    """Whether the latest version says so."""
    COUNT = "count"
    """How many things or how many times, counted over the versions."""

    @property
    def is_of_versions(self) -> bool:
        """Whether earlier versions are part of the answer."""
        return self in (Wants.CHANGES, Wants.EVER, Wants.STILL, Wants.COUNT)

    @property
    def is_state(self) -> bool:
        """Whether it asks how things are."""
        return self not in (Wants.HAPPENINGS, Wants.DATE) and not self.is_of_versions


_WANTED = {
    Wants.STATE: "how things are",
    Wants.PERSON: "a person",
    Wants.PLACE: "a place",
    Wants.NUMBER: "a number",
    Wants.DURATION: "a duration",
    Wants.REASON: "a reason",
    Wants.YES_OR_NO: "a yes or no",
    Wants.HAPPENINGS: "what happened",
    Wants.DATE: "a date",
    Wants.CHANGES: "all versions",
    Wants.EVER: "whether it was ever so",
    Wants.STILL: "whether it is still so",
    Wants.COUNT: "how often",
}
_KINDS = {
    Intent.OVERVIEW: "an overview",
    Intent.COMPARE: "a comparison",
    Intent.CONNECTION: "a connection",
    Intent.RELATION: "the edges of a relation",
}
"""The kinds of questions that `str` describes by their kind instead of by what they want."""


class BriefPart(StrEnum):
    """The part of a brief that a question asks for."""

    NEXT = "what is open"
    DECISIONS = "decisions"
    ALL = "what matters now"
    DONE = "what was done"
    RECENT = "what is new"


class Sign(StrEnum):
    """A detail that a rule finds in the words of a question, for a later stage."""

    PAST_TENSE = "past tense"
    PLANS = "plans"
    """The question asks for what is to come at a time: `what do I have next week`."""
    NOTED = "noted"
    """The question asks for what was written down at a time, not what happened then."""
    EVERYTHING = "everything"
    """Everything of a time: the question names no subject, as in `what did we do in May`."""
    TO_COME = "to come"
    """A date that may be in the future: `when is the dentist`."""
    NEXT = "next"
    """The next date: the question says `next`."""
    END = "end"
    """The time at which something ended."""
    TIMES = "times"
    """How many times, not how many things."""
    CHANGES = "changes counted"
    """How often something changed, which is one fewer than its versions."""
    SUMMARY = "summary"
    TALK = "talk"
    """The question asks for what was talked about."""
    TESTS = "tests"
    CHANGE_LOG = "change log"
    COMMITS = "commits"
    """Why, when or by whom code was changed."""
    HOW_TO = "how to"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class QuestionName:
    """A name in a question: as written, and the words to search for."""

    text: str
    words: tuple[str, ...]

    def stands_in(self, told: Collection[str]) -> bool:
        """Return whether a text names it; `told` has the text's terms.

        The text must have the last word of the name, such as a surname, or more than half of its
        words: a text with `Ann Lee` does not name Ann Smith.
        """
        share = sum(word in told for word in self.words) / len(self.words)
        return self.words[-1] in told or share > 0.5


NAME_WEIGHT = 2.0
"""The weight of a name or number in a question; a plain word has 1."""


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """The terms and names of a question, with weights."""

    weights: Mapping[str, float]
    """The terms to search for, and the weight of each."""
    said: frozenset[str]
    """All terms of the question. A text without other terms adds nothing to it."""
    names: tuple[QuestionName, ...]
    asks_whether: bool = False
    """Whether it is a yes/no question."""

    def only_repeated_by(self, told: frozenset[str]) -> bool:
        """Return whether a text with the terms `told` only repeats the question.

        The result is False if the text has all terms of a yes/no question, since it then answers.
        """
        return told <= self.said and not (self.asks_whether and told == self.said)


@dataclass(frozen=True, slots=True)
class RelationMeant:
    """A relation of code or papers that a question may ask for, and the names it may mean."""

    relation: str
    direction: Literal["in", "out"]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """How a question was understood."""

    text: str
    language: str = ""
    """The language of its words; "" if they do not show it."""
    intent: Intent = Intent.LOOKUP
    evidence: str = ""
    """The relation that was found for it, or why it is not a question for a connection."""
    mode: Mode = Mode.EXECUTION
    wants: Wants = Wants.STATE
    time: TimeWords | None = None
    """The time it asks about, from its words, or else the past if it asks for a former state."""
    terms: QuestionTerms = QuestionTerms({}, frozenset(), ())
    """The terms of its words, without those of its time."""
    topical: frozenset[str] = frozenset()
    """The stems of what it is about; empty if it asks for everything."""
    many: bool = False
    """Whether several answers are wanted."""
    two_steps: bool = False
    """Whether something that it does not name must be found first."""
    signs: frozenset[Sign] = frozenset()
    part: BriefPart | None = None
    """The part of the brief that it asks for."""
    subject: str | None = None
    """The subject of the overview that it asks for; "" for everything, None for no overview."""
    relations: tuple[RelationMeant, ...] = ()
    """Relations it may ask for, likeliest first."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Pairs of names whose connection it may ask for, likeliest first."""

    @property
    def untimed(self) -> str:
        """Its text without the words of its time."""
        time_words = self.time.said if self.time else ""
        return self.text.replace(time_words, " ") if time_words else self.text

    def __str__(self) -> str:
        """Return how it was understood, in one line: `It asks for a person, about “Atlas”.`"""
        wanted = str(self.part) if self.part else _KINDS.get(self.intent, _WANTED[self.wants])
        words = [f"It asks for {wanted}"]
        if self.terms.names:
            words.append("about " + " and ".join(f"“{name.text}”" for name in self.terms.names))
        if self.many:
            words.append("with several answers")
        if self.two_steps:
            words.append("by way of something it does not name")
        if self.evidence:
            words.append(self.evidence)
        if self.time is not None:
            words.append(f"at the time “{self.time}”" if self.time.said else str(self.time))
        return ", ".join(words) + "."
