"""Contradiction: whether two sentences say the same thing, or give another value, or the opposite.

It uses English words and forms only, and would rather miss a contradiction than invent one. Both
sentences must say something about the same subject in the same words, and only one value or a `not`
may differ. Questions, plans, conditions, quotes, the past and lists are not compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from hades.language.english.detect import is_english
from hades.language.english.lexicon import (
    MONTHS,
    NUMBER_WORDS,
    PRONOUNS,
    STOP_WORDS,
    WEEKDAYS,
    changes,
    word_set,
)
from hades.language.english.speculation import NEGATION, SUPPOSED, is_denial
from hades.language.english.stems import singular
from hades.language.patterns import any_of, lazy_pattern
from hades.language.wording import numberless
from hades.language.words import words

SENTENCE_CHARACTERS_AT_MOST = 400
"""A longer sentence says too much to compare one value of it."""
_SAME_LENGTH = 0.8
"""The share of the older sentence's words that a repetition must have. Chosen by hand."""

_MONTH = f"(?i:{any_of(MONTHS)})"
_DAY = f"(?i:(?:{'|'.join(WEEKDAYS)})s?|today|tomorrow|yesterday)"
_COUNT = f"(?i:{'|'.join(NUMBER_WORDS[1:])}|twenty|thirty|hundred)"
_TOKENS = lazy_pattern(
    rf"""(?P<date>\d{{4}}-\d\d(?:-\d\d)?|\d{{1,2}}\.\d{{1,2}}\.(?:\d{{4}})?
      |(?:\d{{1,2}}(?:st|nd|rd|th|\.)?[ ])?\b{_MONTH}\b
        (?:[ ]\d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,?[ ]\d{{4}}\b)?)
    |(?P<day>\b{_DAY}\b)
    |(?P<time>\b\d{{1,2}}(?:[:.]\d\d)?[ ]?[ap]m\b|\b\d{{1,2}}:\d\d\b)
    |(?P<number>\b\d[\d.,']*(?:[ ]\d+)*(?![\w-])|\b{_COUNT}\b)
    |(?P<code>\b(?=[\w.-]{0, 60}\d)\w+(?:[.-]\w+)*)
    |(?P<word>[^\W\d_]+(?:['’_-][^\W\d_]+)*)
    |(?P<mark>[€$£%,;:()–—])""",
    re.VERBOSE,
)
_MARKS = {"€": "euro", "$": "dollar", "£": "pound", "%": "percent"}
_SPELT = frozenset((*_MARKS.values(), "minus"))
_SIGNS = lazy_pattern(r"[€$£%]|(?<![\w.])[-−](?=\d)")
_NOT_NOW_AND_ALONE = lazy_pattern(
    r"\b(?:used to|previously|formerly|originally|also|too|another|additional(?:ly)?|as well|until"
    r"|every other|sometimes|usually|about|around|approx\w*|ago|last|each)\b",
    re.IGNORECASE,
)
_TAIL = lazy_pattern(r"[;(–—]|,?\s\b(?:because|since|after|due to|so that|which|as of|following)\b")
_STATES = word_set(
    """is are costs cost takes take lasts weighs measures starts start begins ends end closes opens
    expires runs run listens allows allow permits supports support has have holds keeps needs
    requires pays earns charges delivers lives works reports goes belongs stays sits reads seats
    uses meets arrives leaves departs returns serves covers totals equals sells handles"""
)
_CHANGED = lazy_pattern(
    r"(?:(?:was|were|has been|have been|has|have|got|is|are)\s)?(?:now\s)?"
    rf"(?:{changes('value')})(?=\s(?:back\s)?(?:from|to|by|at)\s)",
    re.IGNORECASE,
)
_ONE_NAME = word_set("""is are lives works reports goes belongs runs sits stays changed""")
"""Verbs that join a subject to one name at a time."""
_FILLERS = word_set(
    """a an the is are be am do does has have now currently s please just so that which there any
    new current of to"""
)
_EMPTY = (STOP_WORDS | _FILLERS) - PRONOUNS


class Contradiction(NamedTuple):
    """The old and the new value of two sentences; both empty if one denies the other."""

    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"{self.after}, not {self.before}" if self.after else "one denies the other"


class _Value(NamedTuple):
    """A number, date or name that a sentence gives to its subject."""

    kind: str
    text: str
    key: str
    led_by: str
    """The word before it."""


@dataclass(frozen=True, slots=True)
class _Compared:
    row: tuple[str, ...]
    """The words of the sentence in order, without fillers."""
    content: frozenset[str] = frozenset()
    subject: frozenset[str] = frozenset()
    rest: frozenset[str] = frozenset()
    verb: str = ""
    values: tuple[_Value, ...] = ()
    named: bool = False
    """Whether its subject has a name in it."""
    negated: bool = False
    plain: bool = False
    """Whether its words show no question, plan, condition or quote."""
    states: bool = False


def contradiction(
    new: str, old: str, new_topic: str = "", old_topic: str = ""
) -> Contradiction | None:
    """Return how a sentence contradicts an older one; None if it does not.

    The names of their topics help to decide whether both are about the same thing.

    >>> contradiction("The rent in Gera is now 950 euros.", "The rent in Gera is 900 euros.")
    Contradiction(before='900', after='950')
    """
    one = _compared(new)
    other = _compared(old)
    if not (one.states and other.states) or entails(old, new):
        return None
    if not is_about_one_thing(new, new_topic, old_topic):
        return None
    if one.negated == other.negated:
        return _other_value(one, other)
    return Contradiction() if one.content == other.content else None


def entails(old: str, new: str) -> bool:
    """Return whether the new sentence has only words of the old one, nearly all of them, in the
    same order."""
    one = _compared(new)
    other = _compared(old)
    if not one.row or (one.negated, one.plain) != (other.negated, other.plain):
        return False
    left = iter(other.row)
    return len(one.row) >= _SAME_LENGTH * len(other.row) and all(word in left for word in one.row)


def is_statement(sentence: str) -> bool:
    """Return whether a sentence states something plainly, so that it can contradict another."""
    return _compared(sentence).states


def required_words(sentence: str) -> tuple[str, ...]:
    """Return the stems, in lower case, that a text must contain to contradict or repeat this
    sentence. Most texts lack one and can be skipped. The longest stems come first, because they are
    rare."""
    read = _compared(sentence)
    wanted = read.subject if read.states else frozenset(read.row) - _SPELT
    return tuple(sorted(wanted, key=len)[::-1])


def is_about_one_thing(sentence: str, new_topic: str, old_topic: str) -> bool:
    """Return whether the subject of a sentence is the same thing in two topics.

    A subject with a name is. Otherwise the topics must not be two of a kind, and the subject must
    have more than one word or be in the name of one of the topics.
    """
    compared = _compared(sentence)
    if compared.named:
        return True
    parents = [topic.rpartition("/")[0] for topic in (new_topic, old_topic)]
    if numberless(new_topic) == numberless(old_topic) or parents[0] == parents[1] != "":
        return False
    called = {singular(word) for word in words(f"{new_topic} {old_topic}".casefold())}
    return len(compared.subject) > 1 or bool(compared.subject & called)


def _other_value(one: _Compared, other: _Compared) -> Contradiction | None:
    """Return the only value that differs; None for lists, ranges and values of two kinds."""
    if one.negated or (one.subject, one.rest) != (other.subject, other.rest):
        return None
    if one.verb not in (other.verb, "changed"):
        return None
    keys = {value.key for value in one.values} & {value.key for value in other.values}
    new = [value for value in one.values if value.key not in keys]
    old = [value for value in other.values if value.key not in keys]
    if one.verb == "changed" and not old:  # changed from A to B
        old = [value for value in one.values if value.key in keys and value.led_by == "from"]
    if len(new) != 1 or len(old) != 1 or new[0].kind != old[0].kind:
        return None
    kind = new[0].kind
    least = 1 + (one.verb == "changed")
    many = [sum(value.kind == kind for value in sentence.values) for sentence in (one, other)]
    if many[0] > least or many[1] > 1:
        return None
    several = ("a", "an", "of", "and", "like", *(("with", "on") if one.verb == "works" else ()))
    if kind == "name" and (one.verb not in _ONE_NAME or new[0].led_by in several):
        return None
    return Contradiction(old[0].text, new[0].text)


@lru_cache(maxsize=16_384)
def _compared(sentence: str) -> _Compared:
    """Split a sentence, if not too long, at its verb; collect its numbers, dates and names."""
    if len(sentence) > SENTENCE_CHARACTERS_AT_MOST:
        return _Compared((sentence.casefold(),))
    spelt = _SIGNS.sub(lambda sign: f" {_MARKS.get(sign[0], 'minus')} ", sentence.casefold())
    row = tuple(singular(word) for word in words(spelt) if word not in _FILLERS)
    plain = not (SUPPOSED.search(sentence) or _NOT_NOW_AND_ALONE.search(sentence))
    negated = is_denial(sentence)
    text = NEGATION.sub(" ", sentence)
    if tail := _TAIL.search(text, 12):
        text = text[: tail.start()]
    changed = _CHANGED.search(text)
    subject: list[str] = []
    rest: list[str] = []
    values: list[_Value] = []
    verb = ""
    led_by = ""
    named = False
    place = 0
    for token_match in _TOKENS.finditer(text):
        kind = token_match.lastgroup or ""
        token = token_match[0]
        if changed and changed.start() <= token_match.start() < changed.end():
            verb = verb or "changed"
            continue
        low = _MARKS.get(token, token.casefold())
        place += 1
        if not verb:
            if (token == ":" or low in _STATES) and subject:
                verb = "is" if token == ":" else low
                led_by = low
                continue
            name = kind == "code" or (token[0].isupper() and (place > 1 or kind == "number"))
            named |= name
            subject += _content(token, low)
        elif kind in ("word", "mark"):
            if token[0].isupper():
                if values and values[-1][::2] == ("name", led_by):  # the next word of a name
                    last = values.pop()
                    token = f"{last.text} {token}"
                    low = f"{led_by} {low}"
                    led_by = last.led_by
                values.append(_Value("name", token, low, led_by))
            else:
                rest += _content(token, low)
        else:
            kind = "name" if kind == "code" else kind
            values.append(_Value(kind, token.rstrip(".,"), _key(low), led_by))
        led_by = led_by if low == "the" else low
    content = {singular(word) for word in words(text.casefold()) if word not in STOP_WORDS}
    content |= {value.key for value in values if value.kind != "name"}
    return _Compared(
        row=row,
        content=frozenset(content),
        subject=frozenset(subject),
        rest=frozenset(rest),
        verb="is" if verb == "are" else verb,
        values=tuple(values),
        named=named,
        negated=negated,
        plain=plain,
        states=plain and bool(verb) and not PRONOUNS.intersection(subject) and is_english(sentence),
    )


def _content(token: str, low: str) -> list[str]:
    if low in _EMPTY or (not token[0].isalnum() and len(low) == 1):
        return []
    return [singular(low)]


def _key(value: str) -> str:
    return re.sub(r"[,' ]", "", value).rstrip(".")


@lru_cache(maxsize=16_384)
def values(sentence: str) -> dict[str, set[str]]:
    """Return the values in a sentence: `day` has the days, `amount` numbers, hours and codes."""
    by_kind: dict[str, set[str]] = {"amount": set(), "day": set()}
    for token in _TOKENS.finditer(sentence[:SENTENCE_CHARACTERS_AT_MOST]):
        if token.lastgroup in ("date", "day", "time", "number", "code"):
            kind = "day" if token.lastgroup in ("date", "day") else "amount"
            by_kind[kind].add(_key(token[0].casefold()))
    return by_kind
