"""Memory-enhanced PathRAG: paths that are kept in tiers.

A cached result is valid for one change of the memory only. Errors of HADES are returned in the
answer; other errors are raised.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hades.compat.caches import CacheConfig
from hades.compat.context_window import ContextWindowManager
from hades.compat.pathrag import SCORING, PathRAG
from hades.compat.source_class import SourceClass
from hades.compat.tiered import PATH, RECENT_AT_MOST, TieredMemoryManager
from hades.domain.times import TimeLike
from hades.errors import HadesError

if TYPE_CHECKING:
    from hades.domain.weights import PathScoring
    from hades.memory import View


class MemoryEnhancedPathRAG(PathRAG):
    """`PathRAG` with tiers for its results, a context window and the last questions.

    >>> rag = MemoryEnhancedPathRAG(memory, {"ram_cache_size_mb": 64})      # doctest: +SKIP
    >>> rag.retrieve_and_format("Why was approach X rejected?")             # doctest: +SKIP
    """

    def __init__(
        self,
        view: View | SourceClass | Mapping[str, Any] | None = None,
        config: PathScoring | Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(view, config)
        given = self.config.model_dump()
        caches = {name: given[name] for name in CacheConfig.model_fields}
        self.memory_manager = TieredMemoryManager(self, caches)
        self.memory_manager.path_rag = PathRAG(self, {name: given[name] for name in SCORING})
        self.context_manager = ContextWindowManager(
            self.config.context_window_tokens, self.config.reserve_tokens
        )
        self.recent_queries = deque[str](maxlen=RECENT_AT_MOST)

    def retrieve_paths(
        self,
        query: str,
        max_paths: int = 5,
        domain_filter: str | None = None,
        as_of_version: int | TimeLike | None = None,
    ) -> dict[str, Any]:
        """Find paths as `PathRAG` does, from a tier if they are kept there for this change.

        After an error of HADES, `success` is False and `error` says why.
        """
        given = {
            "max_paths": max_paths,
            "domain_filter": domain_filter,
            "as_of_version": as_of_version,
        }
        try:
            if not self.config.enable_caching:
                return super().retrieve_paths(query, **given)  # type: ignore[arg-type]
            key = f"{PATH}:{query}:{json.dumps(given, default=str)}"
            paths: dict[str, Any] = self.memory_manager.get(
                key, {"recent_queries": [*self.recent_queries]}
            )
            return paths
        except HadesError as error:
            return {"success": False, "error": str(error)}
        finally:
            self.recent_queries.append(query)
