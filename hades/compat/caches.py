"""The caches of memory-enhanced PathRAG: one in this process, and one of JSON files in a folder.

Nothing from the folder is ever unpickled or run. `diskcache` was not chosen for it: even its
`JSONDisk` unpickles rows whose stored mode says so (CVE-2025-69872, without a fixed release).
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pydantic import Field

from hades.compat.source_class import Place, Share, SourceConfig, json_text
from hades.domain.tiers import Tier
from hades.errors import Corrupt, InvalidInput, Unavailable
from hades.store.byte_cache import ByteCache
from hades.store.objects import BYTES_AT_MOST, open_objects

RAM_MB = 64
DISK_GB = 10
KEY_CHARACTERS_AT_MOST = 20_000
SIZE_AT_MOST = 1_000_000
"""The largest number of MB or GB of a cache."""
UNKNOWN_SIZE_MB = 0.1
"""The size that is assumed for a value that is not JSON."""
EVICT_TO = 0.9
"""A full folder is emptied to this share of its limit, so that it is not listed at every write."""


class CacheConfig(SourceConfig):
    """The configuration of the tiers. `reliable_store_…` has no effect: the memory is that tier."""

    ram_cache_size_mb: float = Field(default=RAM_MB, ge=0, le=SIZE_AT_MOST)
    nvme_cache_path: Place | None = None
    nvme_cache_size_gb: float = Field(default=DISK_GB, ge=0, le=SIZE_AT_MOST)
    reliable_store_path: Place | None = None
    reliable_store_size_gb: float = Field(default=0, ge=0, le=SIZE_AT_MOST)
    promotion_threshold: int = Field(default=5, ge=0, le=1_000_000)
    importance_threshold: Share = 0.7


class LRUCache:
    """Values in this process, up to a number of MB; the least recently used value is dropped first.

    >>> LRUCache(max_size_mb=8).get("plan")
    """

    def __init__(self, max_size_mb: float = RAM_MB) -> None:
        self.max_size_mb = _size(max_size_mb, "max_size_mb")
        self._kept = ByteCache[str, Any](int(self.max_size_mb * (1 << 20)))

    @property
    def current_size_mb(self) -> float:
        """The MB in use."""
        return self._kept.bytes / (1 << 20)

    def get(self, key: str) -> Any:
        """Return a value, or None; this counts as a use of it."""
        return self._kept.get(key)

    def put(self, key: str, value: Any, size_mb: float | None = None) -> bool:
        """Keep a value; return False if it is larger than the cache.

        Without `size_mb`, its size is that of its JSON.
        """
        size = _estimated_mb(value) if size_mb is None else _size(size_mb, "size_mb")
        self._kept.put(checked_key(key), value, int(size * (1 << 20)))
        return size <= self.max_size_mb

    def remove(self, key: str) -> None:
        """Drop a value, if there is one."""
        self._kept.drop(key)

    def tier(self, name: str) -> Tier:
        """Return its size, hits and misses."""
        return self._kept.tier(name)


class DiskCache:
    """JSON values in a folder, up to a number of GB; the least recently used value is dropped
    first.

    It is kept when the process ends. Several processes may use one folder. Texts in it stay after a
    `purge` of the memory until they are evicted: remove the folder then.

    >>> DiskCache("~/.cache/plans").get("plan")      # doctest: +SKIP
    """

    def __init__(self, base_path: str | Path, max_size_gb: float = DISK_GB) -> None:
        self.max_size_gb = _size(max_size_gb, "max_size_gb")
        if not isinstance(base_path, str | Path) or not str(base_path).strip():
            raise InvalidInput(f"`base_path` is the path of a folder, not {base_path!r}.")
        self._folder = Path(base_path).expanduser().absolute() / "data"
        self._objects = open_objects(str(self._folder))
        self._bound = int(self.max_size_gb * (1 << 30))
        self._bytes = sum(size for _, size, _ in self._files())
        self._hits = 0
        self._misses = 0

    def get(self, key: str) -> Any:
        """Return a value, or None; this counts as a use of it. A damaged file is removed."""
        name = _file_name(key)
        item = self._item(name)
        if item is None or item.get("key") != key:
            self._misses += 1
            return None
        self._hits += 1
        self._touch(name)
        return item.get("value")

    def put(self, key: str, value: Any, metadata: Mapping[str, Any] | None = None) -> bool:
        """Store a JSON value; return False if it is larger than the cache or the limit of a file.

        `metadata` is stored beside it.
        """
        item = {"key": checked_key(key), "value": value, "metadata": dict(metadata or {})}
        data = json_text(item).encode()
        if len(data) > min(self._bound, BYTES_AT_MOST):
            return False
        self._objects.put(_file_name(key), data)
        self._bytes += len(data)  # it counts a replaced value twice: the next listing corrects that
        if self._bytes > self._bound:
            self._evict()
        return True

    def remove(self, key: str) -> bool:
        """Remove a value; return False if there is none."""
        name = _file_name(key)
        known = (self._folder / name).exists()
        self._objects.remove(name)
        return known

    def tier(self, name: str) -> Tier:
        """Return its size, and the hits and misses of this process."""
        sizes = [size for _, size, _ in self._files()]
        where = str(self._folder.parent)
        return Tier(name, where, len(sizes), sum(sizes), self._bound, self._hits, self._misses)

    def _item(self, name: str) -> dict[str, Any] | None:
        try:
            data = self._objects.get(name)
            item = None if data is None else json.loads(data)
        except (ValueError, RecursionError, Corrupt):
            item = ""
        if item is not None and not isinstance(item, dict):
            self._objects.remove(name)
            return None
        return item

    def _touch(self, name: str) -> None:
        """Set the time of the last use. Another process may have evicted the file."""
        with suppress(OSError):
            os.utime(self._folder / name)

    def _evict(self) -> None:
        """Remove the files that were not used for longest."""
        files = sorted(self._files())
        self._bytes = sum(size for _, size, _ in files)
        for _, size, name in files:
            if self._bytes <= self._bound * EVICT_TO:
                break
            self._objects.remove(name)
            self._bytes -= size

    def _files(self) -> list[tuple[int, int, str]]:
        """Return the time of the last use, the size and the name of each value."""
        files = []
        try:
            for path in self._folder.glob("*.json"):
                with suppress(FileNotFoundError):  # evicted by another process
                    status = path.lstat()
                    if stat.S_ISREG(status.st_mode):
                        files.append((status.st_mtime_ns, status.st_size, path.name))
        except OSError as error:
            raise Unavailable(f"The cache {self._folder} cannot be listed: {error}.") from error
        return files


def checked_key(key: str) -> str:
    """Return the key of a value; raise InvalidInput if it is no text, empty or too long."""
    if not isinstance(key, str) or not key or len(key) > KEY_CHARACTERS_AT_MOST:
        raise InvalidInput(f"A key is a text of 1 to {KEY_CHARACTERS_AT_MOST:,} characters.")
    return key


def _file_name(key: str) -> str:
    return f"{blake2b(checked_key(key).encode(errors='replace'), digest_size=16).hexdigest()}.json"


def _estimated_mb(value: Any) -> float:
    try:
        return len(json_text(value).encode()) / (1 << 20)
    except InvalidInput:
        return UNKNOWN_SIZE_MB


def _size(number: float, what: str) -> float:
    given = isinstance(number, int | float) and not isinstance(number, bool)
    if not given or not 0 <= number <= SIZE_AT_MOST:
        raise InvalidInput(f"`{what}` is a number from 0 to {SIZE_AT_MOST:,}, not {number!r}.")
    return float(number)
