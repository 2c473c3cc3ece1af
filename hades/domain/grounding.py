"""Grounding: whether a sentence that a model wrote stands in the sources it cites.

A sentence is supported when every number, date and name in it stands in what it cites, near the
words it is said with, when most of its other words do, and when nothing is denied that was said,
or said that was denied. No model judges, so the limits are plain: who did what to whom is not
read (`Ann paid Bob` supports `Bob paid Ann`), nor which of two dates belongs to which of two
events in one sentence, and other words for the same thing count against a sentence. Words of
English only; a sentence in another language is supported where it repeats its source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hades.domain.names import STOP_WORDS, words
from hades.domain.sentences import sentences

COVERAGE_AT_LEAST = 0.5
"""The share of its words that must stand in the source."""
NEAR_AT_LEAST = 0.25
"""A sentence of the source that has this share of them is about the same."""
DENIED_WORDS = 3
"""So many words after a `not` are denied, within its clause."""

_LABEL = r"\[\s?F?\d{1,6}(?:\s?[,;]\s?F?\d{1,6}){0,20}\s?\]"
_LABELS = re.compile(_LABEL)
_NUMBERED = re.compile(r"F?\d+")
_BEHIND_THE_END = re.compile(rf"([.!?…][\"”’')]?)((?:[^\S\n]{{0,3}}{_LABEL})+)")
_NOT = re.compile(r"n['’]t\b|(?<=can)not\b")
_CLAUSES = re.compile(r"[,;:()—]|\b(?:but|because|although|though|while|and)\b")
_VALUE = re.compile(r"\d+(?:[.,:]\d+)*")
_ISO_MONTH = re.compile(r"\b(\d{4})-(\d\d)(?:-(\d\d))?(?!\d)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_NOTHING_FOUND = re.compile(
    r"(?:(?:the|these|this) (?:context|passages?|sources?|texts?|notes?|memory|facts?) "
    r"(?:do(?:es)? not|says? nothing|(?:contains?|gives?|has|have) no)\b"
    r"|(?:there is|i have|i found) (?:no (?:information|answer|mention|evidence)|nothing)\b"
    r"|no (?:information|answer|mention|evidence)\b|nothing (?:was |is )?(?:found|known|said)\b"
    r"|i (?:do not|cannot) (?:know|find|answer|say)\b|not (?:stated|found|known|mentioned)\b)",
    re.IGNORECASE,
)
_TURN = re.compile(r"\b(?:but|however|although|though|while|yet|except)\b|[;:—\d]", re.IGNORECASE)
_ENDINGS = ("ations", "ation", "ings", "ing", "ions", "ion", "ers", "er", "ed", "es", "ly", "s")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = re.compile(
    r"\b(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b"
)
_NUMBER_WORDS = dict(
    zip("two three four five six seven eight nine ten eleven twelve".split(), range(2, 13))  # noqa: SIM905, B905
)
_DENIALS = frozenset("not no never none neither nor without nothing nobody hardly".split())  # noqa: SIM905
_UNDOING = ("un", "in", "dis", "non")
_ORDINARY = ("ing", "ed", "ly", "tion", "ment", "ness", "ers", "ies", "ity")
"""Endings of words that are no names, though they begin a sentence with a capital."""


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of a model, and whether what it cites says so."""

    text: str
    """Without its citations."""
    cited: tuple[int, ...]
    """The sources by number; a fact `[F2]` is -2."""
    supported: bool
    why: str
    """What is wrong with it; empty when it is supported."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What a sentence says, in parts that can be compared."""

    roots: Mapping[str, frozenset[bool]]
    """Its words without endings, and whether each is denied."""
    values: frozenset[str]
    names: frozenset[str]
    plain: frozenset[str]
    """All words as they stand, in lower case."""


def check_sentences(text: str, sources: Mapping[int, str]) -> list[CheckedSentence]:
    """The sentences of a text, each checked against the sources it cites: `[1]`, `[2, F1]`.

    The work grows with the length of the text times that of what is cited.
    """
    read: dict[int, list[_Said]] = {}
    checked = []
    for sentence in sentences(_BEHIND_THE_END.sub(r"\2\1", text)):
        cited = _cited(sentence)
        plain = " ".join(_LABELS.sub(" ", sentence).split())
        plain = re.sub(r" (?=[.,;:!?])", "", plain)
        if not words(plain):
            continue
        for number in cited:
            if number in sources and number not in read:
                read[number] = [_read(one) for one in sentences(sources[number])]
        why = _fault(plain, cited, read)
        checked.append(CheckedSentence(plain, cited, not why, why))
    return checked


def _cited(sentence: str) -> tuple[int, ...]:
    labels = (one for found in _LABELS.findall(sentence) for one in _NUMBERED.findall(found))
    return tuple(dict.fromkeys(-int(x[1:]) if x[0] == "F" else int(x) for x in labels))


def _fault(sentence: str, cited: tuple[int, ...], read: Mapping[int, list[_Said]]) -> str:
    """Why a sentence is not supported; empty when it is."""
    if not cited:
        absent = _NOTHING_FOUND.match(_NOT.sub(" not", sentence)) and not _TURN.search(sentence)
        return "" if absent else "cites nothing"
    strange = [number for number in cited if number not in read]
    if strange:
        return f"cites {strange[0]}, which is not there"
    said = _read(sentence)
    if not said.roots:
        return "says nothing that can be checked"
    source = [one for number in cited for one in read[number]]
    least = NEAR_AT_LEAST * len(said.roots)
    near = [one for one in source if len(said.roots.keys() & one.roots.keys()) >= least]
    missing = said.values - _all(one.values for one in near)
    if missing:
        return f"the source does not say {min(missing)}"
    strangers = said.names - _all(one.plain for one in source)
    if strangers:
        return f"the source does not name {min(strangers)}"
    there = said.roots.keys() & _all(one.roots.keys() for one in source)
    if len(there) < COVERAGE_AT_LEAST * len(said.roots):
        return "the source says something else"
    return _contradiction(said, near)


def _contradiction(said: _Said, near: list[_Said]) -> str:
    if any(True in denied for denied in said.roots.values()) and not any(
        True in denied for one in near for denied in one.roots.values()
    ):
        return "the source does not deny it"
    for root, denied in said.roots.items():
        told = [one.roots[root] for one in near if root in one.roots]
        if told and not denied & frozenset().union(*told):
            return f"the source {'says' if True in denied else 'denies'} {root}"
        opposites = {f"{prefix}{root}" for prefix in _UNDOING}
        opposites |= {root.removeprefix(prefix) for prefix in _UNDOING} - {root}
        opposites.add(_OPPOSITES.get(root, ""))
        if not told and any(opposites & one.roots.keys() for one in near):
            return f"the source says the opposite of {root}"
    return ""


def _all(parts: Iterable[Iterable[str]]) -> set[str]:
    return {one for part in parts for one in part}


def _root(word: str) -> str:
    """A word without its ending: `own` and `owned` are one, as are `plan` and `planned`."""
    plain = word.casefold()
    for ending in _ENDINGS:
        if plain.endswith(ending) and len(plain) - len(ending) >= 3:
            plain = plain[: -len(ending)]
            break
    if len(plain) > 3 and plain[-1] == plain[-2]:
        plain = plain[:-1]
    return plain[:-1] + "i" if plain[-1] == "y" else plain.rstrip("e")


_OPPOSITE_WORDS = """accept reject approve reject allow forbid enable disable increase decrease
    rise fall start stop open close add remove pass fail win lose succeed fail faster slower higher
    lower hot cold true false early late keep drop join leave buy sell grow shrink
    public private""".split()  # noqa: SIM905
_OPPOSITES = {
    _root(one): _root(other)
    for pair in zip(_OPPOSITE_WORDS[::2], _OPPOSITE_WORDS[1::2], strict=True)
    for one, other in (pair, pair[::-1])
}


def _read(sentence: str) -> _Said:
    text = _THOUSANDS.sub("", _ORDINAL.sub("", _NOT.sub(" not", sentence)))
    values = {f"month {int(one[2])}" for one in _ISO_MONTH.finditer(text)}
    text = _ISO_MONTH.sub(lambda one: f"{one[1]} {one[3] or ''}", text)
    values |= {f"month {_MONTHS.index(one[:3].casefold()) + 1}" for one in _MONTH.findall(text)}
    values |= {_plain_number(one) for one in _VALUE.findall(text)}
    roots: dict[str, set[bool]] = {}
    names: set[str] = set()
    plain: set[str] = set()
    first = True
    for clause in _CLAUSES.split(_VALUE.sub(" ", _MONTH.sub(" ", text))):
        denied, before = 0, ""
        for word in words(clause):
            lower = word.casefold()
            plain |= {lower, f"{before} {lower}"}
            if lower in _NUMBER_WORDS:
                values.add(str(_NUMBER_WORDS[lower]))
            elif lower in _DENIALS:
                denied = DENIED_WORDS + 1
            elif lower not in STOP_WORDS:
                denied -= denied > 0
                roots.setdefault(_root(word), set()).add(denied > 0)
                if word != lower and not (first and lower.endswith(_ORDINARY)):
                    names.add(f"{before} {lower}" if len(word) == 1 and before else lower)
            first, before = False, lower
    kept = {root: frozenset(how) for root, how in roots.items()}
    return _Said(kept, frozenset(values), frozenset(names), frozenset(plain))


def _plain_number(text: str) -> str:
    """`007` and `7`, `1.50` and `1.5` are one number."""
    whole, point, part = text.partition(".")
    if not point or not part.isdigit():
        return text.lstrip("0") or "0"
    return f"{whole.lstrip('0') or '0'}.{part.rstrip('0')}".removesuffix(".")
