"""Facts that prose says plainly: "Maya works at Acme since May 2024".

A table has the verbs; a name must be right before and right after the verb. Precision comes first:
questions, suppositions, quotes, hopes and reports do not count as facts, nor do sentences whose
subject is a pronoun or a nested phrase ("the brother of Maya works at"). The kind of a name is not
guessed, so relations are named by the verb of the text: `moved_to`, `joined`.

Each name is first replaced by one sign, so that clauses are patterns over signs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from hades.language.english import prose_patterns as patterns
from hades.language.english.detect import is_english
from hades.language.english.prose_patterns import NAME
from hades.language.english.speculation import SUPPOSED
from hades.language.names import name_key
from hades.language.sentences import spans

TEXT_CHARACTERS_AT_MOST = 200_000
SENTENCE_CHARACTERS_AT_MOST = 600
"""A longer sentence is a table, a log or an attack, and is skipped."""

ENDS = {"left": ("works_at", "studies_at", "joined", "member_of", "lives_in")}
"""For the relation of a fact, the earlier relations to the same object that it ends."""
ENDS_ELSEWHERE = {"moved_to": ("lives_in", "based_in", "moved_to")}
"""For the relation of a fact, the earlier relations to other objects that it ends."""
CONFIDENCE = 0.96
INSIDE = -0.02
COMMON_NOUNS = -0.03
"""The confidence of a sentence that begins with a name, and what is added if another clause comes
before or the subject consists of common nouns. Chosen by hand; the measured precision of all is
above 0.9."""
TABLE = frozenset(verb.relation for verb in patterns.VERBS)
"""Relations in the table of verbs."""
EXCLUSIVE = frozenset(verb.relation for verb in patterns.VERBS if verb.exclusive)
"""Relations that a subject has to one object at a time."""


@dataclass(frozen=True, slots=True)
class ProseFact:
    """A fact in a sentence, between two names."""

    subject: str
    relation: str
    object: str
    negated: bool
    """Whether the sentence says that this does not hold, or no longer holds."""
    confidence: float
    valid_from: str | None
    valid_to: str | None
    """The words of the text for the times at which it began and ended."""
    start: int = 0
    end: int = 0
    """The place of its sentence in the text."""

    @property
    def exclusive(self) -> bool:
        """Whether a new object of this relation ends the old one."""
        return self.relation in EXCLUSIVE


def facts_in(text: str, topic: str = "", relations: Iterable[str] = ()) -> list[ProseFact]:
    """Return the facts that a text states plainly, in its order.

    It finds the relations in the table of verbs. It also finds those of `relations` that the text
    states with `is`: `is insured by` for `insured_by`. The subject of a sentence without one
    (`Works at Acme.`) is `topic`, if given. A pronoun at the beginning of a sentence also means
    `topic`, until the text names something else.

    >>> [(fact.subject, fact.relation, fact.object) for fact in facts_in("Ana works at Acme.")]
    [('Ana', 'works_at', 'Acme')]
    """
    facts: dict[tuple[str, str, str, bool], ProseFact] = {}
    if not is_english(text):
        return []
    last = topic.rpartition("/")[2]
    named_others = False
    told = [patterns.verb_of(name) for name in relations if name not in TABLE]
    for start, end in spans(text[:TEXT_CHARACTERS_AT_MOST]):
        plain = patterns.SPACE.sub(" ", text[start:end])
        if len(plain) > SENTENCE_CHARACTERS_AT_MOST:
            continue
        left_out = patterns.LEFT_OUT.match(plain) if topic and "`" not in topic else None
        supposed = SUPPOSED.search(plain)
        if left_out and not left_out["pronoun"]:
            being = "is " if left_out["being"] else ""
            plain = f"`{topic}` {being}{plain[0].lower()}{plain[1:]}"
        elif left_out and not named_others:
            plain = f"`{topic}` {plain[left_out.end() :]}"
        elif topic and plain.startswith(f"{last} "):
            plain = f"`{last}`{plain.removeprefix(last)}"
        sentence = _Sentence(plain, told)
        named_others |= any(not names_topic(name.text, topic) for name in sentence.names)
        for fact in () if supposed else sentence.facts():
            key = (name_key(fact.subject), fact.relation, name_key(fact.object), fact.negated)
            facts.setdefault(key, replace(fact, start=start, end=end))
    return list(facts.values())


def names_topic(name: str, topic: str) -> bool:
    """Return whether a name in a topic's notes means the topic: Maya Lind in people/maya."""
    last = name_key(topic.rpartition("/")[2])
    parts = name.split()
    is_full = 1 < len(parts) < 4 and all(part.isalpha() and part[0].isupper() for part in parts)
    own = name_key(name) in (name_key(topic), last)
    return own or (is_full and last in (name_key(parts[0]), name_key(parts[-1])))


class _SignedName(NamedTuple):
    text: str
    written: str
    """The name with its article and title."""
    common: bool
    """Whether it is made of common nouns, such as the billing service."""


class _Sentence:
    """One sentence, with a sign in place of every name."""

    def __init__(self, text: str, told: Sequence[patterns.Verb]) -> None:
        self.verbs = (*patterns.VERBS, *told)
        self.names: list[_SignedName] = []
        self.text = patterns.PHRASE.sub(self._sign, text)
        self.objects: set[int] = set()
        """The places where objects of facts end."""

    def _sign(self, match: re.Match[str]) -> str:
        name = match["name"] or match["nouns"] or match["thing"] or ""
        many = match.start("name") == 0 and patterns.PLURAL.fullmatch(name)
        if not name or many or "'s " in name.replace("’", "'"):
            return match[0]
        self.names.append(_SignedName(name.strip("`"), match[0], not match["name"]))
        return NAME

    def facts(self) -> Iterator[ProseFact]:
        """Yield the facts of each name that is a subject, clause by clause."""
        for at, sign in enumerate(self.text):
            subject = patterns.SUBJECT.match(self.text, at) if sign == NAME else None
            if subject and self._begins_clause(at):
                for between in patterns.BETWEEN:
                    if verb_at := between.match(self.text, subject.end()):
                        yield from self._clauses(subject, verb_at.end())

    def _names_in(self, start: int, end: int) -> list[_SignedName]:
        first = self.text.count(NAME, 0, start)
        return self.names[first : first + self.text.count(NAME, start, end)]

    def _begins_clause(self, at: int) -> bool:
        """Return whether a name begins the sentence or follows another clause."""
        before = self.text[:at]
        joined = patterns.JOINED.search(before)
        if joined and joined.start() not in self.objects:
            return False  # Tallinn, Estonia is located in
        if patterns.RELATIVE.search(before):
            return False  # the company that acquired Acme and Ben is based in
        return bool(patterns.MAY_PRECEDE.search(before))

    def _clauses(self, subject: re.Match[str], at: int) -> Iterator[ProseFact]:
        """Yield the facts of a subject from one verb on: works at Acme and lives in Rome."""
        who = self._names_in(*subject.span())
        for verb in self.verbs:
            match = verb.pattern.match(self.text, at)
            if match is None or match["many" if len(who) == 1 else "one"]:
                continue
            objects, end = self._objects(verb, match.end())
            if objects:
                yield from self._facts_of(verb, match, subject, objects, end)
                if more := patterns.GOES_ON.match(self.text, end):
                    yield from self._clauses(subject, more.end())
                return

    def _objects(self, verb: patterns.Verb, at: int) -> tuple[list[str], int]:
        """Return the objects of a verb, and where they end."""
        match = patterns.OBJECTS[verb.takes].match(self.text, at)
        if match is None:
            return [], at
        end = match.end()
        listed = verb.takes == "name" and match.end("first") < end
        if listed and any(other.pattern.match(self.text, end) for other in self.verbs):
            end = match.end("first")  # Ana reports to Ben and Carl works at Acme
        elif not self._may_follow(end, verb.relation):
            return [], at  # Kent and Essex counties
        names = self._names_in(match.start(), end)
        if verb.takes != "name":
            phrase = self.text[match.start(1) : end]
            for name in names:
                phrase = phrase.replace(NAME, name.written, 1)
            return [phrase], end
        # Marks and Spencer is one name; nobody lives in two places at a time
        if len(names) > 1 and verb.exclusive:
            return [], at
        self.objects.add(end)
        return [name.text for name in names], end

    def _may_follow(self, end: int, relation: str) -> bool:
        """Return whether an object is complete at its end, and not followed by its noun."""
        follows = patterns.NEXT.match(self.text, end)
        if follows is None or follows["time"]:
            return True
        word = follows["word"]  # with a capital it is a part of the name
        if word in patterns.NOT_AFTER.get(relation, ()):
            then = patterns.NEXT.match(self.text, follows.end())
            return then is not None and then["time"] is not None
        return word in patterns.MAY_FOLLOW or word in ".,;:!)(–—-…"

    def _facts_of(
        self,
        verb: patterns.Verb,
        match: re.Match[str],
        subject: re.Match[str],
        objects: list[str],
        end: int,
    ) -> Iterator[ProseFact]:
        groups = {name for name, value in match.groupdict().items() if value is not None}
        is_event = "past" not in match.re.groupindex
        since, until = self._times(subject.start(), end, is_event or "ended" in groups)
        if "ended" in groups and until is None:
            since, until = None, since
        elif "ended" in groups:
            groups = {"past"}  # previously worked at Acme from 2013 to 2014
        if "past" in groups and until is None:
            return
        negated = not groups.isdisjoint(("ended", "not", "did"))
        for name in self._names_in(*subject.span()):
            sure = CONFIDENCE + INSIDE * (subject.start() > 0) + COMMON_NOUNS * name.common
            if not (verb.relation in patterns.OF_PEOPLE and name.common):
                for thing in objects:
                    said_of = name.text, verb.relation, thing
                    yield ProseFact(*said_of, negated, round(sure, 2), since, until)

    def _times(self, start: int, end: int, is_event: bool) -> tuple[str | None, str | None]:
        """Return the words for the start and the end, after the object or before the sentence."""
        window = self.text[end : end + 100]
        during = patterns.DURING.search(window)
        cut = patterns.CLAUSE.search(window)
        if during is None or (cut is not None and cut.start() < during.start()):
            during = patterns.OPENING_TIME.match(self.text)
            if during is None or during.end() != start:
                return None, None
        # `from Monday` is the next one, `since Monday` the last.
        since = f"from {during['since']}" if during["from"] else during["since"]
        since = during["first"] or since or (during["at"] if is_event else None)
        return since, during["last"] or during["until"]
