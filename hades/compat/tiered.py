"""The memory manager of source document 000: its names and thresholds over the tiers there are.

Keys are topics and values are texts. A text that is important or often read is kept in this
process; all others come from the store, which fetches archived ones (docs/tiers.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hades.domain.rules import clean_mapping
from hades.domain.tiers import Tier
from hades.errors import InvalidInput, NotFound
from hades.store.byte_cache import ByteCache

if TYPE_CHECKING:
    from hades.memory import Memory

THRESHOLDS = {"ram_cache_size_mb": 64, "promotion_threshold": 5, "importance_threshold": 0.7}
COUNTED_AT_MOST = 10_000
"""The most topics whose reads are counted; with more, counting starts again from 0."""


class TieredMemoryManager:
    """Texts of a memory, the important and often read ones from this process.

    >>> TieredMemoryManager(memory, {"promotion_threshold": 2}).get("plan")      # doctest: +SKIP
    """

    def __init__(self, memory: Memory, config: Mapping[str, float] | None = None) -> None:
        given = clean_mapping(config or {}, "config")
        unknown = given.keys() - THRESHOLDS.keys()
        if unknown:
            known = ", ".join(THRESHOLDS)
            raise InvalidInput(f"There is no threshold {min(unknown)!r}: use {known}.")
        self.memory, self.config = memory, {**THRESHOLDS, **given}
        for name, value in self.config.items():
            if not isinstance(value, int | float) or not 0 <= value <= 1_000_000:
                raise InvalidInput(f"The {name} is a number from 0 to 1,000,000.")
        size = int(self.config["ram_cache_size_mb"]) << 20
        self._kept = ByteCache[str, tuple[int, str]](size)
        self._reads = Counter[str]()

    def get(self, key: str) -> str | None:
        """Return the text of a topic from the fastest tier that has it; None if it is unknown."""
        change = self.memory.change
        kept = self._kept.get(key)
        if kept is not None and kept[0] == change:
            return kept[1]
        try:
            state = self.memory.get(key)
        except NotFound:
            self._kept.drop(key)
            return None
        if len(self._reads) >= COUNTED_AT_MOST:
            self._reads.clear()
        self._reads[key] += 1
        if (
            self._reads[key] >= self.config["promotion_threshold"]
            or state.importance >= self.config["importance_threshold"]
        ):
            self._kept.put(key, (change, state.content), len(state.content.encode()))
        return state.content

    def put(self, key: str, value: str, importance: float | None = None) -> bool:
        """Write a text as the new state of a topic; an important one is kept in this process."""
        self.memory.remember(key, value, importance=importance)
        return self.get(key) is not None

    def tiers(self) -> list[Tier]:
        """Return the texts kept here, then the tiers of the memory."""
        return [self._kept.tier("kept texts"), *self.memory.tiers()]
