"""Asking: the sentences that answer a question, as they stand in what was recalled.

No language model writes here. A sentence counts by how much of the question it says, by
how near it is in meaning, by the rank of its passage, and by whether it has what the
question word asks for: a name for who, a date for when, a reason for why. When no
sentence says enough, the answer is empty, and that is an answer too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hades.domain.answer import Answer, Passage, Recall, Sentence
from hades.domain.names import STOP_WORDS, without_parenthesis, words
from hades.domain.sentences import sentences

if TYPE_CHECKING:
    from hades.models.encoder import Encoder

SENTENCES_AT_MOST = 3
SENTENCES_READ = 200
"""Of all passages together, in the order of their rank."""
SENTENCES_ENCODED = 12
"""The built-in encoder reads about 230 short sentences a second and core."""
SENTENCE_CHARACTERS_AT_MOST = 500
"""What is longer is a table or a block of code: its beginning is shown."""

COVERAGE_WEIGHT, MEANING_WEIGHT, CUE_WEIGHT, RANK_WEIGHT = 0.45, 0.3, 0.15, 0.1
COVERAGE_AT_LEAST = 0.34
"""The share of the question's words a sentence and its heading must say: more than one
word of three. Measured with five random passages for 60 questions: at .34 the answer was
empty for 50 (2Wiki), 57 (MuSiQue) and 59 (HotpotQA) with the encoder …"""
MEANING_AT_LEAST = 0.4
"""… unless it means the same by its vector's cosine."""
SHARE_OF_BEST = 0.6
"""A further sentence must score at least this share of the best."""
ALIKE = 0.7
"""Two sentences that share this much of their words say the same."""
LINK_WEIGHT = 0.15
"""For a passage about something that the passage with the best sentence names."""
HEADING_SHARE = 0.5
"""What only the heading or the topic's name says counts for so much."""
NAME_WEIGHT = 2.0
"""A name or a number in a question is asked about more than a plain word."""

_MONTH = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?|january|february|march|april|"
    r"june|july|august|september|october|november|december"
)
_DATE = (
    rf"\b(?:1\d{{3}}|20\d{{2}})\b|\b\d{{1,2}}\s+(?:{_MONTH})\b|\b(?:{_MONTH})\s+\d{{1,2}}\b|"
    r"\b(?:yesterday|today|tomorrow|last (?:week|month|year)|next (?:week|month|year)|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|century)\b"
)
_NUMBER = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|"
    r"thousand|million|billion|half|none|both|several)\b"
)
_REASON = (
    r"\b(?:because|due to|since|caused? by|causes?|reason|so that|in order to|as a result|"
    r"therefore|leads? to|led to|owing to|thanks to|to avoid|otherwise|rejected|triggers?)\b"
)
_PLACE = r"\b(?:in|at|from|near|to|of)\s+(?:the\s+)?(?-i:[A-Z])\w+"
_NAME = r"(?-i:(?<!^)(?<![.!?]\s)\b[A-Z][\w'’-]+)"

_CUES = tuple(
    (re.compile(asks, re.IGNORECASE), re.compile(has, re.IGNORECASE))
    for asks, has in (
        (r"\bhow (?:many|much|old|long|tall|far|big|large|often)\b|\bnumber of\b", _NUMBER),
        (r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|time|century)\b|\bdate of\b", _DATE),
        (r"\bwhy\b|\breasons?\b|\bhow come\b|\bwhat caused\b", _REASON),
        (r"\bwhere\b|\b(?:what|which) (?:city|country|place|state|town)\b|\bplace of\b", _PLACE),
        (r"\bwho(?:m|se)?\b|\b(?:what|which) (?:person|company|team|author|director)\b", _NAME),
    )
)


@dataclass(frozen=True, slots=True)
class _Read:
    """A sentence of a passage, with what speaks for it so far."""

    text: str
    number: int
    """Of its passage, from 1."""
    coverage: float
    cue: float
    meaning: float = 0.0
    linked: float = 0.0

    @property
    def score(self) -> float:
        return (
            COVERAGE_WEIGHT * self.coverage
            + MEANING_WEIGHT * max(self.meaning, 0.0)
            + CUE_WEIGHT * self.cue * (1 + self.linked)
            + LINK_WEIGHT * self.linked
            + RANK_WEIGHT / self.number
        )

    @property
    def speaks(self) -> bool:
        enough = self.coverage >= COVERAGE_AT_LEAST or self.meaning >= MEANING_AT_LEAST
        return enough or self.linked * self.cue > 0


def answer(
    recall: Recall, encoder: Encoder | None = None, at_most: int = SENTENCES_AT_MOST
) -> Answer:
    """The best few sentences of a recall, each with the number of its passage."""
    weights = _weights(recall.question)
    has = next((has for asks, has in _CUES if asks.search(recall.question)), None)
    read: list[_Read] = []
    for number, passage in enumerate(recall.passages, start=1):
        read += _read(passage, number, weights, has)
    ranked = _in_order(_linked(_in_order(read[:SENTENCES_READ]), recall.passages))
    if encoder is not None and ranked:
        ranked = _in_order(_nearer(recall.question, ranked[:SENTENCES_ENCODED], encoder))
    chosen = _chosen([one for one in ranked if one.speaks], at_most)
    found = (Sentence(_shown(one.text), round(one.score, 4), one.number) for one in chosen)
    return Answer(recall.question, tuple(found), recall)


def _weights(question: str) -> dict[str, float]:
    """What the question is about: its words without endings, names and numbers for more."""
    weights: dict[str, float] = {}
    for at, word in enumerate(words(question)):
        if word.casefold() in STOP_WORDS:
            continue
        named = not word.islower() and (at > 0 or not word[1:].islower())
        weights[_stem(word)] = NAME_WEIGHT if named else 1.0
    return weights


_ENDINGS = ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly", "ion", "ions")
_STEM_CHARACTERS_AT_LEAST = 4


def _stem(word: str) -> str:
    """A word without its ending, so that `rejected` and `rejecting` are one."""
    plain = word.casefold()
    for ending in _ENDINGS:
        if plain.endswith(ending) and len(plain) - len(ending) >= _STEM_CHARACTERS_AT_LEAST:
            return plain[: -len(ending)].rstrip("e")
    return plain.rstrip("e") if len(plain) > _STEM_CHARACTERS_AT_LEAST else plain


def _read(
    passage: Passage, number: int, weights: dict[str, float], has: re.Pattern[str] | None
) -> list[_Read]:
    whole = sum(weights.values()) or 1.0
    around = _said(f"{passage.chunk.heading} {passage.chunk.topic}")
    found = []
    for text in sentences(passage.chunk.text):
        plain = _bare(text)
        said = _said(plain)
        # A title, a question, or what only says the question again answers nothing.
        if text.startswith("#") or plain.endswith(("?", ":")) or not said - weights.keys():
            continue
        covered = sum(
            weight if word in said else weight * HEADING_SHARE if word in around else 0.0
            for word, weight in weights.items()
        )
        cue = 1.0 if has is not None and _has(has, plain, weights) else 0.0
        found.append(_Read(plain, number, covered / whole, cue))
    return found


def _said(text: str) -> set[str]:
    return {_stem(word) for word in words(text) if word.casefold() not in STOP_WORDS}


def _has(has: re.Pattern[str], text: str, weights: dict[str, float]) -> bool:
    """Whether it has what is asked for, other than what the question already says."""
    return any(
        any(_stem(word) not in weights for word in words(found.group(0)))
        for found in has.finditer(text)
    )


_MARKS = re.compile(r"^(?:[-*+•>#|]+\s+|\d{1,4}[.)]\s+)+")


def _bare(text: str) -> str:
    """A sentence on one line, without the marks of a list, a heading or a table's edge."""
    return _MARKS.sub("", " ".join(text.split())).removesuffix(" |")


def _shown(text: str) -> str:
    if len(text) <= SENTENCE_CHARACTERS_AT_MOST:
        return text
    return text[:SENTENCE_CHARACTERS_AT_MOST].rsplit(" ", 1)[0] + " …"


def _in_order(read: Sequence[_Read]) -> list[_Read]:
    # Sorting is stable: of equals, the one in the better passage, and there the earlier.
    return sorted(read, key=lambda one: -one.score)


def _nearer(question: str, read: Sequence[_Read], encoder: Encoder) -> list[_Read]:
    vectors = encoder.encode([question, *(one.text for one in read)])
    cosines = vectors[1:] @ vectors[0]
    return [replace(one, meaning=float(cosine)) for one, cosine in zip(read, cosines, strict=True)]


def _linked(ranked: Sequence[_Read], passages: Sequence[Passage]) -> list[_Read]:
    """The same, with the second step of a question that leads through something else."""
    if not ranked:
        return []
    best = ranked[0]
    named = _said(passages[best.number - 1].chunk.text)
    about = [_said(without_parenthesis(passage.chunk.topic)) for passage in passages]
    return [
        replace(one, linked=1.0)
        if one.number != best.number and about[one.number - 1] and about[one.number - 1] <= named
        else one
        for one in ranked
    ]


def _chosen(ranked: Sequence[_Read], at_most: int) -> list[_Read]:
    chosen: list[_Read] = []
    for one in ranked:
        if len(chosen) == at_most or one.score < SHARE_OF_BEST * ranked[0].score:
            break
        if not any(_alike(one.text, other.text) for other in chosen):
            chosen.append(one)
    return chosen


def _alike(one: str, other: str) -> bool:
    first, second = ({_stem(word) for word in words(text)} for text in (one, other))
    return len(first & second) >= ALIKE * min(len(first), len(second))
