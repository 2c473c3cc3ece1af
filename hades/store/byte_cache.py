"""A cache bounded in bytes: what was not used for longest leaves."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from hades.domain.tiers import Tier

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class ByteCache(Generic[Key, Value]):
    """Values by key, and how often one was found. Threads may share it."""

    def __init__(self, bound: int) -> None:
        self.bound, self.bytes = bound, 0
        self.hits = self.misses = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """What is kept under a key, which is then the one used last."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                self.misses += 1
                return None
            self.hits += 1
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Keep a value of so many bytes, unless it is larger than all there may be."""
        with self._lock:
            self.bytes -= self._kept.pop(key, (None, 0))[1]
            if size <= self.bound:
                self._kept[key] = value, size
                self.bytes += size
            while self.bytes > self.bound:
                self.bytes -= self._kept.popitem(last=False)[1][1]

    def drop(self, key: Key) -> None:
        """Let go of one."""
        with self._lock:
            self.bytes -= self._kept.pop(key, (None, 0))[1]

    def clear(self) -> None:
        """Let go of all."""
        with self._lock:
            self._kept, self.bytes = OrderedDict(), 0

    def items(self) -> list[tuple[Key, Value]]:
        """All that is kept, the one used last at the end; counts as no use."""
        with self._lock:
            return [(key, value) for key, (value, _) in self._kept.items()]

    def tier(self, name: str) -> Tier:
        """How much it holds, and how well it does."""
        held = (len(self._kept), self.bytes, self.bound)
        return Tier(name, "memory", *held, self.hits, self.misses)
