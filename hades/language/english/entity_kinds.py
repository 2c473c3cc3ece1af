"""Kinds of named things, found by rules: persons, organisations, places, works, events and so on.

A rule reads the name itself ("Lake Como"), the sentence that defines it ("X is a French film
director"), the words before it ("directed by X") or small lists of first names and places. A name
that no rule knows stays a concept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hades.language.english.kind_words import (
    EVENT,
    METHOD,
    ORGANISATION,
    PERSON,
    PLACE,
    PRODUCT,
    WORK,
    kind_words,
)
from hades.language.english.lexicon import STOP_WORDS, word_set
from hades.language.patterns import lazy_pattern

UNKNOWN = "concept"
NAMES_IN_A_LIST = 12
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_LIFE = lazy_pattern(
    rf"\s?\((?:[^()]{{0,80}}[\s;,])??\s?(?:born|died|b\.)\s"
    rf"|\s?\(\s?(?:\d{{1,2}}\s)?(?:{_MONTHS})\w*\s[^()]{{0,60}}?[–-][^()]{{0,60}}\d{{3,4}}"
)
"""The dates of a life after a name: "(born 1950", "(5 May 1802 – 19 November 1879"."""
_DEFINITION = lazy_pattern(
    r"\s(?:is|was|are|were)\s(?:(?:also|now|still|formerly|originally|currently)\s)?"
    r"(?:an?|the|one of the)\s"
)
_SENTENCE_END = lazy_pattern(r"(?<=[a-z0-9)\"”])[.!?]\s+(?=[\"“]?\s?[A-Z0-9])|\n")
_BEFORE_DEFINITION = 200
_NOUN_WORDS = lazy_pattern(r"[\w’'-]+|[^\w\s]")
_NOUN_WORDS_AT_MOST = 14
_AFTER_NOUN = word_set(
    "of in from by who whom that which at for on to and or with about whose known near as"
) | frozenset(',.;:()–"“”')
_LISTED = lazy_pattern(r",?\s(?:and|&)\s|,\s")
_PARENTHESIS = lazy_pattern(r"\(([^()]*)\)\s*$")
_FIRST_WORDS = (
    (ORGANISATION, lazy_pattern(r"(?:University|Bank|Ministry|Department|Institute|Church) of ")),
    (ORGANISATION, lazy_pattern(r"House of (?:Lords|Commons|Representatives)$")),
    (PLACE, lazy_pattern(r"(?:Lake|Mount|Mt\.|Cape) [A-Z]|(?:Isle|Gulf|City|Republic|Bay) of ")),
    (
        EVENT,
        lazy_pattern(r"(?:Battle|Siege) of |World War |Hurricane [A-Z]|^\d{4} .*(?:Awards|Cup)$"),
    ),
    (PERSON, lazy_pattern(r"Prime Minister [A-Z]")),
)
_CONTEXTS = (
    (
        PERSON,
        lazy_pattern(
            r"\b(?:directed|written|co-written|composed|painted|narrated|portrayed|sung|edited)"
            r" by |\bstarring |\bstarred |\bfilm stars |\b(?:son|daughter|brother|sister|wife"
            r"|husband|widow|father|mother|nephew|niece|grandson|granddaughter|uncle|aunt|cousin"
            r"|girlfriend|boyfriend|colleague|neighbour|neighbor|flatmate) (?:of )?"
            r"|\b(?:poet|novelist|author|actor|actress|singer|director|composer|playwright|painter"
            r"|politician|architect|owner|character|pilot named|(?:asks?|said|says|told)) "
        ),
    ),
    (
        PLACE,
        lazy_pattern(
            r"\b(?:born|died|raised|lives|lived|living|located|situated|based|headquartered"
            r"|resides|buried)[^.;()]{0,30}? in (?:the )?"
            r"|\b(?:city|town|village|municipality|province|county|district|suburb|commune) of "
        ),
    ),
    (
        ORGANISATION,
        lazy_pattern(
            r"\b(?:works|worked|working) at (?:the )?|\bCEO of |\bsubsidiary of (?:the )?"
            r"|\bsigned (?:to|with) |\b(?:plays|played) for (?:the )?|\b(?:rock|rap|pop|metal) "
            r"(?:band|group) "
        ),
    ),
    (
        WORK,
        lazy_pattern(
            r"\b(?:film|movie|novel|album|song|sitcom|musical|opera|poem|manga|magazine|series"
            r"|show|single|soundtrack)[,:]?\s(?:called |titled |entitled )?[\"“]\s?"
            r"|\b(?:the|his|her|their) (?:\d{4} )?(?:film|movie|novel|album|song|musical|opera) "
        ),
    ),
)


def entity_kinds(text: str, names: Iterable[str]) -> dict[str, str]:
    """Return the kinds of those names of a text that a rule knows.

    >>> entity_kinds("Ann Moor is a Danish painter. She lives in Ribe.", ["Ann Moor", "Ribe"])
    {'Ann Moor': 'person', 'Ribe': 'place'}
    """
    finder = _NamesAt(text, names)
    kinds: dict[str, str] = {}
    defined = dict(_defined(text, finder))
    by_context = dict(_in_context(text, finder))
    for name in finder.names:
        kind = (
            (PERSON if finder.has_life(name) else "")
            or defined.get(name)
            or kind_of_name(name)
            or by_context.get(name)
            or _person_by_first_name(name)
        )
        if kind:
            kinds[name] = kind
    return kinds


def title_kind(title: str, text: str) -> str:
    """Return the kind of the thing that a text is titled with, or "concept".

    >>> title_kind("Venus (1929 film)", "")
    'work'
    """
    parenthesis = _PARENTHESIS.search(title)
    if parenthesis is not None:
        words = parenthesis[1].lower().split()
        if words and words[-1] == "disambiguation":
            return UNKNOWN
        if words and words[-1] in kind_words().noun:
            return kind_words().noun[words[-1]]
        title = title[: parenthesis.start()].strip()
    definition = _DEFINITION.search(text, 0, _BEFORE_DEFINITION * 2)
    if definition is not None and _SENTENCE_END.search(text, 0, definition.start()) is None:
        subject = text[: definition.start()]
        if _shares_a_word(title, subject):
            if _LIFE.search(subject):
                return PERSON
            if kind := _kind_of_noun(text, definition.end()):
                return kind
    return kind_of_name(title) or _person_by_first_name(title) or UNKNOWN


def kind_of_name(name: str) -> str:
    """Return the kind that the words of a name imply, or ""."""
    words = kind_words()
    if name in words.place:
        return PLACE
    parts = name.split()
    if len(parts) < 2:
        return ""
    for kind, first in _FIRST_WORDS:
        if first.match(name):
            return kind
    # "Bank of America" is a bank, but "Atlanta in the War" is not a war
    at = next((at for at, part in enumerate(parts) if part in _PREPOSITIONS and at), len(parts))
    if (last := words.last.get(parts[at - 1].lower().rstrip("."))) is not None:
        return last
    is_called = parts[0].lower().rstrip(".") in words.honorific and parts[1][0].isupper()
    return PERSON if is_called else ""


def _person_by_first_name(name: str) -> str:
    words = kind_words()
    parts = re.split(r"[\s-]+", name)
    if parts[0].lower() not in words.first_name or not 1 <= len(parts) <= 5:
        return ""
    is_plain = all(part[:1].isupper() or part.lower() in _PARTICLES for part in parts)
    last = parts[-1].lower()
    return PERSON if is_plain and last not in words.noun and not parts[-1].isdigit() else ""


_PREPOSITIONS = frozenset(("of", "for", "in", "at"))
_PARTICLES = word_set("de del della di da dos du la le von van der den ibn bin al of the")


class _NamesAt:
    """Finds which name of a text begins at a place."""

    def __init__(self, text: str, names: Iterable[str]) -> None:
        self._text = text
        self.names = list(names)
        self._by_start: dict[str, list[str]] = {}
        for name in sorted(self.names, key=len, reverse=True):
            self._by_start.setdefault(name[:2], []).append(name)

    def at(self, place: int) -> str | None:
        """Return the longest name that begins at a place, or None."""
        text = self._text
        for name in self._by_start.get(text[place : place + 2], ()):
            end = place + len(name)
            if text.startswith(name, place) and not text[end : end + 1].isalnum():
                return name
        return None

    def has_life(self, name: str) -> bool:
        """Return whether dates of birth or death follow the first mention of a name."""
        place = self._text.find(name)
        return place >= 0 and _LIFE.match(self._text, place + len(name)) is not None


def _defined(text: str, names: _NamesAt) -> Iterator[tuple[str, str]]:
    """Yield names that begin a sentence "X is a …", with the kind that its noun tells."""
    for definition in _DEFINITION.finditer(text):
        start = max(0, definition.start() - _BEFORE_DEFINITION)
        for end in _SENTENCE_END.finditer(text, start, definition.start()):
            start = end.end()
        while text[start : start + 1] in ('"', "“", " "):
            start += 1
        if text.startswith("The ", start) and names.at(start) is None:
            start += len("The ")
        name = names.at(start)
        if name is None:
            continue
        gap = text[start + len(name) : definition.start()].lstrip('"” ')
        is_subject = not gap or gap[0] in "(," or gap.startswith("or ")
        if is_subject and (kind := _kind_of_noun(text, definition.end())):
            yield name, kind


def _kind_of_noun(text: str, start: int) -> str:
    """Return the kind of the noun that a phrase ends with: "French film director in Paris"."""
    nouns = kind_words().noun
    kind = ""
    for count, match in enumerate(_NOUN_WORDS.finditer(text, start)):
        word = match[0].lower()
        # "a car built in Oslo" is a car, but "a car drifting series" is not
        verbs = "ed" if kind in (METHOD, PRODUCT) else ("ed", "ing")
        ends = word in _AFTER_NOUN or (bool(kind) and word.endswith(verbs))
        if ends and (kind or word not in (",", '"', "“", "and")):
            return kind
        if count == _NOUN_WORDS_AT_MOST:
            return ""
        kind = nouns.get(word) or nouns.get(word.removesuffix("s"), "")
    return kind


def _in_context(text: str, names: _NamesAt) -> Iterator[tuple[str, str]]:
    """Yield names after words that show their kind, and the names listed with them."""
    for kind, before in _CONTEXTS:
        for match in before.finditer(text):
            place = match.end()
            count = 0
            while (name := names.at(place)) is not None and count < NAMES_IN_A_LIST:
                yield name, kind
                listed = _LISTED.match(text, place + len(name))
                if listed is None or kind in (ORGANISATION, WORK):
                    break
                place = listed.end()
                count = count + 1


def _shares_a_word(title: str, subject: str) -> bool:
    own = {word.lower() for word in re.findall(r"\w+", title)} - STOP_WORDS
    return bool(own & {word.lower() for word in re.findall(r"\w+", subject)})
