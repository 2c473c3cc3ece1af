"""Replacement: whether a later sentence of a topic repeats or replaces an earlier one."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product

from hades.language.english.contradiction import contradiction, values
from hades.language.english.intent import is_past_tense
from hades.language.english.lexicon import STOP_WORDS, changes
from hades.language.english.prose_facts import (
    ENDS,
    ENDS_ELSEWHERE,
    ProseFact,
    facts_in,
    names_topic,
)
from hades.language.english.settled import is_obstacle, settled
from hades.language.english.speculation import is_denial
from hades.language.names import DIGITS, name_key
from hades.language.patterns import lazy_pattern

SHARED_WORDS = 0.5
"""A later sentence with this share of an earlier one's words replaces it, if it has another value
or a word for a change. Chosen by hand."""
_SHARED_AT_LEAST = 2
_OVER = rf"any ?more|no longer|{changes('over')}"
_SAYS_CHANGE = lazy_pattern(rf"\b(?:now|again|instead|former(?:ly)?|{_OVER})\b", re.IGNORECASE)
_SAYS_END = lazy_pattern(rf"\b(?:{_OVER})\b", re.IGNORECASE)
_PRONOUN = lazy_pattern(r"^(?:She|He|It|They|(?P<whose>Her|His|Its|Their))(?= )")
_PLACE = lazy_pattern(
    r"(?<= )(at|for|in|to|by) (?:the|an?) (?!weekend|moment)([a-z][\w-]*(?: [a-z][\w-]*){0,2}?)"
    r"(?=[.,;]|$| (?:in|at|on|of|since|and|from|until|now)\b)"
)
"""Common nouns as the object of a fact, where a name could be: works at the chandlery."""


@lru_cache(maxsize=4_096)
def said_words(text: str) -> frozenset[str]:
    """Return the words of a sentence without stop words."""
    return frozenset(name_key(text).split()) - STOP_WORDS


def share_words(one: str, other: str) -> float:
    """Return the share of all words of two sentences, without stop words, that both have."""
    first = said_words(one)
    second = said_words(other)
    return len(first & second) / max(1, len(first | second))


def says_change(sentence: str) -> bool:
    """Return whether a sentence has a word for a change: now, instead, no longer, left."""
    return _SAYS_CHANGE.search(sentence) is not None


def replaces(new: str, old: str, topic: str) -> bool:
    """Return whether a later sentence of a topic replaces what an earlier one says.

    >>> replaces("It moved to Erfurt.", "Lives in Jena.", "staff/pavel")
    True
    """
    new = _named(new, topic)
    old = _named(old, topic)
    facts = facts_of(new, topic), facts_of(old, topic)
    if any(_ends(*both, topic) for both in product(*facts)):
        return True
    shared = len(said_words(new) & said_words(old))
    # If both state facts, the facts decide, not the words: somebody who moved still works there.
    if shared and not all(facts) and contradiction(new, old, topic, "") is not None:
        return True
    own = _own_words(old, topic)
    kept = own & said_words(new)
    if shared < _SHARED_AT_LEAST or len(kept) < SHARED_WORDS * len(own):
        return False
    now = values(new)
    before = values(old)
    another = any(now[kind] - before[kind] and before[kind] - now[kind] for kind in now)
    return another or says_change(new)


def ends(new: str, old: str, topic: str) -> bool:
    """Return whether a later sentence of a text says that an earlier one no longer holds.

    >>> ends("Ann left Acme in May.", "Ann works at Acme.", "people/ann")
    True
    """
    pairs = product(facts_of(_named(new, topic), topic), facts_of(_named(old, topic), topic))
    if any(_ends(*pair, topic) for pair in pairs if pair[0].negated or pair[0].relation in ENDS):
        return True
    own = said_words(old) - said_words(topic)
    return bool(own) and own <= said_words(new) and _SAYS_END.search(new) is not None


def settles(new: str, old: str, topic: str) -> bool:
    """Return whether a later sentence settles a bug, a task or the like in an earlier sentence.

    >>> settles("Fixed by refactoring.", "Bug Y corrupts data.", "bugs/bug_y")
    True
    """
    if not _settled(topic, new) or _settled(topic, old):
        return False
    return is_obstacle(topic) and not is_past_tense(old)


def _named(text: str, topic: str) -> str:
    """Return a sentence in which its topic's name replaces a pronoun, and common nouns are marked
    as names."""
    last = topic.rpartition("/")[2]
    text = _PRONOUN.sub(lambda match: f"{last}'s" if match["whose"] else last, text)
    return _PLACE.sub(r"\1 `\2`", text)


def repeats(new: str, old: str, topic: str) -> bool:
    """Return whether a later sentence of a topic says all that an earlier one says."""
    own = said_words(old) - said_words(topic)
    if not own <= said_words(new) or (says_change(new) and not says_change(old)):
        return False
    return name_key(new) == name_key(old) or (len(own) > 1 and is_denial(new) == is_denial(old))


@lru_cache(maxsize=4_096)
def _own_words(text: str, topic: str) -> frozenset[str]:
    """Return the words of a sentence without its topic's name, numbers and days."""
    own = said_words(text) - said_words(topic) - values(text)["day"]
    return frozenset(word for word in own if not DIGITS.search(word))


facts_of = lru_cache(maxsize=4_096)(facts_in)
"""The facts of a sentence, cached because sentences are compared in pairs."""
_settled = lru_cache(maxsize=4_096)(settled)


def _ends(new: ProseFact, old: ProseFact, topic: str) -> bool:
    """Return whether a fact ends an earlier one of its subject."""
    subjects = new.subject, old.subject
    who = {topic if names_topic(name, topic) else name_key(name) for name in subjects}
    if old.negated or len(who) > 1:
        return False
    same = name_key(new.object) == name_key(old.object)
    if new.relation == old.relation:
        return same == new.negated and (new.negated or new.exclusive)
    ends = ENDS if same else ENDS_ELSEWHERE
    return not new.negated and old.relation in ends.get(new.relation, ())
