"""Terms: the words of a text, to compare with those of a question.

Words are compared without their endings. A letter or number that distinguishes things of a kind
belongs to the word before it: `approach Y` equals neither `approach` nor `Bug Y`. A version or id
is one term: `8.2.0` equals neither `8.20.0` nor `8.2.1`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from hades.domain.answer import Passage
from hades.domain.question import QuestionName, Wants
from hades.language.english.lexicon import (
    MONTHS,
    NUMBER_WORDS,
    STOP_WORDS,
    WEEKDAYS,
)
from hades.language.english.stems import stem
from hades.language.patterns import any_of, lazy_pattern
from hades.language.words import ids, words

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

_SAID = {
    Wants.NUMBER: lazy_pattern(_NUMBER, re.IGNORECASE),
    Wants.DATE: lazy_pattern(_DATE, re.IGNORECASE),
    Wants.REASON: lazy_pattern(_REASON, re.IGNORECASE),
    Wants.PLACE: lazy_pattern(_PLACE, re.IGNORECASE),
    Wants.PERSON: lazy_pattern(_NAME, re.IGNORECASE),
}
_SAID |= dict.fromkeys((Wants.DURATION, Wants.COUNT), _SAID[Wants.NUMBER])
"""The pattern of a thing in a sentence, for each kind of thing that a question may want."""


def has_kind(wants: Wants, text: str, known: Collection[str] = ()) -> bool:
    """Return whether a text has a thing of the wanted kind, such as a date, that is not `known`.

    `known` has the terms of the question. For a kind without a pattern the result is False.
    """
    pattern = _SAID.get(wants)
    return pattern is not None and any(
        any(stem(word) not in known for word in words(match.group(0)))
        for match in pattern.finditer(text)
    )


def terms_in(text: str) -> frozenset[str]:
    """Return the terms of a text: its stems, stems joined with their letter or number, and ids.

    >>> sorted(terms_in("It fixed Bug Y."))
    ['bug', 'bug y', 'fixed', 'y']
    """
    terms = set(ids(text))
    before = ""
    for word in words(text):
        plain = "" if word.casefold() in STOP_WORDS else stem(word)
        if plain:
            terms.add(plain)
            if before and (tells_apart(word) or word.isdigit()):
                terms.add(f"{before} {plain}")
        before = plain
    return frozenset(terms)


def tells_apart(word: str) -> bool:
    """Return whether a word only distinguishes things of a kind, as the Y of `approach Y`."""
    return len(word) == 1 or (len(word) == 2 and word.isdigit())


def unsaid_names(
    names: Sequence[QuestionName],
    told: Iterable[Collection[str]],
    passages: Sequence[Passage] = (),
) -> list[QuestionName]:
    """Return the names of a question that none of some texts contains.

    `told` yields the terms of each text and is read until no name is missing. If all names are
    missing, but one of the passages was found by an alias, return [].
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
