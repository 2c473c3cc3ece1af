"""Names: how two spellings are recognised as one thing."""

from __future__ import annotations

import re
import unicodedata

_WORDS = re.compile(r"[^\W_]+")


def name_key(name: str) -> str:
    """The key under which a name is looked up: no accents, lower case, words only.

    >>> name_key("Café-Racer (Film)")
    'cafe racer film'

    A name without a single word character (an emoji, `+++`) is its own key.
    """
    folded = unicodedata.normalize("NFKD", name)
    folded = "".join(c for c in folded if not unicodedata.combining(c)).casefold()
    return " ".join(_WORDS.findall(folded)) or name.strip()
