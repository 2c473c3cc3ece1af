"""Terms: what a question is about, as words to search in sentences.

Words count without their endings. A letter or number that distinguishes things of a kind belongs to
the word before it: `approach Y` is neither any approach nor `Bug Y`. A version or id is one term:
`8.2.0` is neither `8.20.0` nor `8.2.1`. Words with capitals are names, except in German, and an
English question word says what kind of thing is wanted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from hades.domain.answer import Passage
from hades.language.english.lexicon import (
    AUXILIARIES,
    MONTHS,
    NUMBER_WORDS,
    STOP_WORDS,
    WEEKDAYS,
    word_set,
)
from hades.language.english.stems import stem
from hades.language.languages import ENGLISH, language_of, stop_words
from hades.language.patterns import any_of, lazy_pattern
from hades.language.words import ID, ids, plain_id, words, written_words

NAME_WEIGHT = 2.0
"""The weight of a name or number in a question; a plain word has 1."""

_MONTH = rf"{any_of(MONTHS)}\.?"
_DATE = (
    rf"\b(?:1\d{{3}}|20\d{{2}})\b|\b\d{{1,2}}\s+(?:{_MONTH})\b|\b(?:{_MONTH})\s+\d{{1,2}}\b|"
    r"\b(?:yesterday|today|tomorrow|last (?:week|month|year)|next (?:week|month|year)|"
    rf"{any_of(WEEKDAYS)}|century)\b"
)
_NUMBER = (
    rf"\d|\b(?:{any_of(NUMBER_WORDS)}|dozen|hundred|thousand|"
    r"million|billion|half|none|both|several)\b"
)
_REASON = (
    r"\b(?:because|due to|since|caused? by|causes?|reason|so that|in order to|as a result|"
    r"therefore|leads? to|led to|owing to|thanks to|to avoid|otherwise|rejected|triggers?)\b"
)
_PLACE = r"\b(?:in|at|from|near|to|of)\s+(?:the\s+)?(?-i:[A-Z])\w+"
_NAME = r"(?-i:(?<!^)(?<![.!?]\s)\b[A-Z][\w'’-]+)"

KINDS_ASKED = tuple(
    (lazy_pattern(asks, re.IGNORECASE), lazy_pattern(has, re.IGNORECASE), example)
    for asks, has, example in (
        (
            r"\bhow (?:many|much|old|long|tall|far|big|large|often)\b|\bnumber of\b",
            _NUMBER,
            ("How many trucks are there?", "Berg has 24 trucks."),
        ),
        (
            r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|time|century)\b|\bdate of\b",
            _DATE,
            ("When was it shipped?", "It went out on 3 May."),
        ),
        (
            r"\bwhy\b|\breasons?\b|\bhow come\b|\bwhat caused\b",
            _REASON,
            ("Why was it rejected?", "It was too slow because of the cache."),
        ),
        (
            r"\bwhere\b|\b(?:what|which) (?:city|country|place|state|town)\b|\bplace of\b",
            _PLACE,
            ("Where does she live?", "She moved to Rome."),
        ),
        (
            r"\bwho(?:m|se)?\b|\b(?:what|which) (?:person|company|team|author|director)\b",
            _NAME,
            ("Who leads it?", "It is led by Maya."),
        ),
    )
)
"""The pattern of a question for a kind of thing, of the thing in a sentence, and an example."""


def said(text: str) -> frozenset[str]:
    """Return the terms of a text: its stems, stems joined with their letter or number, and ids.

    >>> sorted(said("It fixed Bug Y."))
    ['bug', 'bug y', 'fixed', 'y']
    """
    found = set(ids(text))
    before = ""
    for word in words(text):
        plain = "" if word.casefold() in STOP_WORDS else stem(word)
        if plain:
            found.add(plain)
            if before and (_tells_apart(word) or word.isdigit()):
                found.add(f"{before} {plain}")
        before = plain
    return frozenset(found)


_ABOUT_ALL = word_set(
    """happen happened change new news update latest recent recently lately summary summaries
    summarise summarize overview recap gist big picture high level main points give tell show
    everything anything something things stuff all whole entire project work notes memory events
    going went week month year day time"""
)
"""Words of a question for everything that happened."""


def topical_stems(question: str) -> frozenset[str]:
    """Return the stems of what a summary is asked about; empty if it is about everything."""
    plain = {stem(word) for word in words(question) if word.casefold() not in STOP_WORDS}
    return frozenset(plain - {stem(word) for word in _ABOUT_ALL})


def _tells_apart(word: str) -> bool:
    return len(word) == 1 or (len(word) == 2 and word.isdigit())


@dataclass(frozen=True, slots=True)
class QuestionName:
    """A name in a question: as written, and the words to search for."""

    text: str
    words: tuple[str, ...]

    def stands_in(self, told: Collection[str]) -> bool:
        """Return whether a text names it; `told` has the text's terms.

        It must have the last word, as for a person, or more than half of the words: `Ann Lee` does
        not name Ann Smith.
        """
        share = sum(word in told for word in self.words) / len(self.words)
        return self.words[-1] in told or share > 0.5


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """The terms and names of a question, with weights."""

    weights: Mapping[str, float]
    """The terms to search for, and the weight of each."""
    said: frozenset[str]
    """All terms of the question, which are not news in an answer."""
    names: tuple[QuestionName, ...]
    wanted: re.Pattern[str] | None
    """The pattern of the kind of thing that the question word asks for."""
    asks_whether: bool
    """Whether it is a yes/no question."""

    def is_answered_in_kind(self, text: str) -> bool:
        """Return whether a text has a thing of the kind asked for that the question lacks."""
        return self.wanted is not None and any(
            any(stem(word) not in self.said for word in words(found.group(0)))
            for found in self.wanted.finditer(text)
        )

    def only_repeated_by(self, told: frozenset[str]) -> bool:
        """Return whether a text with these terms only repeats the question. A text with all terms
        of a yes/no question answers it, and does not count."""
        return told <= self.said and not (self.asks_whether and told == self.said)


def unsaid_names(
    names: Sequence[QuestionName],
    told: Iterable[Collection[str]],
    passages: Sequence[Passage] = (),
) -> list[QuestionName]:
    """Return the names of a question that none of some texts contains.

    `told` has the terms of each text, read until no name is missing. If all names are missing but
    one of the passages was found by an alias, return [].
    """
    missing = list(names)
    for terms in told if names else ():
        missing = [name for name in missing if not name.stands_in(terms)]
        if not missing:
            break
    by_alias = any("names" in passage.retrievers for passage in passages)
    return [] if by_alias and len(missing) == len(names) else missing


def text_around(passage: Passage) -> str:
    """Return the text of a passage with its heading and its topic's name."""
    return f"{passage.chunk.text} {passage.chunk.heading} {passage.chunk.topic}"


def terms_of(question: str, language: str = "") -> QuestionTerms:
    """Return the terms of a question: its words, its names and what its question word wants.

    The language is the question's own, or the one given if the question does not show it.
    """
    language = language_of(question) or language or ENGLISH
    weights: dict[str, float] = {}
    names: list[QuestionName] = []
    both = _words_and_ids(question)
    asked, written = [word for word, _ in both], [word for _, word in both]
    for kind, group in groupby(range(len(asked)), lambda at: _kind(asked, at, language)):
        places = list(group)
        parts = [asked[at] for at in places]
        if kind == "name":
            looked_for = _joined(parts)
            weights |= dict.fromkeys(looked_for, NAME_WEIGHT)
            # `turned 30` and `top-10` are not names, but are searched for as they are.
            is_number = parts[-1].isdigit() or (parts[-1].islower() and "-" in parts[-1])
            if not (is_number and all(part.islower() for part in parts[:-1])):
                names.append(QuestionName(" ".join(written[at] for at in places), looked_for))
        elif kind != "stop":
            weight = NAME_WEIGHT if kind == "number" else 1.0
            weights |= {stem(part): weight for part in parts}
    if language != ENGLISH:
        return QuestionTerms(weights, said(question), tuple(names), None, False)
    wanted = next((has for asks, has, _ in KINDS_ASKED if asks.search(question)), None)
    whether = bool(asked) and asked[0].casefold() in AUXILIARIES
    return QuestionTerms(weights, said(question), tuple(names), wanted, whether)


def _words_and_ids(question: str) -> list[tuple[str, str]]:
    """Return the words of a question, plain and as written; a version or an id is one word."""
    found, end = list[tuple[str, str]](), 0
    for own in ID.finditer(question):
        found += _both(question[end : own.start()])
        found.append((own.group(), own.group()))
        end = own.end()
    return [*found, *_both(question[end:])]


def _both(text: str) -> list[tuple[str, str]]:
    return list(zip(words(text), written_words(text), strict=True))


def _kind(asked: Sequence[str], at: int, language: str) -> str:
    """Return whether a word of a question is a `stop` word, a `name`, a `number` or `plain`."""
    word, stop = asked[at], stop_words(language)
    if word.casefold() in stop:
        return "stop"
    if ID.fullmatch(word) or _belongs(asked, at, stop) or _belongs(asked, at + 1, stop):
        return "name"
    if word.isdigit():
        return "number"
    # Every word has a capital at the beginning of a sentence, and every noun in German.
    ordinary = at == 0 or language == "german"
    capital = word != word.lower() and not (ordinary and word[1:].islower())
    return "name" if capital else "plain"


def _belongs(asked: Sequence[str], at: int, stop: frozenset[str]) -> bool:
    """Return whether a letter or number belongs to the word before: not the 3 in `won 3 cups`."""
    if not 0 < at < len(asked) or not _tells_apart(asked[at]):
        return False
    if any(word.casefold() in stop for word in asked[at - 1 : at + 1]):
        return False
    last = at + 1 == len(asked) or asked[at + 1].casefold() in stop
    return last or not asked[at].isdigit() or not asked[at - 1].islower()


def _joined(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a name to search for; a final letter or number joins the word before."""
    stems = [plain_id(part) if ID.fullmatch(part) else stem(part) for part in parts]
    if len(parts) > 1 and _tells_apart(parts[-1]):
        return (*stems[:-2], " ".join(stems[-2:]))
    return tuple(stems)
