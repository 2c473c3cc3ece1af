"""PathRAG: a class with its configuration, over `recall`.

`as_of_version` is a change number or a time. A cached value also depends on the memory's last
change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from hades.compat.caches import CacheConfig
from hades.compat.source_class import Share, SourceClass, read_config
from hades.domain.answer import Path, path_order
from hades.domain.graph import Node
from hades.domain.plain import one_line
from hades.domain.rules import clean_list, clean_mapping, clean_number
from hades.domain.times import TimeLike
from hades.domain.weights import PathScoring
from hades.errors import InvalidInput

if TYPE_CHECKING:
    from hades.memory import View

_FILTERS = ("tag", "kind", "glob")
_GLOB_SIGNS = frozenset("*?[/")
_AS_LISTS = ("edge_weights", "edge_types", "vertex_types", "path_length", "reliability")


SCORING = ("decay_rate", "pruning_threshold")
WITHOUT_NODES = 0.1
WITHOUT_EDGES = 0.3
"""The score of a path without nodes, and that of a path without edges, which is divided by its
length."""


class PathRAGConfig(CacheConfig):
    """The configuration of PathRAG and of memory-enhanced PathRAG.

    `max_cache_paths` and `path_token_estimate` have no effect: caches have a size in bytes, and
    tokens are counted.
    """

    decay_rate: float = Field(default=0.85, ge=1e-6, le=1)
    pruning_threshold: Share = 0.01
    max_cache_paths: int = Field(default=100, ge=0)
    path_token_estimate: int = Field(default=150, ge=0)
    context_window_tokens: int = Field(default=4_096, ge=1)
    reserve_tokens: int = Field(default=512, ge=0)
    enable_caching: bool = True


class PathRAG(SourceClass):
    """Paths through a memory, scored and pruned by a configuration.

    >>> found = PathRAG(memory, {"decay_rate": 0.7})      # doctest: +SKIP
    >>> found.retrieve_paths("Why was approach X rejected?")      # doctest: +SKIP
    """

    def __init__(
        self,
        view: View | SourceClass | Mapping[str, Any] | None = None,
        config: PathScoring | Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(view, config)
        given = self._given
        if isinstance(given, PathScoring):
            given = {name: getattr(given, name) for name in SCORING}
        self.config = read_config(PathRAGConfig, given)

    def retrieve_paths(
        self,
        query: str,
        max_paths: int = 5,
        domain_filter: str | None = None,
        as_of_version: int | TimeLike | None = None,
    ) -> dict[str, Any]:
        """Find the most reliable paths for a query, by `decay_rate` and `pruning_threshold`.

        `domain_filter` is `tag:decision`, `kind:code` or `glob:docs/*`; without such a prefix it
        is a glob if it looks like one, else a tag. `as_of_version` is a change number or a time.
        """
        graph = {name: getattr(self.config, name) for name in SCORING}
        plan = {"paths": max_paths, "graph": graph}
        then = _as_of(self.view, as_of_version)
        recalled = then.recall(query, plan=plan, **_narrowed(domain_filter))
        paths = [_path(path) for path in sorted(recalled.paths, key=path_order)[:max_paths]]
        stages = (stage for stage in recalled.telemetry if stage.stage == "paths")
        before = max([len(recalled.paths), *(stage.found + stage.cut for stage in stages)])
        counts = {"count": len(paths), "pruned_from": before}
        return {"success": True, "query": query, "paths": paths, **counts}

    def retrieve_and_format(
        self,
        query: str,
        max_paths: int = 5,
        domain_filter: str | None = None,
        as_of_version: int | TimeLike | None = None,
    ) -> str:
        """Find paths as `retrieve_paths` does, and return them as text for a model."""
        retrieved = self.retrieve_paths(query, max_paths, domain_filter, as_of_version)
        if not retrieved["success"]:
            return f"Error retrieving paths: {retrieved['error']}"
        return self.format_paths_for_prompt(retrieved["paths"], query)

    def format_paths_for_prompt(self, paths: Sequence[Mapping[str, Any]], query: str) -> str:
        """Return paths as text for a model; a path without `reliability` is scored."""
        scored = [
            {"reliability": self.calculate_path_score(path), **path}
            for path in clean_list(paths, "paths")
        ]
        return format_paths_for_prompt(scored, query)

    def calculate_path_score(
        self,
        path: Mapping[str, Any],
        source_node: Mapping[str, Any] | None = None,
        decay_rate: float | None = None,
    ) -> float:
        """Return the score of a path: the mean amount that its edges pass on.

        The first node holds 1; the i-th edge passes on amount · weight · decay^i. An edge is
        followed in either direction. With `source_node`, a path that starts elsewhere scores 0. A
        path without nodes scores 0.1, and one of n nodes without edges 0.3 / (n − 1).
        """
        vertices = clean_mapping(path, "path").get("vertices") or []
        edges = path.get("edges") or []
        if not vertices:
            return WITHOUT_NODES
        if source_node and vertices[0].get("_id") != source_node.get("_id"):
            return 0.0
        if not edges:
            return WITHOUT_EDGES / max(1, len(vertices) - 1)
        decay = self.config.decay_rate if decay_rate is None else decay_rate
        amount = 1.0
        total = 0.0
        for place, edge in enumerate(edges):
            amount *= _weight(edge) * decay**place
            total += amount
        return total / len(edges)

    def prune_paths(
        self, candidate_paths: Iterable[Mapping[str, Any]], pruning_threshold: float | None = None
    ) -> list[dict[str, Any]]:
        """Return the paths that score at least the threshold, best first, with `reliability`."""
        least = self.config.pruning_threshold if pruning_threshold is None else pruning_threshold
        candidates = clean_list(candidate_paths, "candidate_paths")
        scored = [(self.calculate_path_score(path), path) for path in candidates]
        kept = [{**path, "reliability": score} for score, path in scored if score >= least]
        return sorted(kept, key=lambda path: -path["reliability"])


def format_paths_for_prompt(paths: Sequence[Mapping[str, Any]], query: str) -> str:
    """Return paths as text for a model: the query first, the most reliable path last."""
    if not clean_list(paths, "paths"):
        return f"No paths found for query: {query}"
    lines = [f"Query: {query}", "", "Relevant information:", ""]
    ranked = sorted(paths, key=lambda path: (path["reliability"], path.get("path", "")))
    for number, path in enumerate(ranked, start=1):
        label = "Most relevant path" if number == len(paths) else "Path"
        lines.append(f"{label} ({path['reliability']:.2f}): {one_line(path.get('path', ''))}")
        lines += [f"  {line}" for line in described(path)]
        lines.append("")
    return "\n".join(lines)


def described(path: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each node of a path that has a description."""
    for vertex in path.get("vertices") or []:
        if description := vertex.get("description"):
            text = " ".join(str(description).split())  # on one line, it is not a path
            yield f"- {one_line(str(vertex.get('name', 'Entity')))}: {text}"


def _weight(edge: Mapping[str, Any]) -> float:
    weight = clean_mapping(edge, "edge").get("weight", 1.0)
    if not isinstance(weight, int | float) or not 0 <= weight < math.inf:
        raise InvalidInput(f"The weight of an edge is a number of at least 0, not {weight!r}.")
    return min(float(weight), 1.0)


def _narrowed(domain: str | None) -> dict[str, Any]:
    if domain is None:
        return {}
    which, colon, rest = domain.partition(":")
    if colon and which in _FILTERS:
        return {which: rest}
    return {"glob" if _GLOB_SIGNS & set(domain) else "tag": domain}


def _as_of(view: View, version: int | TimeLike | None) -> View:
    """Return the view as of a change number or a time; for None, the view itself."""
    if version is None:
        return view
    # A text of four digits is a year.
    if isinstance(version, str) and version.isdigit() and len(version) != 4:
        version = int(version)
    if not isinstance(version, int):
        return view.at(version)
    clean_number(version, "version", least=1)
    if version > view.change:
        raise InvalidInput(f"There is no version {version}: the last change is {view.change}.")
    for change in view.log(1, after=version + 1, upkeep=True):
        return view.at(known=change.at)
    raise InvalidInput(f"There was nothing here yet at version {version}.")


def _path(path: Path) -> dict[str, Any]:
    vertices = [_vertex(path.start, "")]
    vertices += [_vertex(step.target, step.snippet) for step in path.steps]
    edges = [
        {
            "_from": _id(edge.source),
            "_to": _id(edge.target),
            "weight": edge.weight,
            "relation": edge.relation,
            "evidence": edge.snippet,
            "chunk": edge.chunk,
        }
        for edge in path.edges()
    ]
    lists = {name: getattr(path, name) for name in _AS_LISTS}
    return {"path": str(path), "vertices": vertices, "edges": edges, **lists}


def _vertex(node: Node, description: str) -> dict[str, str]:
    return {"_id": _id(node), "name": node.name, "description": description}


def _id(node: Node) -> str:
    return f"{node.kind}/{node.name}"
