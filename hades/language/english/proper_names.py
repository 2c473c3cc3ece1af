"""The built-in extractor: names found by their shape alone, with no model.

It finds capitalised phrases, quoted titles, identifiers and addresses. The first word of a sentence
always has a capital, so alone it counts as a name only before a verb of action ("Ann wrote") or if
another name ends with it ("Lee" beside "Ann Lee"). Dates, times and amounts end a name.

Recall with it is as good as with spaCy's recogniser or better (docs/lab/recall.md), at many times
the speed (docs/lab/benchmarks.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hades.language.english.lexicon import MONTHS, PAST_VERBS, STOP_WORDS, word_set
from hades.language.languages import language_of, stop_words
from hades.language.names import name_key
from hades.language.patterns import any_of, lazy_pattern

WORDS_AT_MOST = 8
CHARACTERS_AT_LEAST = 3
LETTERS_ALL_LARGE_AT_MOST = 12

_UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĖĘĚĞĢĪĮİĶĹĻĽŁŃŅŇŌŐŒŔŘŚŞŠŢŤŪŮŰŲŹŻŽ"
_CAPITAL = (
    rf"(?:(?:[{_UPPER}]\.){{1,4}}(?=\s?[{_UPPER}])"
    rf"|(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|Ft)\.(?=\s[{_UPPER}])|[{_UPPER}][\w'’&-]*)"
)
_PARTICLE = (
    r"(?:of|the|de|del|della|di|da|dos|du|des|la|le|les|el|al|von|van|der|den|zu|y|bin|ibn|for"
    r"|and|&)"
)
_SPACE = r"[^\S\n]"  # A name ends with its line.
_NUMBER = r"\d+(?:[.–-]\d+){0,3}(?!\w)"
_PHRASE = lazy_pattern(
    rf"(?:\b{_NUMBER}{_SPACE})?\b{_CAPITAL}"
    rf"(?:(?:{_SPACE}(?:{_PARTICLE}{_SPACE}){{0,2}}|[-–]|(?<=\.)){_CAPITAL}"
    rf"|(?:{_SPACE}|[-–]|(?<=\.)){_NUMBER})*"
)
_QUOTED = lazy_pattern(r"[\"“”]([^\"“”\n]{3,80})[\"“”]")
_ADDRESS = lazy_pattern(
    r"https?://[^\s)>\]\"']+|\b(?:arXiv:)?\d{4}\.\d{4,5}(?:v\d+)?\b|\b10\.\d{4,}/\S+"
)
_IDENTIFIER = lazy_pattern(
    r"\b(?:[A-Za-z]+_\w+|[a-z]+[A-Z]\w+|[A-Z][a-z0-9]+[A-Z]\w+|[A-Z]{2,}-?\d[\w-]*)\b"
)

_MONTH = any_of(name.capitalize() for name in MONTHS)
_DAY = r"(?:\d{1,2}(?:[-–]|\s(?:to|and)\s))?\d{1,2}(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:days?)?"
_CURRENCY = r"(?:EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|JPY|CAD|AUD)"
_UNIT = (
    r"(?:[kMGT]i?B|[kMG]bit|[kMG]?Hz|[kmMG]?Wh?|m?Ah|[mk]A|kVA?|[kMh]?Pa|m[lL]|[cµn]m"
    r"|ppm|bar|dB[Am]?)"
)
_UNIT_ALONE = lazy_pattern(_UNIT)
_AMOUNT = lazy_pattern(
    rf"\b{_DAY}\s(?:of\s)?{_MONTH}\b(?:,?\s\d{{4}}\b)?"
    rf"|\b{_MONTH}\s(?:\d{{4}}|{_DAY})\b(?:,?\s\d{{4}}\b)?"
    r"|\bQ[1-4]\s\d{4}\b|\b\d{1,2}:\d\d\b|\b\d{1,3}(?:,\d{3})+\b"
    rf"|\b{_CURRENCY}\s\d{{1,3}}(?:[ .,]\d{{3}})*(?:\.\d\d)?\b"
    rf"|\b\d+(?:\.\d+)?\s?(?:[%°]|(?:{_UNIT}|[kmcµ]?[gm]|l|t|h|min|am|pm|people|BC|AD"
    r"|per\s?cent|yrs?"
    r"|(?:euro|dollar|pound|unit|time|year|month|week|night|day|hour|minute|second)s?)\b)"
)
"""Dates, times and numbers of something."""
_WEEKDAYS = lazy_pattern(rf"{_WEEKDAY}(?<!Sun)(?:[-–]{_WEEKDAY})?")
_CALENDAR = lazy_pattern(rf"{_MONTH}(?<!May)|{_WEEKDAYS.pattern}|Sun|UTC|GMT|AM|PM")
_TURN = lazy_pattern(r"(?m)^\[[\d: -]{10,20}\] [^:\n]{1,60}: ")
"""The head of a turn of a conversation: a sentence begins after it."""
_CHARACTERS_BEFORE = 8
"""How much text before a phrase is read to see whether the phrase begins a sentence."""
_MARKS = " \t\"“”'‘([*_#>•-"
_POSSESSIVE = lazy_pattern(r"['’]s?$")
_CONTRACTED = tuple(mark + end for mark in "'’" for end in ("m", "re", "ve", "ll", "d", "t"))
_ACTS = lazy_pattern(
    r"\s(?:works|worked|lives|lived|likes|loves|leads|led|said|says|wants|wanted|joined|prefers"
    r"|thinks|hates|told|asked|knows|met|married|wrote|moved|promised|agreed|died|studied|plays"
    r"|played)\b"
)
_SHAPED = lazy_pattern(rf"[{_UPPER}]{{2,5}}s?|(?=\w*?(?:\d|[^\W\d_{_UPPER}][{_UPPER}]))[\w-]*")
"""A word with the spelling of a name: `SSO`, `B2`, `PawLedger`."""
_PARTICIPLE = lazy_pattern(r"(?!United)\w{3,}(?:ing|(?<!fr)ed|ly)")
_OPENERS = word_set(
    """add anytime ask author awesome aww both bye call check client congrats congratulations
    contact contains cool customer dear each email every everybody everyone exclude fix
    friend glad goodbye great haha happy hope include keep knows leads likes love loves mail
    manager meet met needs nice nobody nope old only owner owns people poor prefers remember
    remind runs saw says single somebody someone sorry speaks still supervisor tell told took
    try uses visit wait want wants welcome woah woo woohoo works yay yep yo yup"""
) | (PAST_VERBS - {"rose", "led"})
"""First words of a sentence that are not part of the name after them: "Contact Ann Lee"."""
_ROLES = word_set(
    """accountant apprentice architect archivist auditor bookkeeper buyer caretaker cleaner
    clockmaker colleague consignee consultant contractor cousin daughter dentist dispatcher driver
    electrician foreman gardener grandson granddaughter husband inspector insurer intern janitor
    landlady landlord lawyer librarian maintainer mechanic midwife neighbor neighbour nephew niece
    notary nurse organiser organizer physiotherapist plumber radiographer receptionist roofer
    secretary shipwright son supplier surveyor teacher technician tenant therapist trainer
    translator treasurer tutor vendor vet watchmaker wife"""
)
"""Roles before the name of somebody at the beginning of a sentence: "Treasurer Ann Lee paid"."""
_LISTED = rf"{_CAPITAL}(?:{_SPACE}{_CAPITAL}){{0,3}}{_SPACE}{_NUMBER}"
_VALUES = lazy_pattern(
    rf"\b{_LISTED}(?:[^\n,;:.()]{{0,12}},(?:{_SPACE}and)?{_SPACE}{_LISTED}){{2,}}"
)
"""Three or more names with a number each: `Brevo 25, Klaviyo 45, Mailjet 17`."""
_VALUE = lazy_pattern(rf"(?<![^\W\d])([^\W\d]++){_SPACE}{_NUMBER}")
_HEADING = lazy_pattern(
    r"(?:Version|Table|Column|Row|Line|Figure|Fig|Page|Section|Chapter|Part|Topic|Point|Item|Step"
    r"|Option|Question|Level|Week|Day) [\d.–-]+"
)
_FOR = lazy_pattern(
    r"(?:Award|Prize|Medal|Court|Institute|Cent(?:er|re)|Society|Agency|Ministry|Minister|Office"
    r"|Secretary|School|Foundation|Council|Association|Department|Fund|Campaign|Committee)s?"
)
"""Nouns in names that may continue with `for`: `Institute for Media`."""
_WHOSE = frozenset(
    ("Women", "Men", "Children", "People", "King", "Queen", "Mother", "Father", "Valentine", "Year")
)
"""Owners that are part of the name (`Women's World Cup`); others are names of their own."""
_TITLE = lazy_pattern(r"(?:Mr|Mrs|Ms|Dr|Prof)\.?")
_NUMBERED = lazy_pattern(
    r"Street|Avenue|Road|Boulevard|Lane|Square|Olympics|Games|Cup|Championships?|Festival|Draft"
    r"|Series|Open|Bowl|Awards?|Tournament|Prix|Season|Finals?|Elections?|Convention|League|Tour"
)
"""Nouns whose name may begin with a number: `610 Bay Street`, `1994 Winter Games`."""
_KINDS = (
    ("organisation", lazy_pattern(r"Inc|Ltd|LLC|GmbH|Corporation|University|Institute")),
    ("place", lazy_pattern(r"Street|Avenue|Boulevard|County|Province|Islands|Airport")),
    ("event", lazy_pattern(r"Olympics|Championships|Festival")),
)
"""The kind of thing that a name is, by its last word."""

_CAPITALISED = r"[A-Z](?!['’])[\w'’.-]*"  # not the I of I'm
NAME_PHRASE = lazy_pattern(
    rf"{_CAPITALISED}(?:\s+(?:(?:of|the|de|von|van|and)\s+)?{_CAPITALISED})*"
)
"""A run of capitalised words with small words between them: a name in an answer."""


def is_name(key: str) -> bool:
    """Return whether a name's key is worth storing: not too long or short, not all stop words."""
    parts = key.split(" ")
    if len(parts) > WORDS_AT_MOST or sum(map(len, parts)) < CHARACTERS_AT_LEAST:
        return not key.isascii() and 2 <= len(key) <= WORDS_AT_MOST * 2
    return not all(word in STOP_WORDS or word.isdigit() for word in parts)


def extract_names(text: str) -> dict[str, str]:
    """Return the names in a text, each once, and their kinds; phrases come before other names."""
    kinds: dict[str, str] = {}
    titles: list[str] = []
    language = language_of(text)

    def set_aside(quoted: re.Match[str]) -> str:
        if not _is_title(quoted[1]):
            return quoted[0]
        titles.append(quoted[1].strip(" ,.;:!?"))
        return ";"

    plain = _AMOUNT.sub(";", _QUOTED.sub(set_aside, _TURN.sub("\n", text)))
    plain = _VALUES.sub(_without_values, plain)
    openings: list[str] = []
    for match in _PHRASE.finditer(plain):
        before = plain[max(0, match.start() - _CHARACTERS_BEFORE) : match.start()]
        parts, is_opening = _without_opening(match.group().split(), before, language)
        if is_opening and not _ACTS.match(plain, match.end()):
            openings.append(_POSSESSIVE.sub("", parts[0]))
            continue
        for piece in _pieces(parts):
            name, kind = _name_of(piece)
            if language == "german" and " " not in name and not _SHAPED.fullmatch(name):
                continue  # every noun has a capital
            if kinds.get(name, "concept") == "concept":
                kinds[name] = kind
    ends = {name.rsplit(" ", 1)[-1] for name in kinds if " " in name}
    kinds.update({word: "concept" for word in openings if word in ends and word not in kinds})
    for title in titles:
        kinds.setdefault(title, "concept")
    for match in _IDENTIFIER.finditer(text):
        kinds.setdefault(match.group(), "code_symbol" if "_" in match.group() else "concept")
    for match in _ADDRESS.finditer(text):
        kinds.setdefault(match.group(), "url" if match.group().startswith("http") else "paper")
    return {name: kind for name, kind in kinds.items() if _is_said(name)}


def _without_values(listed: re.Match[str]) -> str:
    """Remove the numbers from a list of names, unless they distinguish things of one kind."""
    heads = _VALUE.findall(listed[0])
    apart = len(set(heads)) == len(heads)
    return _VALUE.sub(r"\1;", listed[0]) if apart else listed[0]


def _is_said(name: str) -> bool:
    """Return whether a match is a name, and not a unit, a heading or a shout in capitals."""
    shouted = name.isupper() and sum(map(str.isalpha, name)) > LETTERS_ALL_LARGE_AT_MOST
    other = shouted or _HEADING.fullmatch(name) or _UNIT_ALONE.fullmatch(name)
    return not other and is_name(name_key(name))


def _is_title(quoted: str) -> bool:
    """Return whether quoted words are a title: most words with meaning have a capital."""
    parts = quoted.split()
    small = [one for one in parts if one[0].islower() and len(one) > 3 and one not in STOP_WORDS]
    large = bool(parts) and (parts[0][0].isupper() or parts[0][0].isdigit())
    return large and len(small) * 4 <= len(parts) <= WORDS_AT_MOST


def _without_opening(parts: list[str], before: str, language: str) -> tuple[list[str], bool]:
    """Remove words that have a capital only because they begin a sentence, and a number before
    them.

    Also return whether only one word at the beginning of a sentence is left, which may be any word.
    """
    marked = before.rstrip(_MARKS)
    first = not marked or marked[-1] in ".!?…\n" or before[-1] in '"“'
    if parts[0][0].isdigit():
        return parts if _NUMBERED.fullmatch(parts[-1]) else parts[1:], False
    if not first:
        return parts, False
    start = 0
    end = len(parts)
    while end > 1 and (
        parts[end - 1].endswith(_CONTRACTED)
        or _CALENDAR.fullmatch(parts[end - 1])
        or (end == 2 and parts[1] == "I")
    ):
        end -= 1
    stop = stop_words(language)
    while start < end and parts[start] != "New" and parts[start].lower() in stop:
        start += 1
    if start:
        return parts[start:end], False
    opener = parts[0].lower() in _OPENERS or _PARTICIPLE.fullmatch(parts[0]) is not None
    opener = opener or (parts[0].lower() in _ROLES and end > 1 and not _is_small(parts[1]))
    if end == 1:
        return parts[opener:end], not opener and not _SHAPED.fullmatch(parts[0])
    apart = (parts[1] == "the" and end > 3) or (parts[1] == "for" and not _FOR.fullmatch(parts[0]))
    return parts[opener or apart : end], False


def _is_small(part: str) -> bool:
    return part == "&" or part[0].islower()


def _pieces(parts: list[str]) -> Iterator[list[str]]:
    """Split the words of a phrase into names: "Ann Lee and Bob's SSO" has three."""
    piece: list[str] = []
    for at, part in enumerate(parts):
        owns = part.endswith(("'s", "’s")) and part[:-2] not in _WHOSE
        if part == "and":
            ends = not {"of", "the"}.isdisjoint(parts[at + 1 : at + 5])
            ends = ends or {"of", "for"}.isdisjoint(piece[-5:])
        elif part == "for":
            ends = not piece or not _FOR.fullmatch(piece[-1])
        else:
            initial = bool(piece) and len(piece[-1]) == 2 and piece[-1].endswith(".")
            ends = part.endswith(_CONTRACTED) or (initial and part.lower() in STOP_WORDS)
        if not ends:
            piece.append(part[:-2] if owns else part)
        if ends or owns:
            yield piece
            piece = []
    yield piece


def _name_of(piece: list[str]) -> tuple[str, str]:
    """Return a name and its kind, without particles, days and titles around it."""
    start = 0
    end = len(piece)
    while start < end and (_is_small(piece[start]) or _WEEKDAYS.fullmatch(piece[start])):
        start += 1
    while end > start and (_is_small(piece[end - 1]) or _CALENDAR.fullmatch(piece[end - 1])):
        end -= 1
    kind = "concept"
    if end - start > 1:
        kind = next((kind for kind, last in _KINDS if last.fullmatch(piece[end - 1])), kind)
        if _TITLE.fullmatch(piece[start]):
            kind = "person"
            start = start + (end - start > 2 and piece[start + 1][0].isupper())
    return " ".join(piece[start:end]).rstrip(".-–'’&"), kind
