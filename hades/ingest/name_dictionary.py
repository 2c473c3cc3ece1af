"""The names of a space, and the search for them in texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hades.index.matcher import Matcher
from hades.language.english.proper_names import WORDS_AT_MOST, is_name
from hades.language.words import words


class NameDictionary:
    """The names of a space, and a matcher for their keys. A key may name several entities."""

    def __init__(self, rows: Sequence[tuple[int, int, str]]) -> None:
        """Index the names of rows (name id, entity, key)."""
        self._entities: dict[str, list[int]] = {}
        for _, entity, key in rows:
            if is_name(key):
                self._entities.setdefault(key, []).append(entity)
        self.keys = list(self._entities)
        self._matcher = Matcher(self.keys)

    def mentions(
        self, chunks: Sequence[int], texts: Sequence[str], known: dict[tuple[int, int], bytes]
    ) -> list[tuple[int, int, bytes]]:
        """Return (chunk, entity, positions) of mentions with new positions, including their `known`
        ones."""
        places: dict[tuple[int, int], set[int]] = {}
        for match in self._matcher.match(texts):
            # The bits of a place: first word, length (4 bits), capital (1 bit).
            place = match.start << 5 | match.length << 1 | match.capital
            for entity in self._entities[self.keys[match.name]]:
                places.setdefault((chunks[match.text], entity), set()).add(place)
        mentions = []
        for (chunk_id, entity), new in places.items():
            before = known.get((chunk_id, entity))
            if before is not None:
                new |= set(np.frombuffer(before, np.uint32).tolist())
            positions = np.array(sorted(new), np.uint32).tobytes()
            if positions != before:
                mentions.append((chunk_id, entity, positions))
        return mentions


def rows_of_words(text: str) -> Iterator[str]:
    """Yield every key that a name in this text can have: up to WORDS_AT_MOST consecutive words."""
    row = [word.casefold() for word in words(text)]
    for first in range(len(row)):
        for end in range(first + 1, min(len(row), first + WORDS_AT_MOST) + 1):
            yield " ".join(row[first:end])
