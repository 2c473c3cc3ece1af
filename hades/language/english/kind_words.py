"""Words that show the kind of a named thing: nouns, parts of names, first names and places.

The words are data: `kind_words.tsv`. The lists are small and leave out words that often mean
something else.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

PERSON = "person"
ORGANISATION = "organisation"
PLACE = "place"
WORK = "work"
EVENT = "event"
METHOD = "method"
PRODUCT = "product"


class KindWords(NamedTuple):
    """Kinds by word, for each use of the words."""

    noun: dict[str, str]
    """Nouns that name the kind of a thing: "X is a …"."""
    last: dict[str, str]
    """Last words of a name of several words."""
    honorific: dict[str, str]
    """Words before the name of a person."""
    first_name: dict[str, str]
    """First names that are seldom places, firms or things."""
    place: dict[str, str]
    """Continents, countries, states and large cities. All other words are in lower case."""


@cache
def kind_words() -> KindWords:
    """Return the words of `kind_words.tsv`, which is read once."""
    uses: dict[str, dict[str, str]] = {}
    table = Path(__file__).with_name("kind_words.tsv").read_text("utf-8")
    for row in table.splitlines()[1:]:
        use, kind, word = row.split("\t")
        uses.setdefault(use, {})[word] = kind
    return KindWords(**uses)
