"""A cache bounded in bytes, which drops the least recently used value first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from hades.domain.tiers import Tier

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class ByteCache(Generic[Key, Value]):
    """Values by key, with counts of hits and misses. Threads may share it."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.bytes = 0
        self.hits = 0
        self.misses = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """Return the value of a key, or None, and count this as a use of it."""
        with self._lock:
            entry = self._kept.get(key)
            if entry is None:
                self.misses += 1
                return None
            self.hits += 1
            self._kept.move_to_end(key)
            return entry[0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Replace the value of a key; a value of `size` bytes above the bound is not kept."""
        with self._lock:
            self.bytes -= self._kept.pop(key, (None, 0))[1]
            if size <= self.bound:
                self._kept[key] = value, size
                self.bytes += size
            while self.bytes > self.bound:
                self.bytes -= self._kept.popitem(last=False)[1][1]

    def drop(self, key: Key) -> None:
        """Drop the value of a key."""
        with self._lock:
            self.bytes -= self._kept.pop(key, (None, 0))[1]

    def clear(self) -> None:
        """Drop all values."""
        with self._lock:
            self._kept = OrderedDict()
            self.bytes = 0

    def items(self) -> list[tuple[Key, Value]]:
        """Return all keys and values, the last used at the end, without counting a use."""
        with self._lock:
            return [(key, value) for key, (value, _) in self._kept.items()]

    def tier(self, name: str) -> Tier:
        """Return its size and its hits and misses."""
        return Tier(name, "memory", len(self._kept), self.bytes, self.bound, self.hits, self.misses)
