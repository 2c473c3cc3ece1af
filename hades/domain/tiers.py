"""Tiers: where what is remembered lies, from memory to the archive."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tier:
    """One place where answers, texts or states lie, and how well it does."""

    name: str
    """`answers`, `shared answers`, `graphs`, `texts`, `archived texts`, `store` or `archive`."""
    where: str
    """`memory`, `redis`, `store`, the archive's place, or why there is none."""
    items: int | None = None
    bytes: int | None = None
    """How much lies there; None: that is not known."""
    bound: int | None = None
    """The most bytes it may have, or None: it is not bounded in bytes."""
    hits: int = 0
    misses: int = 0

    @property
    def hit_rate(self) -> float | None:
        """The share of look-ups that found something there; None before the first one."""
        looked = self.hits + self.misses
        return self.hits / looked if looked else None
