"""What texts say about names themselves: acronyms with their long forms, symbols with their tails.

Which names a text introduces is for an extractor to say (hades/models/extractor.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hades.domain.names import STOP_WORDS, is_identifier, name_key, symbol_tail
from hades.models.names_extractor import extract_names, is_name

__all__ = ["extract_names", "is_name", "long_forms", "short_symbols"]

_LONG_FORM = re.compile(
    r"([A-Z][\w-]+(?:\s(?:of|and|for|the|in)?\s?[A-Z]?[\w-]+){1,6})\s\(([A-Z][A-Za-z]{1,7})\)"
)


def long_forms(text: str) -> list[tuple[str, str]]:
    """Pairs (long form, acronym) where a text spells an acronym out."""
    pairs = []
    for long, short in _LONG_FORM.findall(text):
        parts = long.split()
        for start in range(len(parts)):
            if parts[start].lower() in STOP_WORDS:
                continue  # "of the Massachusetts Institute of Technology" begins later
            initials = "".join(
                part[0]
                for part in parts[start:]
                if part[0].isupper() or part.lower() not in STOP_WORDS
            )
            if initials.lower() == short.lower():
                pairs.append((" ".join(parts[start:]), short))
                break
    return pairs


def short_symbols(names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """(bare name, relation, full name) of the symbols of one passage that has both.

    An identifier means the symbol (`coref`); a plain word may mean much else (`refers_to`).
    """
    here = set(names)
    for full in names:
        bare = symbol_tail(full)
        if bare != full and bare in here and is_name(name_key(bare)):
            yield bare, "coref" if is_identifier(bare) else "refers_to", full
