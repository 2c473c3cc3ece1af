"""The memory manager of memory-enhanced PathRAG: its names and thresholds over the tiers of HADES.

Keys are topics, and values texts or JSON. The memory is the reliable store: every value is written
to it. Copies in this process or on a fast disk are valid for one change of the memory only, so an
old value is never returned. `entity:NAME` and `path:QUESTION` are read from the graph.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from enum import Enum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from hades.compat.caches import CacheConfig, DiskCache, LRUCache, checked_key
from hades.compat.pathrag import PathRAG
from hades.compat.source_class import SourceClass, json_text, read_config
from hades.domain.plain import plain
from hades.domain.rules import clean_list, clean_mapping, clean_share
from hades.domain.tiers import Tier
from hades.domain.times import from_micros, system_clock
from hades.domain.topics import DEFAULT_IMPORTANCE
from hades.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from hades.memory import View

COUNTED_AT_MOST = 10_000
"""The most keys whose reads are counted; with more, counting starts again from 0."""
RECENT_AT_MOST = 10
"""How many of the last questions of a context are considered."""
PREFETCHED = 5
"""How many topics the last question of a context brings into a cache."""
ENTITY = "entity"
PATH = "path"
JSON = "json"
"""The key in a state's metadata for the digest of a content that is JSON. Later states inherit the
metadata but have another content, whose digest differs."""

_AGES = ((1, 0.3), (7, 0.2), (30, 0.1))
_CONFIDENCES = ((0.8, 0.2), (0.5, 0.1))
_LENGTHS = ((10, 0.2), (5, 0.1))
"""Additions to an importance of 0.5: for fewer days since `updated_at`, a higher `confidence`, and
more `vertices`."""
ASKED_LATELY = 0.3


class MemoryTier(Enum):
    """The tiers, fastest first. The memory is both RAID tiers."""

    RAM = 1
    NVME_RAID0 = 2
    RAID1 = 3
    RAID5 = 4


class TieredMemoryManager(SourceClass):
    """Values of a memory. Important and often read values come from faster tiers.

    >>> TieredMemoryManager(memory, {"promotion_threshold": 2}).get("plan")      # doctest: +SKIP
    """

    def __init__(
        self,
        memory: View | SourceClass | Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(memory, config)
        self.config = read_config(CacheConfig, self._given)
        self.ram_cache = LRUCache(self.config.ram_cache_size_mb)
        folder = self.config.nvme_cache_path
        self.nvme_cache = DiskCache(folder, self.config.nvme_cache_size_gb) if folder else None
        self.path_rag = PathRAG(self)
        """It reads the keys `path:…`."""
        self._reads = Counter[str]()
        self._prefetched = ""

    def get(self, key: str, context: Mapping[str, Any] | None = None) -> Any:
        """Return a value from the fastest tier that has it; None if it is unknown.

        A key that is read often is promoted. `context` may have `recent_queries`: a value that
        speaks of one is more important, and the topics that the last one finds are prefetched.
        """
        checked_key(key)
        queries = _recent(context)
        revision = self._revision()
        if len(self._reads) >= COUNTED_AT_MOST:
            self._reads.clear()
        self._reads[key] += 1
        for cache in self._caches():
            kept = cache.get(key)
            if isinstance(kept, list) and len(kept) == 2 and kept[0] == revision:
                value = json.loads(kept[1])
                if cache is not self.ram_cache:
                    self._keep(key, value, revision, 0.0)
                return value
        try:
            value, importance = self._fetched(key)
            if self._revision() != revision:  # a question indexes new notes, which is a change
                revision = self._revision()
                value, importance = self._fetched(key)
        except NotFound:
            for cache in self._caches():
                cache.remove(key)
            return None
        importance = max(importance, self.calculate_importance(value, context))
        self._keep(key, value, revision, importance)
        self._prefetch(queries, revision)
        return json.loads(json_text(value))

    def put(
        self,
        key: str,
        value: Any,
        importance: float | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> bool:
        """Write a text or JSON value as the new state of a topic, and keep an important one.

        Values of `entity:…` and `path:…` are only cached; False means that no cache has room.
        """
        if _kind(checked_key(key)) is None:
            text = value if isinstance(value, str) else json_text(value)
            metadata = None if isinstance(value, str) else {JSON: _digest(text)}
            self.view.remember(key, text, importance=importance, metadata=metadata)
        given = clean_share(importance, "importance")
        if given is None:
            given = self.calculate_importance(value, context)
        return self._keep(key, value, self._revision(), given) or _kind(key) is None

    def calculate_importance(self, data: Any, context: Mapping[str, Any] | None = None) -> float:
        """Return the importance of a value, 0.5 to 1, by its age, confidence, nodes and context."""
        score = 0.5
        if isinstance(data, Mapping):
            age = _days_since(data.get("updated_at"))
            score += next((more for most, more in _AGES if age is not None and age < most), 0)
            score += _above(_CONFIDENCES, data.get("confidence"))
            vertices = data.get("vertices")
            score += _above(_LENGTHS, len(vertices) if isinstance(vertices, list) else None)
        if queries := _recent(context):
            text = str(data).casefold()
            score += ASKED_LATELY * any(query.casefold() in text for query in queries)
        return min(1.0, score)

    def tiers(self) -> list[Tier]:
        """Return the tiers of this process and of the fast disk, then those of the memory."""
        own = [self.ram_cache.tier("kept texts")]
        own += [self.nvme_cache.tier("fast disk")] if self.nvme_cache else []
        return [*own, *self.view.tiers()]

    def _caches(self) -> Iterator[LRUCache | DiskCache]:
        """Yield the caches, fastest first."""
        yield self.ram_cache
        if self.nvme_cache is not None:
            yield self.nvme_cache

    def _revision(self) -> str:
        """Return what a cached value is valid for: a memory, its last change, a space and a
        moment."""
        view = self.view
        read_by = (self.path_rag.config.decay_rate, self.path_rag.config.pruning_threshold)
        return repr((*view.inside.store.changefeed.revision(), view.space, view.as_of, read_by))

    def _keep(self, key: str, value: Any, revision: str, importance: float) -> bool:
        """Keep a value in the tier for its importance, or in this process if it is read often."""
        kept = [revision, json_text(value)]
        threshold = self.config.importance_threshold
        if importance >= threshold or self._reads[key] >= self.config.promotion_threshold:
            return self.ram_cache.put(key, kept)
        if self.nvme_cache is not None and importance >= threshold / 2:
            return self.nvme_cache.put(key, kept)
        return False

    def _fetched(self, key: str) -> tuple[Any, float]:
        """Return a value of the memory and its importance; raise NotFound if there is none."""
        kind = _kind(key)
        rest = key.partition(":")[2]
        if kind == ENTITY:
            return plain(self.view.entity(rest)), DEFAULT_IMPORTANCE
        if kind == PATH:
            retrieved = self.path_rag.retrieve_paths(**_path_query(rest))
            return retrieved, 0.7 if retrieved["paths"] else 0.3
        state = self.view.get(key)
        is_json = state.metadata.get(JSON) == _digest(state.content)
        return json.loads(state.content) if is_json else state.content, state.importance

    def _prefetch(self, queries: list[str], revision: str) -> None:
        """Bring the topics that the last question finds into the process, once for a question."""
        asked = f"{revision} {queries[-1]}" if queries else ""
        if not asked or asked == self._prefetched:
            return
        self._prefetched = asked
        for hit in self.view.search(queries[-1], PREFETCHED):
            value, _ = self._fetched(hit.chunk.topic)
            self._keep(hit.chunk.topic, value, revision, 1.0)


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _kind(key: str) -> str | None:
    """Return `entity` or `path` for a key of the graph; None for a topic."""
    kind, colon, _ = key.partition(":")
    return kind if colon and kind in (ENTITY, PATH) else None


def _path_query(given: str) -> dict[str, Any]:
    """Return the arguments of `retrieve_paths` from `QUESTION` or `QUESTION:{"max_paths": 3}`."""
    query, brace, rest = given.rpartition(":{")
    if not brace:
        return {"query": given}
    try:
        more = clean_mapping(json.loads(f"{{{rest}"), "the arguments of a path")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"A key is path:QUESTION or path:QUESTION:{{JSON}}: {error}.") from error
    if unknown := sorted(more.keys() - {"max_paths", "domain_filter", "as_of_version"}):
        raise InvalidInput(f"There is no argument {unknown[0]!r} of a path.")
    return {"query": query, **more}


def _recent(context: Mapping[str, Any] | None) -> list[str]:
    """Return the last questions of a context, without blank ones."""
    given = clean_mapping(context or {}, "context").get("recent_queries") or []
    queries = clean_list(given, "recent_queries")[-RECENT_AT_MOST:]
    return [query for query in queries if isinstance(query, str) and query.strip()]


def _above(steps: tuple[tuple[float, float], ...], number: Any) -> float:
    if not isinstance(number, int | float):
        return 0.0
    return next((more for least, more in steps if number > least), 0.0)


def _days_since(given: Any) -> float | None:
    """Return the days since a time in ISO 8601; None if it is no time."""
    try:
        moment = datetime.fromisoformat(str(given))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (from_micros(system_clock()) - moment).total_seconds() / 86_400
