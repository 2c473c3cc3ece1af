"""Grounding: check whether the sources that a model's sentence cites support it.

A sentence is supported if three things hold. Its sources have every number, date and name in it,
near the same words. They have most of its other words, and no word replaces another. It neither
denies what they say nor says what they deny.

No model judges, so there are limits. It does not check who did what to whom (`Ann paid Bob`
supports `Bob paid Ann`), nor which of two dates belongs to which of two events in one sentence.
Other words for the same thing count against a sentence. The rules are for English; a sentence in
another language is supported if it repeats its source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hades.language.english.lexicon import COUNTS, DENIALS, MONTHS, STOP_WORDS, WEEKDAYS, word_set
from hades.language.english.stems import stem
from hades.language.patterns import lazy_pattern
from hades.language.sentences import sentences
from hades.language.words import words

COVERAGE_AT_LEAST = 0.75
"""The share of a sentence's words that its sources must have."""
NEAR_AT_LEAST = 0.25
"""A sentence of a source with this share of the words is about the same thing."""
DENIED_WORDS = 3
"""The number of words after a `not` that are denied, within its clause."""

_LABEL = r"\[\s?[FPT]?\d{1,6}(?:\s?[,;]\s?[FPT]?\d{1,6}){0,20}\s?\]"
_LABELS = lazy_pattern(_LABEL)
_NUMBERED = lazy_pattern(r"[FPT]?\d+")
_BRACKETS = lazy_pattern(r"\[([^\[\]]{1,400}+)\]|\(([^()]{1,400}+)\)")
_BETWEEN = lazy_pattern(r"\s?[,;]\s?|:\s|\s?(?:→|->)\s?")
_PATH = lazy_pattern(r"path #?(?=\d)", re.IGNORECASE)
_BEHIND_THE_END = lazy_pattern(rf"([.!?…][\"”’')]?)((?:[^\S\n]{{0,3}}{_LABEL})+)")
_NOT = lazy_pattern(r"n['’]t\b|(?<=can)not\b")
_CLAUSES = lazy_pattern(r"[,;:()—]|\b(?:but|because|although|though|while|and)\b")
_VALUE = lazy_pattern(r"\d+(?:[.,:]\d+)*")
_ISO = lazy_pattern(r"\b(\d{4})-(0[1-9]|1[0-2])(?:-(\d\d))?(?!\d)")
_THOUSANDS = lazy_pattern(r"(?<=\d),(?=\d{3}(?!\d))")
_ORDINAL = lazy_pattern(r"(?<=\d)(?:st|nd|rd|th)\b")
_NOTHING_FOUND = lazy_pattern(
    r"(?:(?:the|these|this) (?:context|passages?|sources?|texts?|notes?|memory|facts?) "
    r"(?:do(?:es)? not|says? nothing|(?:contains?|gives?|has|have) no)\b"
    r"|(?:there is|i have|i found) (?:no (?:information|answer|mention|evidence)|nothing)\b"
    r"|no (?:information|answer|mention|evidence)\b|nothing (?:was |is )?(?:found|known|said)\b"
    r"|i (?:do not|cannot) (?:know|find|answer|say)\b|not (?:stated|found|known|mentioned)\b)",
    re.IGNORECASE,
)
_TURN = lazy_pattern(r"\b(?:but|however|although|though|while|yet|except)\b|[;:—\d]", re.IGNORECASE)
_MONTHS = [name.capitalize() for name in MONTHS]
_LIGHT = word_set("takes makes gets goes comes needs")
_UNDOING = ("un", "in", "dis", "non")
_ORDINARY = ("ing", "ed", "ly", "tion", "ment", "ness", "ers", "ies", "ity")
"""Endings of ordinary words, which are not names even with a capital at a sentence's start."""


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of a model, and whether its sources support it."""

    text: str
    """The sentence without its citations."""
    cited: tuple[str, ...]
    """The labels of its sources, such as `1`, `F2` and `P1`."""
    supported: bool
    why: str
    """The reason why it is not supported; empty if it is."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The labels of its sources as numbers, if all of them are plain numbers."""
        return tuple(map(int, self.cited))


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a sentence that are compared."""

    roots: Mapping[str, frozenset[bool]]
    """Its words without endings, and whether each is denied."""
    values: frozenset[str]
    names: frozenset[str]
    plain: frozenset[str]
    """All words, and pairs of neighbouring words, as written but in lower case."""
    beside: frozenset[tuple[str, str]]
    """Words without endings that stand side by side, apart from small words between them."""


def with_labels(text: str, nodes: Mapping[str, Sequence[str]]) -> str:
    """Return a text with its citations of paths and nodes rewritten as labels: `[P1]`.

    `nodes` maps each label to the names of its nodes. `(P1)`, `(path 1)` and `[P1: a, Bug Y]`
    become `[P1]` if path 1 has the nodes `a` and `Bug Y`; `[Bug Y]` becomes the labels of all that
    have this node. Anything else in brackets stays as it is.
    """
    known = {label: {node.casefold() for node in nodes[label]} for label in nodes}

    def labelled(match: re.Match[str]) -> str:
        parts = [_PATH.sub("P", part.strip()) for part in _BETWEEN.split(match[1] or match[2])]
        labels = [part for part in parts if part in known and (match[1] or not part.isdecimal())]
        names = {part.casefold() for part in parts if part not in labels}
        if labels and not names <= set[str]().union(*map(known.__getitem__, labels)):
            return match[0]
        if not labels and match[1]:
            labels = [label for label in known if names <= known[label]]
        return f"[{', '.join(labels)}]" if labels else match[0]

    return _BRACKETS.sub(labelled, text)


def check_sentences(text: str, sources: Mapping[str, str]) -> list[CheckedSentence]:
    """Check each sentence of a text against the sources that it cites: `[1]`, `[2, F1]`, `[P1]`.

    `sources` has the texts by label. All sentences with words are returned.

    The work grows with the length of the text times that of the sources.
    """
    read: dict[str, list[_Parts]] = {}
    checked = []
    for sentence in sentences(_BEHIND_THE_END.sub(r"\2\1", text)):
        cited = _cited(sentence)
        plain = " ".join(_LABELS.sub(" ", sentence).split())
        plain = re.sub(r" (?=[.,;:!?])", "", plain)
        if not words(plain):
            continue
        for label in cited:
            if label in sources and label not in read:
                read[label] = list(map(_parts_of, sentences(sources[label])))
        why = _fault(plain, cited, read)
        checked.append(CheckedSentence(plain, cited, not why, why))
    return checked


def _cited(sentence: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_NUMBERED.findall(" ".join(_LABELS.findall(sentence)))))


def _fault(sentence: str, cited: tuple[str, ...], read: Mapping[str, list[_Parts]]) -> str:
    """Return why a sentence is not supported by the sources that it cites; "" if it is."""
    if not cited:
        absent = _NOTHING_FOUND.match(_NOT.sub(" not", sentence)) and not _TURN.search(sentence)
        return "" if absent else "cites nothing"
    if strange := [label for label in cited if label not in read]:
        return f"cites {strange[0]}, which is not there"
    claim = _parts_of(sentence)
    if not claim.roots:
        return "says nothing that can be checked"
    source = [part for label in cited for part in read[label]]
    least = NEAR_AT_LEAST * len(claim.roots)
    near = [part for part in source if len(claim.roots.keys() & part.roots.keys()) >= least]
    if missing := claim.values.difference(*(part.values for part in near)):
        return f"the source does not say {min(missing)}"
    if strangers := claim.names.difference(*(part.plain for part in source)):
        return f"the source does not name {min(strangers)}"
    covered = claim.roots.keys() & set[str]().union(*(part.roots for part in source))
    if len(covered) < COVERAGE_AT_LEAST * len(claim.roots):
        return "the source says something else"
    return _contradiction(claim, near) or _exchanged(claim, near)


def _contradiction(claim: _Parts, near: list[_Parts]) -> str:
    told: dict[str, set[bool]] = {}
    for part in near:
        for root, denied in part.roots.items():
            told.setdefault(root, set()).update(denied)
    for root, denied in claim.roots.items():
        if root in told:
            if not denied & told[root]:
                return f"the source {'says' if True in denied else 'denies'} {root}"
            continue
        opposites = {f"{prefix}{root}" for prefix in _UNDOING}
        opposites |= {root.removeprefix(prefix) for prefix in _UNDOING} - {root}
        opposites |= {other for one, other in _OPPOSITES if one == root}
        if opposites & told.keys():
            return f"the source says the opposite of {root}"
    denies = any(True in denied for denied in claim.roots.values())
    if denies and not any(True in denied for denied in told.values()):
        return "the source does not deny it"
    return ""


def _exchanged(claim: _Parts, near: list[_Parts]) -> str:
    """Return a message if a word replaces one of the source, such as "red paint" for "blue
    paint"."""
    known = set[str]().union(*(part.roots for part in near))
    places: dict[tuple[int, str], set[str]] = {}
    for pair in {pair for part in near for pair in part.beside}:
        for at in (0, 1):
            places.setdefault((at, pair[1 - at]), set()).add(pair[at])
    for pair in sorted(claim.beside):
        for at in (0, 1):
            theirs = places.get((at, pair[1 - at]), set())
            if pair[at] not in known and any(root not in claim.roots for root in theirs):
                return f"the source has another word than {pair[at]} beside {pair[1 - at]}"
    return ""


_OPPOSITE_WORDS = """accept refuse accept reject approve reject allow forbid enable disable
    increase decrease rise fall start stop open close add remove pass fail win lose succeed fail
    faster slower higher lower extend shorten hot cold true false early late keep drop join leave
    buy sell grow shrink public private""".split()  # noqa: SIM905
_OPPOSITES = [
    (stem(one), stem(other))
    for pair in zip(_OPPOSITE_WORDS[::2], _OPPOSITE_WORDS[1::2], strict=True)
    for one, other in (pair, pair[::-1])
]


def _parts_of(sentence: str) -> _Parts:
    text = _THOUSANDS.sub("", _ORDINAL.sub("", _NOT.sub(" not", sentence)))
    text = _ISO.sub(lambda date: f"{date[1]} {_MONTHS[int(date[2]) - 1]} {date[3] or ''}", text)
    values = {number.lstrip("0") or "0" for number in _VALUE.findall(text)}
    roots: dict[str, set[bool]] = {}
    names: set[str] = set()
    plain: set[str] = set()
    beside: set[tuple[str, str]] = set()
    first = True
    for clause in _CLAUSES.split(_VALUE.sub(" ", text)):
        denied = 0
        before = ""
        root = ""
        for word in words(clause):
            lower = word.casefold()
            plain |= {lower, f"{before} {lower}"}
            if COUNTS.get(lower, 1) > 1:
                values.add(str(COUNTS[lower]))
            elif lower in MONTHS and word != lower:
                values.add(f"month {MONTHS[lower]}")
            elif lower.removesuffix("s") in WEEKDAYS:
                values.add(lower.removesuffix("s"))
            elif lower in DENIALS:
                denied = DENIED_WORDS + 1
            elif lower not in STOP_WORDS and lower not in _LIGHT:
                denied -= denied > 0
                left = root
                root = stem(word)
                beside |= {(left, root)} if left else set()
                roots.setdefault(root, set()).add(denied > 0)
                if word != lower and not (first and lower.endswith(_ORDINARY)):
                    names.add(f"{before} {lower}" if len(word) == 1 and before else lower)
            first = False
            before = lower
    kept = {root: frozenset(how) for root, how in roots.items()}
    return _Parts(kept, frozenset(values), frozenset(names), frozenset(plain), frozenset(beside))
