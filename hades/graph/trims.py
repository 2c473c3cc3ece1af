"""Trims: counts of the items that an algorithm left out, and why."""

from __future__ import annotations

from dataclasses import dataclass

from hades.domain.graph import Reason


@dataclass(frozen=True, slots=True)
class Trim:
    """A reason, the thing that was left out, and how many of it."""

    reason: Reason
    what: str
    count: int


class Trims:
    """The trims of one call, in the order they first happened."""

    def __init__(self) -> None:
        self._counts: dict[tuple[Reason, str], int] = {}

    def add(self, reason: Reason, what: str, count: int = 1) -> None:
        """Count something that was left out. Ignore a count of 0 or less."""
        if count > 0:
            key = reason, what
            self._counts[key] = self._counts.get(key, 0) + count

    def all(self) -> tuple[Trim, ...]:
        """Return everything counted so far."""
        return tuple(Trim(reason, what, n) for (reason, what), n in self._counts.items())
