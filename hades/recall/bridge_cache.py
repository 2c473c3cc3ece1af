"""The bridge cache: best paths that join distant communities, kept until the next write."""

from __future__ import annotations

from collections.abc import Callable

from hades.domain.answer import Path
from hades.store.byte_cache import ByteCache
from hades.store.store import Store

BYTES_AT_MOST = 4 << 20
STEP_BYTES = 500
"""The approximate size of one step of a path."""


class BridgeCache:
    """Lists of paths by key. A list without a bridge is not kept."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revision = ("", 0)
        self.cache = ByteCache[str, list[Path]](BYTES_AT_MOST)

    def paths(self, key: str, search: Callable[[], list[Path]]) -> list[Path]:
        """Return the kept paths of a key, or search for them."""
        revision = self._store.changefeed.revision()
        if revision != self._revision:
            self.cache.clear()
            self._revision = revision
        kept = self.cache.get(key)
        if kept is not None:
            return list(kept)
        paths = search()
        # After a write during the search, the revision of the paths is unknown.
        if any(path.bridges for path in paths) and self._store.changefeed.revision() == revision:
            self.cache.put(key, paths, STEP_BYTES * sum(len(path.steps) for path in paths))
        return list(paths)

    def kept(self) -> list[tuple[int, Path]]:
        """Return the change number and each kept path that has a bridge, once."""
        every = {str(path): path for _, paths in self.cache.items() for path in paths}
        return [(self._revision[1], path) for path in every.values() if path.bridges]
