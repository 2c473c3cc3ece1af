"""The built-in extractor: names found by their shape alone, with no model.

Capitalised phrases, quoted titles, identifiers and addresses. Measured against spaCy's
recogniser on three sets of multi-hop questions it leads to the same recall or better
(docs/recall.md), at 75 times the speed (docs/benchmarks.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hades.domain.names import STOP_WORDS, name_key

WORDS_AT_MOST = 8
CHARACTERS_AT_LEAST = 3

_UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĖĘĚĞĢĪĮİĶĹĻĽŁŃŅŇŌŐŒŔŘŚŞŠŢŤŪŮŰŲŹŻŽ"
_CAPITAL = rf"[{_UPPER}][\w'’&-]*(?:\.(?=[\s,;)]?\s?[{_UPPER}])(?<=[{_UPPER}]\.)|\.(?=[A-Z]))?"
_PARTICLE = (
    r"(?:of|the|de|del|della|di|da|dos|du|des|la|le|les|el|al|von|van|der|den|zu|y|bin|ibn|for"
    r"|and|&)"
)
_NUMBER = r"\d[\d–-]*"
_PHRASE = re.compile(
    rf"(?:\b{_NUMBER}\s)?\b{_CAPITAL}"
    rf"(?:(?:\s(?:{_PARTICLE}\s){{0,2}}|\s?[-–/]\s?)(?:{_CAPITAL}|{_NUMBER}(?!\w)))*"
)
_QUOTED = re.compile(r"[\"“”]([^\"“”\n]{3,80})[\"“”]")
_ADDRESS = re.compile(r"https?://[^\s)>\]\"']+|\b(?:arXiv:)?\d{4}\.\d{4,5}\b|\b10\.\d{4,}/\S+")
_IDENTIFIER = re.compile(
    r"\b(?:[A-Za-z]+_\w+|[a-z]+[A-Z]\w+|[A-Z][a-z0-9]+[A-Z]\w+|[A-Z]{2,}-?\d[\w-]*)\b"
)
_AND = re.compile(r"\s(?:and|&)\s")


def is_name(key: str) -> bool:
    """Whether a name's key is worth a place in the dictionary."""
    parts = key.split(" ")
    if len(parts) > WORDS_AT_MOST or sum(map(len, parts)) < CHARACTERS_AT_LEAST:
        return not key.isascii() and 2 <= len(key) <= WORDS_AT_MOST * 2
    return not all(word in STOP_WORDS or word.isdigit() for word in parts)


def extract_names(text: str) -> list[str]:
    """The names a text introduces, each once, in order of appearance."""
    found: dict[str, None] = {}
    for match in _PHRASE.finditer(text):
        phrase = match.group()
        parts = [phrase]
        if " and " in phrase or " & " in phrase:
            parts += _AND.split(phrase)
        for part in parts:
            kept = _trimmed(part.replace("’s", "").replace("'s", "").split())
            if kept:
                found[" ".join(kept)] = None
    for match in _QUOTED.finditer(text):
        found[match.group(1).strip(" ,.;:!?")] = None
    for pattern in (_IDENTIFIER, _ADDRESS):
        for match in pattern.finditer(text):
            found[match.group()] = None
    return [name for name in found if is_name(name_key(name))]


def _trimmed(parts: list[str]) -> list[str]:
    """Without the stop words at both ends: "In the United States" names the United States."""
    start, end = 0, len(parts)
    while start < end and parts[start].lower() in STOP_WORDS:
        start += 1
    while end > start and parts[end - 1].lower() in STOP_WORDS:
        end -= 1
    return parts[start:end]


class NamesExtractor:
    """Names by shape; it does not tell what kind of thing they name."""

    def names(self, texts: Sequence[str]) -> list[list[tuple[str, str]]]:
        """The names each text introduces, as (name, kind)."""
        return [[(found, "concept") for found in extract_names(text)] for text in texts]
