"""PathRAG as in source document 000: a class with its configuration, over `recall`.

It differs from the document where that was wrong: nothing is cached by the question alone, and a
version is a change or a time of this memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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


class PathRAG:
    """Paths through a memory, scored and pruned by a configuration.

    >>> found = PathRAG(memory, PathScoring(decay_rate=0.7))      # doctest: +SKIP
    >>> found.retrieve_paths("Why was approach X rejected?")      # doctest: +SKIP
    """

    def __init__(self, view: View, config: PathScoring | None = None) -> None:
        self.view, self.config = view, config or PathScoring()
        if not isinstance(self.config, PathScoring):
            raise InvalidInput(f"`config` is a hades.PathScoring, not {type(config).__name__}.")

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
        graph = {name: getattr(self.config, name) for name in ("decay_rate", "pruning_threshold")}
        plan = {"paths": max_paths, "graph": graph}
        then = _as_of(self.view, as_of_version)
        found = then.recall(query, plan=plan, **_narrowed(domain_filter))
        paths = [_path(path) for path in sorted(found.paths, key=path_order)[:max_paths]]
        stages = (stage for stage in found.telemetry if stage.stage == "paths")
        before = max([len(found.paths), *(stage.found + stage.cut for stage in stages)])
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
        paths = self.retrieve_paths(query, max_paths, domain_filter, as_of_version)["paths"]
        return format_paths_for_prompt(paths, query)

    def calculate_path_score(
        self,
        path: Mapping[str, Any],
        source_node: Mapping[str, Any] | None = None,
        decay_rate: float | None = None,
    ) -> float:
        """Return the score of source document 000: the mean amount that the edges pass on.

        The first node holds 1; the i-th edge passes on amount · weight · decay^i. An edge is
        followed in either direction. With `source_node`, a path that starts elsewhere scores 0.
        """
        clean_mapping(path, "path")
        edges: Sequence[Mapping[str, Any]] = path.get("edges") or []
        starts = [vertex["_id"] for vertex in path.get("vertices") or []][:1]
        if not edges or (source_node is not None and starts != [source_node["_id"]]):
            return 0.0
        decay = self.config.decay_rate if decay_rate is None else decay_rate
        amount, total = 1.0, 0.0
        for place, edge in enumerate(edges):
            amount *= min(float(edge.get("weight", 1.0)), 1.0) * decay**place
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
    ranked = sorted(paths, key=lambda path: (path["reliability"], path["path"]))
    for number, path in enumerate(ranked, start=1):
        label = "Most relevant path" if number == len(paths) else "Path"
        lines.append(f"{label} ({path['reliability']:.2f}): {one_line(path['path'])}")
        for vertex in path["vertices"]:
            if vertex["description"]:
                text = " ".join(vertex["description"].split())  # on one line, it is not a path
                lines.append(f"  - {one_line(vertex['name'])}: {text}")
        lines.append("")
    return "\n".join(lines)


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
    at, vertices, edges = path.start, [_vertex(path.start, "")], []
    for step in path.steps:
        ends = (at, step.target) if step.forward else (step.target, at)
        edge = {"_from": _id(ends[0]), "_to": _id(ends[1]), "weight": step.weight}
        edge |= {"relation": step.relation, "evidence": step.snippet, "chunk": step.chunk}
        edges.append(edge)
        vertices.append(_vertex(step.target, step.snippet))
        at = step.target
    lists = {name: getattr(path, name) for name in _AS_LISTS}
    return {"path": str(path), "vertices": vertices, "edges": edges, **lists}


def _vertex(node: Node, description: str) -> dict[str, str]:
    return {"_id": _id(node), "name": node.name, "description": description}


def _id(node: Node) -> str:
    return f"{node.kind}/{node.name}"
