"""Extractors, which find the names that texts introduce.

The built-in one looks at the shape of words. A setting chooses another; nothing outside this module
knows which one runs. The names of a text depend on that text alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol

from hades.errors import InvalidInput
from hades.language.english.proper_names import extract_names

EXTRACTORS = ("names", "spacy")
DEFAULT_EXTRACTOR = "names"


class Extractor(Protocol):
    """The interface of an extractor."""

    def names(self, texts: Sequence[str]) -> list[list[tuple[str, str]]]:
        """Return the names that each text introduces, each once, as (name, kind).

        Kinds: concept, person, organisation, place, product, event.
        """


class NamesExtractor:
    """Finds names by their shape, and their kind if a word of the name tells it."""

    def names(self, texts: Sequence[str]) -> list[list[tuple[str, str]]]:
        """Return the names that each text introduces, as (name, kind)."""
        return [list(extract_names(text).items()) for text in texts]


def known_extractor(setting: str) -> str:
    """Return the setting. Raise InvalidInput if there is no such extractor."""
    if setting not in EXTRACTORS:
        raise InvalidInput(f"There is no extractor {setting!r}: {', '.join(EXTRACTORS)}.")
    return setting


@cache
def load_extractor(setting: str = DEFAULT_EXTRACTOR) -> Extractor:
    """Return the extractor that a setting names.

    names    by the shape of words, built in
    spacy    spaCy's small English recogniser: the extra `spacy`
    """
    if known_extractor(setting) == "names":
        return NamesExtractor()
    from hades.models.spacy_extractor import SpacyExtractor

    return SpacyExtractor()
