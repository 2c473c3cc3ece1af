"""Answers from versions: how something changed, whether it ever was so or still is, how often.

The versions of the best note are compared with the question by their words. A list is in order of
time, each item with its date. A yes or no is followed by the sentence that says so. If the versions
do not decide, the result is None, and the question is answered like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hades.domain.answer import Answer, Passage, Recall, Sentence
from hades.domain.fitting import fitting
from hades.domain.plain import one_line
from hades.domain.question import NAME_WEIGHT, Question, Sign, Wants
from hades.domain.statement import day
from hades.language.english.contradiction import values
from hades.language.english.lexicon import WEEKDAYS
from hades.language.english.stems import stem
from hades.language.english.terms import terms_in
from hades.language.english.version_words import (
    CLAUSES,
    ENDED,
    FRAME,
    TO_NEW,
    UNREAL,
    done_in,
    plain_form,
)
from hades.language.names import DIGITS, name_parts
from hades.language.sentences import sentences
from hades.language.wording import numberless
from hades.language.words import words
from hades.recall.answer.told import (
    FACT_MEANT,
    FACT_SURE,
    LIST_WORDS,
    WHOLE_WORDS,
    quoted,
    tells_change,
)


def from_versions(recall: Recall) -> Answer | None:
    """Answer from the versions of the best note and from facts; None if they do not decide."""
    reply: Sequence[Sentence] = ()
    if recall.wants.is_of_versions and recall.passages:
        versions = _Versions(recall)
        if recall.wants is not Wants.EVER and not versions.has_values:
            return None
        by_wants = {
            Wants.CHANGES: versions.changes,
            Wants.EVER: versions.ever,
            Wants.STILL: versions.still,
            Wants.COUNT: versions.count,
        }
        reply = by_wants[recall.wants]()
    elif recall.wants is Wants.DATE and recall.passages and Sign.END in recall.asked.signs:
        reply = _Versions(recall).end()
    if not reply:
        return None
    # The reader judged single sentences, which says nothing about an answer from versions.
    return Answer(recall.question, tuple(reply), replace(recall, answered=None))


def quote_version(passage: Passage, number: int, asked: Question, *, spans: bool) -> Sentence:
    """Return a version as a sentence: its topic, text and date; with `spans`, also its end."""
    when = day(passage.valid_from)
    if spans and passage.valid_to is not None:
        when = f"from {when} to {day(passage.valid_to)}"
    text = quoted(passage.chunk.text, asked, WHOLE_WORDS, passage.best)
    return Sentence(
        f"{one_line(passage.chunk.topic)}: {text} ({when})", passage.belief.mean, number
    )


@dataclass(frozen=True)
class _Version:
    """A version of a note, with its sentence in the answer."""

    passage: Passage
    sentence: Sentence

    @property
    def topic(self) -> str:
        return self.passage.chunk.topic

    @cached_property
    def named(self) -> frozenset[str]:
        """The terms of its topic's name."""
        return _terms_of(self.topic)

    @cached_property
    def text_terms(self) -> frozenset[str]:
        return _terms_of(self.passage.chunk.text)

    @cached_property
    def parts(self) -> list[str]:
        return sentences(self.passage.chunk.text)

    def replied(self, word: str) -> Sentence:
        return replace(self.sentence, text=f"{word}: {self.sentence.text}")


class _Versions:
    """The versions that a question about versions may mean."""

    def __init__(self, recall: Recall) -> None:
        self.recall = recall
        terms = recall.asked.terms
        asked = words(recall.asked.untimed)
        days = {plain_form(word) for word in asked} & {*WEEKDAYS}
        names = {term for term, weight in terms.weights.items() if weight >= NAME_WEIGHT}
        self.values = frozenset(names | days)
        """The names, numbers and days of the question; `plain` has all other terms."""
        common = (word for word in asked if stem(word) in terms.weights.keys() - names)
        self.plain = frozenset(map(plain_form, common)) - FRAME - days
        self.terms = self.values | self.plain
        spans = recall.wants in (Wants.EVER, Wants.DATE)
        self.all = [
            _Version(passage, quote_version(passage, number, recall.asked, spans=spans))
            for number, passage in enumerate(recall.passages, start=1)
        ]
        best, *others = self.all
        self.topic = best.topic
        self.named = best.named & self.terms
        self.own = [version for version in self.all if version.topic == best.topic]
        newest = max(version.passage.valid_from for version in self.own)
        self.own += [
            version
            for version in others
            if version.topic != best.topic
            and version.passage.valid_from > newest
            and tells_change(version.passage.chunk.text, self.named)
        ]
        self.own.sort(key=_time)
        """Versions of the best topic, and later notes that tell a change of it, by time."""

    @property
    def has_values(self) -> bool:
        """Whether all names and numbers of the question are in the versions and facts found."""
        facts = (_terms_of(fact.text) for fact in self.recall.facts)
        return self.values <= frozenset[str]().union(
            *(version.text_terms | version.named for version in self.all), *facts
        )

    def changes(self) -> list[Sentence]:
        facts = self.recall.facts
        if facts and facts[0].score >= FACT_SURE:
            first = facts[0].edge
            numbered = enumerate(facts, start=1)
            same = [
                (fact.edge.valid_from, Sentence(fact.text, fact.score, number, "fact"))
                for number, fact in numbered
                if (fact.edge.source, fact.edge.relation) == (first.source, first.relation)
            ]
            if len(same) > 1:
                return [sentence for _, sentence in sorted(same, key=lambda row: row[0])]
        series = self._series()
        is_named = bool(self.values & _terms_of(" ".join(DIGITS.findall(self.topic))))
        if len(series) > 1 and not is_named:
            telling = [row for row in series if self.terms <= row.text_terms | row.named]
            return [version.sentence for version in telling]
        if self.recall.asked.many and not self.named:
            return []  # a list of several topics
        return [version.sentence for version in self._telling()]

    def end(self) -> list[Sentence]:
        """Return the version of what ended, with its time, and the version that followed it."""
        for number, fact in enumerate(self.recall.facts, start=1):
            if (
                fact.edge.valid_to
                and fact.score >= FACT_MEANT
                and self.values <= _terms_of(fact.text)
            ):
                return [Sentence(fact.text, fact.score, number, "fact")]
        shares = [len(self.terms & (version.text_terms | version.named)) for version in self.own]
        at = max(range(len(shares)), key=lambda at: (shares[at], at))
        return [version.sentence for version in self.own[at : at + 2]]

    def _telling(self) -> list[_Version]:
        """Return the versions that tell how the thing asked about changed; [] if there is only
        one."""
        about = self.terms - self.named
        kinds = {
            kind
            for version in self.own
            if about & version.text_terms
            for kind, of_kind in values(version.passage.chunk.text).items()
            if of_kind
        }
        kept = [
            version
            for version in self.own
            if not kinds
            or about & version.text_terms
            or any(values(version.passage.chunk.text)[kind] for kind in kinds)
        ]
        lengths = (len(version.sentence.text.split()) for version in reversed(kept))
        newest = len(fitting(lengths, LIST_WORDS))
        return kept[-newest:] if newest > 1 else []

    def _series(self) -> list[_Version]:
        """Return the latest version of each topic that differs from the best in numbers only."""
        shape = numberless(self.topic) if DIGITS.search(self.topic) else None
        rows = sorted(self.all, key=_time)
        return list({row.topic: row for row in rows if numberless(row.topic) == shape}.values())

    def ever(self) -> list[Sentence]:
        unreal: _Version | None = None
        for version in self.all:
            for part in version.parts:
                if self._says(version, part):
                    if not UNREAL.search(self._clause(part)) or UNREAL.search(self.recall.question):
                        return [version.replied("Yes")]
                    unreal = unreal or version
        if unreal is not None:
            return [unreal.replied("No")]
        told = frozenset[str]().union(*(version.text_terms | version.named for version in self.own))
        missing = self.values - told
        if not missing or not self.plain or 2 * len(self.plain & told) < len(self.plain):
            return []
        return [self.own[0].replied("No"), *(version.sentence for version in self.own[1:])]

    def _says(self, version: _Version, part: str) -> bool:
        """Return whether a sentence says what the question asks about."""
        own = _terms_of(part)
        about = (self.values or self.plain) - version.named
        near = version in self.own or bool(self.plain & (own | version.named))
        if not about:
            return bool(self.plain) and self.plain <= own
        return near and about <= own

    def _clause(self, part: str) -> str:
        """Return the clauses of a sentence that have a value of the question; all if none has."""
        about = self.values - self.named
        return ",".join(c for c in CLAUSES.split(part) if about & _terms_of(c)) or part

    def still(self) -> list[Sentence]:
        for number, fact in enumerate(self.recall.facts, start=1):
            edge = fact.edge
            ends = (fact.edge.source.name, fact.edge.target.name)
            if fact.score < FACT_MEANT or not self.values | self.terms <= _terms_of(fact.text):
                continue
            if not all(self.terms & _terms_of(name) for name in ends):
                continue
            if edge.valid_to is None or edge.valid_to <= edge.recorded_at:
                reply = "Yes" if edge.valid_to is None else "No"
                return [Sentence(f"{reply}: {fact.text}", fact.score, number, "fact")]
        last = self.own[-1]
        for version in reversed(self.own):
            for part in version.parts:
                if self._says(version, part):
                    if self._has_ended(self._clause(part)):
                        return [version.replied("No")]
                    if version is not last and self.recall.answered is None:
                        return []  # the reader has not compared the versions
                    held = part in version.passage.held or not version.passage.superseded
                    return [version.replied("Yes") if held else last.replied("No")]
        is_over = not self.values - last.named and any(map(self._has_ended, last.parts))
        return [last.replied("No")] if is_over else []

    def _has_ended(self, part: str) -> bool:
        """Return whether a sentence says that the state asked about ended. “Moved to X” begins
        X."""
        for match in ENDED.finditer(part):
            new = TO_NEW.match(part, match.start())
            if not (new and (self.terms - self.named) & _terms_of(part[new.end() :])):
                return True
        return False

    def count(self) -> list[Sentence]:
        time = self.recall.time
        times = Sign.TIMES in self.recall.asked.signs
        rows = self.all
        if time is not None and time.since and time.until:
            rows = [row for row in rows if time.since <= row.passage.valid_from < time.until]
        if Sign.CHANGES in self.recall.asked.signs:
            return self._changes_counted()
        items = [row for row in rows if any(self._is_done(row, part) for part in row.parts)]
        series = self._series()
        if len(series) > 1 and not times:
            items = [row for row in series if row in items]
        elif not items and times and self.named:
            items = [row for row in self.own if row in rows]
        if not items:
            return []
        items.sort(key=_time)
        many = f"{len(items)} times" if times and len(items) > 1 else f"{len(items)}"
        return [items[0].replied(many), *(row.sentence for row in items[1:])]

    def _changes_counted(self) -> list[Sentence]:
        """Count how often the thing asked about got another value; [] if it never did.

        The first sentence has the count; the others quote the versions with a new value.
        """
        about = self.terms - self.named
        telling = [row for row in self.own if about & row.text_terms] or self._telling()
        rows = telling[:1]
        for row in telling[1:]:
            if self._values(row) != self._values(rows[-1]):
                rows.append(row)
        if len(rows) < 2:
            return []
        many = "Once" if len(rows) == 2 else f"{len(rows) - 1} times"
        return [rows[0].replied(many), *(row.sentence for row in rows[1:])]

    def _values(self, row: _Version) -> object:
        """Return the values in a version's sentences on the question; its text if there are
        none."""
        about = self.terms - self.named
        parts = [part for part in row.parts if about & _terms_of(part)]
        told = " ".join(parts) or row.passage.chunk.text
        own = values(told)
        return own if any(own.values()) else told

    def _is_done(self, row: _Version, part: str) -> bool:
        """Return whether a sentence says that the thing to count was done."""
        own = done_in(part) | terms_in(part) & self.values
        return self.terms <= own | row.named and not UNREAL.search(part)


def _time(version: _Version) -> tuple[object, int]:
    return version.passage.valid_from, version.passage.chunk.version


def _terms_of(text: str) -> frozenset[str]:
    """Return the terms of a text, and the plain forms of its words and their parts."""
    return terms_in(text) | {plain_form(word) for word in (*words(text), *name_parts(text))}
