"""Near topics: find an existing topic that a new one may repeat.

A name is near another if both have the same words, or the same last part: `queue` and
`infra/queues`, `decisions/queue` and `infra/queue`. A last part that several topics share, or that
is a number or a word such as `overview`, names a kind of note, not a thing.
"""

from __future__ import annotations

import re

from hades.language.english.lexicon import word_set
from hades.language.english.stems import singular
from hades.store.store import Store

NAMES_READ = 1_000
"""The most names that are compared with a new one."""
_WORD = re.compile(r"[^\W_]+")
_KINDS = word_set(
    """overview summary note status state plan todo log index readme config setting setup decision
    question task history list misc general main team contact budget preference pref lead owner"""
)
"""Last parts of names that state a kind of note, not its subject."""


def near_topic(store: Store, space: int, topic: str) -> str | None:
    """Return the topic that a new topic may repeat, or None."""
    words = _words(topic)
    *parents, last = topic.split("/")
    if not words:
        return None
    longest = max(_words(last) or words, key=len)
    # The beginning of the longest word finds its plural too.
    begin = longest[: max(3, len(longest) - 2)]
    others = [name for name in store.topics.named(space, begin, NAMES_READ) if name != topic]
    for name in others:
        if _words(name) == words or (sorted(_words(name)) == sorted(words) and _is_named(words)):
            return name
    if not _is_named(_words(last)) or set(_words(last)) <= _KINDS:
        return None
    same = [name for name in others if _words(name.rpartition("/")[2]) == _words(last)]
    whole = [name for name in same if not parents or "/" not in name]
    return same[0] if len(same) == 1 else next(iter(whole), None)


def _is_named(words: list[str]) -> bool:
    """Return whether words name something by letters: numbers alone are versions or dates."""
    return bool(words) and not any(word[0].isdigit() for word in words)


def _words(name: str) -> list[str]:
    return [singular(word) for word in _WORD.findall(name.casefold())]
