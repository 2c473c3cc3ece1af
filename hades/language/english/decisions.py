"""Decisions: recognise decisions and open threads by the tags, the name and the words of a topic.

People set tags and names on purpose, so they count for every topic. Words count only in notes,
sentence by sentence. The patterns are narrow, because a wrong line does more harm than a missing
one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hades.domain.distilled import BINDING
from hades.language.english.lexicon import DECISION, word_set
from hades.language.english.settled import settled
from hades.language.patterns import lazy_pattern

DECISION_WORDS = word_set("decision decisions adr adrs decided")
DECISION_TAGS = DECISION_WORDS | set(BINDING)
"""Tags, written by people or by `distil`, that mark what later work must respect."""
OPEN_WORDS = word_set(
    "todo todos next open blocked blocker blockers backlog wip followup followups"
)
"""Tags, and words in a topic's name, that mark a decision or an open thread."""
MARK_STEMS = (
    *("deci", "adr", "todo", "next", "open", "block", "backlog", "wip", "followup"),
    *("constraint", "preference", "plan"),
)
"""Parts of these words, by which the database finds topics: each word contains one of them."""
_DONE_TAGS = word_set("done closed resolved obsolete superseded rejected withdrawn archived")
_THINGS = word_set(
    """question questions issue issues thread threads item items point points task tasks step steps
    action actions end ends work up"""
)
"""Words after which `open` or `next` in a name counts: `open-questions`, but not `open-source`."""
_PARTS = re.compile(r"[-_\s]+")
_TALK_OF_OPEN = lazy_pattern(
    r"\bto-?do\b|^\s{0,9}(?:[-*]\s{1,9})?\[ \]|\bnext steps?\b|^next\s?:|\bnext up\b|"
    r"\bopen (?:questions?|issues?|points?|items?|threads?|tasks?)\b|^open\s?:|"
    r"\bstill (?:open|to do|to be|missing|unclear|undecided|failing|broken|needs?|ha(?:s|ve) to)\b|"
    r"\b(?:is|are|still|remains?|currently) blocked\b|\bblocked (?:by|on)\b|^blocked\s?:|"
    r"\bwaiting (?:for|on)\b|\b(?:needs|remains) to be\b|\bto be (?:decided|done|fixed)\b|"
    r"\btbd\b|\bin progress\b|\bunfinished\b|"
    r"\bnot (?:yet )?(?:done|finished|fixed|decided|resolved|merged|deployed) yet\b|"
    r"\bnot yet (?:done|finished|fixed|decided|resolved|merged|deployed)\b",
    re.IGNORECASE,
)
_USUALLY = lazy_pattern(
    r"\b(?:are|be|being|gets?|if|as) (?:rejected|approved|chosen|agreed)\b",
    re.IGNORECASE,
)
"""Sentences about what usually happens: “Bad requests are rejected”."""
_NOTHING_OPEN = lazy_pattern(r"\b(?:no|without|nothing) (?:open|longer)\b", re.IGNORECASE)
_OVER = lazy_pattern(
    r"^\W{0,9}status\W{1,9}(?:superseded|deprecated|rejected|withdrawn|obsolete|done|closed)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""A status line of a decision record that no longer holds."""


def is_decision(topic: str, tags: Iterable[str]) -> bool:
    """Return whether a topic is marked as a decision: tag `decision`, name `adr/0007-queue`."""
    marks = {tag.casefold() for tag in tags}
    if marks & _DONE_TAGS - {"rejected"}:
        return False
    return bool(marks & DECISION_TAGS) or any(
        word in DECISION_WORDS for part in _name_parts(topic) for word in part
    )


def is_open(topic: str, tags: Iterable[str]) -> bool:
    """Return whether a topic is marked as open: tag `todo`, name `infra/open-questions`."""
    marks = {tag.casefold() for tag in tags}
    if marks & _DONE_TAGS:
        return False
    return bool(marks & (OPEN_WORDS | {"plan"})) or any(
        _is_open_part(part) for part in _name_parts(topic)
    )


def _name_parts(topic: str) -> list[list[str]]:
    """Return the words of each part of a name. A point does not separate words: `next.js`."""
    return [_PARTS.split(part.strip()) for part in topic.casefold().split("/")]


def _is_open_part(part: list[str]) -> bool:
    for word, after in zip(part, [*part[1:], ""], strict=True):
        if word in OPEN_WORDS - {"open", "next"}:
            return True
        if word in ("open", "next") and (part == [word] or after in _THINGS):
            return True
    return False


def decision_said(sentence: str) -> bool:
    """Return whether a sentence of a note reports a decision: `We chose Redis`."""
    return bool(DECISION.search(sentence)) and not _USUALLY.search(sentence)


def open_said(sentence: str) -> bool:
    """Return whether a sentence of a note says that something is still to do or is blocked."""
    return bool(_TALK_OF_OPEN.search(sentence)) and not _NOTHING_OPEN.search(sentence)


def is_over(topic: str, text: str) -> bool:
    """Return whether a text says that its topic is done, or its decision no longer holds."""
    return bool(_OVER.search(text)) or bool(settled(topic, text))
