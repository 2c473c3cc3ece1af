"""Facts that prose says plainly: "Maya works at Acme since May 2024".

A table of verbs, each read between two names that stand right beside it. Precision comes first:
what is asked, supposed, quoted, hoped for or said by others is no fact, nor is what a pronoun or a
nested phrase ("the brother of Maya works at") is the subject of. Nothing here guesses what kind of
thing a name is, so a relation is called as the text says it: `moved_to`, `joined`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from hades.domain import prose_patterns as patterns
from hades.domain.names import STOP_WORDS, is_identifier, name_key, spoken
from hades.domain.sentences import spans

TEXT_CHARACTERS_AT_MOST = 200_000
SENTENCE_CHARACTERS_AT_MOST = 600
"""A longer sentence is a table, a log or an attack, and states nothing plainly."""
WORDS_BETWEEN = 12
"""An apposition of fewer words may stand between a subject and its verb."""

ENDS = {"left": ("works_at", "studies_at", "joined", "member_of", "lives_in")}
"""Relations to the same object that a fact ends."""
CONFIDENCE, INSIDE, COMMON_NOUNS = 0.96, -0.02, -0.03
"""How sure one is of a sentence that begins with a name; less where another clause stands before
it, and where common nouns are the subject. A judgement: all are above 0.9, as was measured."""
EXCLUSIVE = frozenset(verb.relation for verb in patterns.VERBS if verb.exclusive)
"""Relations of which a subject has one at a time."""


@dataclass(frozen=True, slots=True)
class ProseFact:
    """What a sentence says of two names."""

    subject: str
    relation: str
    object: str
    exclusive: bool
    """A subject has one at a time: a new value ends the old one."""
    negated: bool
    """The sentence says that this does not hold, or no longer."""
    confidence: float
    valid_from: str | None
    """The words of the text for the time it began; `valid_to`: for its end."""
    valid_to: str | None
    start: int
    end: int
    """Where its sentence stands in the text."""


def facts_in(text: str, topic: str = "") -> list[ProseFact]:
    """The facts that a text states plainly, in its order.

    A sentence that leaves out its subject (`Works at Acme.`) speaks of `topic`, where given; so
    does one that begins with a pronoun, as long as the text named nothing else.

    >>> [(one.subject, one.relation, one.object) for one in facts_in("Ana works at Acme.")]
    [('Ana', 'works_at', 'Acme')]
    """
    found: dict[tuple[str, str, str, bool], ProseFact] = {}
    own = {name_key(one) for one in (topic, spoken(topic), topic.rpartition("/")[2]) if one}
    named_others = False
    for start, end in spans(text[:TEXT_CHARACTERS_AT_MOST]):
        said = patterns.SPACE.sub(" ", text[start:end])
        if len(said) > SENTENCE_CHARACTERS_AT_MOST:
            continue
        left_out = patterns.LEFT_OUT.match(said) if topic and "`" not in topic else None
        trouble = patterns.TROUBLE.search(said)
        if left_out and not left_out["pronoun"]:
            being = "is " if left_out["being"] else ""
            said = f"`{topic}` {being}{said[0].lower()}{said[1:]}"
        elif left_out and not named_others:
            said = f"`{topic}` {said[left_out.end() :]}"
        sentence = _Sentence(said, own)
        named_others |= any(name_key(one.text) not in own for one in sentence.names.values())
        for fact in () if trouble else sentence.facts():
            key = (name_key(fact.subject), fact.relation, name_key(fact.object), fact.negated)
            found.setdefault(key, replace(fact, start=start, end=end))
    return list(found.values())


class _Token(NamedTuple):
    text: str
    start: int
    end: int
    kind: str


class _NameSpan(NamedTuple):
    """A name in a sentence: its text, and its tokens from `first` up to `after`."""

    text: str
    first: int
    after: int
    common: bool
    """Made of common nouns, such as the billing service."""


class _Sentence:
    """One sentence, its tokens and its names."""

    def __init__(self, text: str, own: set[str]) -> None:
        self.text = text
        self.own = own
        """Keys of the names of its topic, which may be written small."""
        self.tokens = [
            _Token(one[0], one.start(), one.end(), one.lastgroup or "")
            for one in patterns.TOKEN.finditer(text)
        ]
        self.at = {token.start: number for number, token in enumerate(self.tokens)}
        self.names = {name.first: name for name in self._names()}
        self.ends = {name.after: name for name in self.names.values()}
        self.objects: set[int] = set()
        """Where names end that are the object of a fact."""

    def facts(self) -> Iterator[ProseFact]:
        """What each name that is a subject is said to do, clause by clause."""
        for name in self.names.values():
            for at in self._verb_places(name):
                yield from self._clauses(name, at)

    def _word(self, at: int) -> str:
        return self.tokens[at].text.lower() if 0 <= at < len(self.tokens) else ""

    # Names

    def _is_named(self, at: int) -> bool:
        """Whether a token may begin a name or go on with one."""
        lower = self._word(at)
        if not lower or lower in patterns.NOT_NAMES or self.tokens[at].kind != "word":
            return bool(lower) and self.tokens[at].kind == "code"
        word = self.tokens[at].text
        if word[0].isupper():
            return (
                lower not in STOP_WORDS
                or word == "US"
                or (word == "New" and self._is_named(at + 1))
            )
        head = word.rpartition("-")[2]
        return (
            bool(patterns.NUMBERED.fullmatch(word))
            or is_identifier(word)
            or head in patterns.HEADS - {word}
            or name_key(word) in self.own
        )

    def _names(self) -> Iterator[_NameSpan]:
        at, opening = 0, next((n for n, one in enumerate(self.tokens) if one.kind == "word"), 0)
        while at < len(self.tokens):
            common = not self._is_named(at)
            after = self._end_of_nouns(at) if common else self._end_of_name(at)
            first = begins = at
            for place in range(at, after - 1):
                if patterns.TITLE.fullmatch(self.tokens[place].text):
                    first = place + 1  # CTO Ana Ruiz
            at = max(after, at + 1)
            if after > first:
                said = self.text[self.tokens[first].start : self.tokens[after - 1].end].strip("`")
                many = first == opening and after == first + 1 and patterns.PLURAL.fullmatch(said)
                if not many and "'s " not in said.replace("’", "'"):
                    yield _NameSpan(said, begins, after, common)

    def _end_of_name(self, at: int) -> int:
        """The token after a name: capitals, with `of`, `van` or a number between or behind."""
        after = at + 1
        while after < len(self.tokens):
            word = self._word(after)
            the = word == "of" and self._word(after + 1) == "the"
            joins = word in patterns.PARTICLES or (
                word == "of" and self._word(after - 1) in patterns.OF
            )
            if self._is_named(after):
                after += 1
            elif joins and self._is_named(after + 1 + the):
                after += 2 + the
            else:
                return after + (word in patterns.HEADS or (word.isdigit() and len(word) <= 4))
        return after

    def _end_of_nouns(self, at: int) -> int:
        """The token after `billing service` in `the billing service`, or where it began."""
        if (
            self._word(at - 1) in ("the", "our")
            and self._word(at) not in STOP_WORDS | patterns.VAGUE
        ):
            for after in (at + 4, at + 3, at + 2):
                own = self.tokens[at:after]
                if self._word(after - 1) in patterns.HEADS and all(
                    one.kind == "word" for one in own
                ):
                    return after
        return at

    def _name_at(self, at: int) -> _NameSpan | None:
        return self.names.get(at + (self._word(at) in ("the", "our", "both")))

    # Subjects

    def _verb_places(self, name: _NameSpan) -> Iterator[int]:
        """Where the verb of a subject may begin: behind it, or behind what is put in between."""
        after = name.after
        yield self.tokens[after - 1].end
        sign, begins = self._word(after), self._word(after + 1)
        if sign == "," and begins in ("who", "which"):
            yield self.tokens[after + 1].end
        if sign == "(" or (sign == "," and begins in patterns.APPOSITION):
            for token in self.tokens[after + 2 : after + WORDS_BETWEEN]:
                if token.text == {"(": ")"}.get(sign, sign):
                    yield token.end
                    return

    def _outside(self, name: _NameSpan) -> int:
        """The token before a name and its article."""
        return name.first - 1 - (self._word(name.first - 1) in ("the", "our", "my"))

    def _begins_clause(self, name: _NameSpan) -> bool:
        at = self._outside(name)
        before = [token.text.lower() for token in self.tokens[: at + 1]]
        if not before:
            return True
        if sum(word in '"“”„' for word in before) % 2 or not patterns.RELATIVE.isdisjoint(
            before[:-1]
        ):
            return False  # the company that acquired Acme and Ben is based in
        word, kind = before[-1], self.tokens[at].kind
        other = self.ends.get(at)
        if word == "," and other is not None and other.after not in self.objects:
            return False  # Tallinn, Estonia is located in
        if kind != "word" or word in patterns.MAY_PRECEDE:
            return kind in ("time", "word") or word in ",;:(-–—*•#]+"
        # My sister Helena; but not: the agency representing Helena.
        noun = self.tokens[at].text.islower() and not word.endswith(("ing", "ed"))
        noun = noun and word not in STOP_WORDS | patterns.VAGUE
        return noun and any(
            one in patterns.DETERMINERS or one.endswith("s") for one in before[-3:-1]
        )

    def _subjects(self, name: _NameSpan) -> list[_NameSpan]:
        """The names of a list that ends with this one, as far as it begins a clause."""
        at = self._outside(name)
        at -= self._word(at) in ("and", "&") and self._word(at - 1) == ","
        other = self.ends.get(at) if self._word(self._outside(name)) in ("and", "&") else None
        if other is None:
            return [name] if self._begins_clause(name) else []
        found, kept = [other], list[_NameSpan]()
        while True:
            kept = list(found) if self._begins_clause(found[0]) else kept
            at = self._outside(found[0])
            earlier = self.ends.get(at) if self._word(at) == "," else None
            if earlier is None:
                break
            found.insert(0, earlier)
        # Ana reports to Ben and Carl works at Acme: Ben is an object, so Carl begins a clause.
        return [*kept, name] if kept or other.after in self.objects else []

    # Clauses

    def _clauses(self, name: _NameSpan, at: int) -> Iterator[ProseFact]:
        """The facts of a subject from one verb on: works at Acme and lives in Rome."""
        for verb in patterns.VERBS:
            said = verb.pattern.match(self.text, at)
            who = self._subjects(name) if said else []
            if said is None or not who or (len(who) == 1 and said["many"]):
                continue
            objects, end = self._objects(verb, said.end())
            if objects:
                yield from self._said(verb, said, who[-1:] if said["one"] else who, objects, end)
                if more := patterns.GOES_ON.match(self.text, end):
                    yield from self._clauses(name, more.end())
                return

    def _objects(self, verb: patterns.Verb, at: int) -> tuple[list[str], int]:
        """What a verb says of its subject, and where that ends."""
        if verb.takes != "name":
            found = patterns.OBJECTS[verb.takes].match(self.text, at)
            if found is None:
                return [], at
            end = found.end()
            after = next((n for n, one in enumerate(self.tokens) if one.start >= end), -1)
            if verb.takes == "role" and found["of"]:
                name = self._name_at(after)
                if name is None:
                    return [], at
                after, end = name.after, self.tokens[name.after - 1].end
            ok = after < 0 or self._may_follow(after, verb.relation)
            return [self.text[found.start(1) : end]] if ok else [], end
        names, name = list[_NameSpan](), self._name_at(self.at.get(at + 1, -1))
        closed = False
        while name is not None:
            names.append(name)
            comma = self._word(name.after) == ","
            joined = self._word(name.after + comma) == "and"
            name = self._name_at(name.after + comma + joined) if comma or joined else None
            if closed:
                break
            closed = joined and name is not None
        if closed and not self._may_follow(names[-1].after, verb.relation):
            at_verb = self.tokens[names[-1].after - 1].end
            if not any(one.pattern.match(self.text, at_verb) for one in patterns.VERBS):
                return [], at  # Kent and Essex counties
            closed = False
        names = names if closed else names[:1]
        # Marks and Spencer is one; nobody lives in two places at a time.
        if not names or (closed and verb.exclusive):
            return [], at
        if not self._may_follow(names[-1].after, verb.relation) or self._is_cut(names[-1]):
            return [], at
        self.objects |= {one.after for one in names}
        return [one.text for one in names], self.tokens[names[-1].after - 1].end

    def _is_cut(self, name: _NameSpan) -> bool:
        """Whether a name goes on: the Committee for Trade, the Memphis, Tennessee area."""
        after, last = self._word(name.after), self._word(name.after - 1)
        goes_on = after == "," and name.after + 1 in self.names
        return (after == "for" and last in patterns.OF) or (
            goes_on and self._word(name.first - 1) == "the"
        )

    def _may_follow(self, at: int, relation: str) -> bool:
        """Whether an object is whole where this token follows."""
        word = self._word(at)
        if not word or self.tokens[at].kind == "time":
            return True
        if word in patterns.NOT_AFTER.get(relation, ()):
            return at + 1 < len(self.tokens) and self.tokens[at + 1].kind == "time"
        return word in patterns.MAY_FOLLOW or word in ".,;:!)(–—-…"

    def _said(
        self,
        verb: patterns.Verb,
        said: re.Match[str],
        who: list[_NameSpan],
        objects: list[str],
        end: int,
    ) -> Iterator[ProseFact]:
        groups = {name for name, value in said.groupdict().items() if value is not None}
        is_event = "past" not in said.re.groupindex
        since, until = self._times(who[0], end, is_event or "ended" in groups)
        if "ended" in groups and until is None:
            since, until = None, since
        elif "ended" in groups:
            groups = {"past"}  # previously worked at Acme from 2013 to 2014
        if "past" in groups and until is None:
            return
        sure = CONFIDENCE + INSIDE * (self._outside(who[0]) >= 0) + COMMON_NOUNS * who[0].common
        for name in who:
            of_thing = name.common or patterns.NO_PERSON.search(name.text)
            if not (verb.relation in patterns.OF_PEOPLE and of_thing):
                for one in objects:
                    yield ProseFact(
                        *(name.text, verb.relation, one),
                        exclusive=verb.exclusive,
                        negated=not groups.isdisjoint(("ended", "not", "did")),
                        confidence=round(sure, 2),
                        valid_from=since,
                        valid_to=until,
                        start=0,
                        end=0,
                    )

    def _times(self, name: _NameSpan, end: int, is_event: bool) -> tuple[str | None, str | None]:
        """The words for the beginning and the end, behind an object or before the sentence."""
        window = self.text[end : end + 100]
        found, cut = patterns.DURING.search(window), patterns.CLAUSE.search(window)
        if found is None or (cut is not None and cut.start() < found.start()):
            found = patterns.OPENING_TIME.match(self.text)
            if found is None or found.end() != self.tokens[self._outside(name) + 1].start:
                return None, None
        # `from Monday` is the next one, `since Monday` the last.
        since = f"from {found['since']}" if found["from"] else found["since"]
        since = found["first"] or since or (found["at"] if is_event else None)
        return since, found["last"] or found["until"]
