"""Tiers: the stores of texts and answers, from this process to the archive."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tier:
    """One store of answers, texts or states, with its size and its hits and misses."""

    name: str
    """`answers`, `shared answers`, `graphs`, `bridges`, `texts`, `archived texts`, `store` or
    `archive`."""
    where: str
    """`memory`, `redis`, `store`, the archive's location, or why the tier is absent."""
    items: int | None = None
    bytes: int | None = None
    """The size now; None if unknown."""
    bound: int | None = None
    """The most bytes it may hold; None if bytes are not limited."""
    hits: int = 0
    misses: int = 0

    @property
    def hit_rate(self) -> float | None:
        """The share of look-ups that hit; None before the first look-up."""
        looked = self.hits + self.misses
        return self.hits / looked if looked else None
