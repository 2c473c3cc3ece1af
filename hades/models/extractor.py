"""The extractor: texts in, the names they introduce out.

The built-in one goes by the shape of words. Another can take its place by a setting;
nothing outside this module knows which one runs. What it finds in a text depends on that
text alone.
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
    """What HADES asks of an extractor."""

    def names(self, texts: Sequence[str]) -> list[list[tuple[str, str]]]:
        """For each text the names it introduces, each once, as (name, kind).

        Kinds: concept, person, organisation, place, product, event.
        """


class NamesExtractor:
    """Names by shape; it tells their kind where a word of the name says it."""

    def names(self, texts: Sequence[str]) -> list[list[tuple[str, str]]]:
        """The names each text introduces, as (name, kind)."""
        return [list(extract_names(text).items()) for text in texts]


def known_extractor(setting: str) -> str:
    """The setting, if there is such an extractor; nothing is loaded."""
    if setting not in EXTRACTORS:
        raise InvalidInput(f"There is no extractor {setting!r}: {', '.join(EXTRACTORS)}.")
    return setting


@cache
def load_extractor(setting: str = DEFAULT_EXTRACTOR) -> Extractor:
    """The extractor a setting names.

    names    by the shape of words, built in
    spacy    spaCy's small English recogniser: the extra `spacy`
    """
    if known_extractor(setting) == "names":
        return NamesExtractor()
    from hades.models.spacy_extractor import SpacyExtractor

    return SpacyExtractor()
