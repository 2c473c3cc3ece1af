"""The calls of seeds 000 and 004, thin over `recall`: for programs written against them.

Nothing is searched here. Each call makes a plan, recalls once, and hands the result over
in the old shape. What the old calls got wrong stays out: no path is changed by being
shown, nothing is cached by the question alone, and a time is a time of this memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hades.domain.answer import Passage, Path, Recall
from hades.domain.graph import Node
from hades.domain.names import name_key, one_line, words
from hades.domain.rules import clean_number
from hades.domain.times import TimeLike, iso
from hades.domain.topics import Change
from hades.errors import HadesError, InvalidInput
from hades.recall.plan import TOKENS_AT_MOST

DECAY = 0.85
"""Of seed 000's own score, for paths that come without a reliability."""
TOKENS_PER_RESULT = 600
"""Room for a whole passage and its head: an old call wants all its results."""
PATHS_STAGE = "paths"
"""The stage whose report says how many paths were weighed."""


class Recalls(Protocol):
    """What these calls ask of a view."""

    @property
    def recall(self) -> Callable[..., Recall]:
        """What is known about a question."""

    def at(self, time: TimeLike | None = None, *, known: TimeLike | None = None) -> Recalls:
        """The same memory as of another time."""

    def log(self, limit: int = 20) -> list[Change]:
        """The last changes, newest first."""

    @property
    def change(self) -> int:
        """The number of the last change."""


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """A passage as seed 004 hands it over."""

    chunk_id: str
    text: str
    score: float
    rank: int
    entities: list[str] = field(default_factory=list)
    """Of the paths that were found, the nodes this passage names."""
    metadata: dict[str, Any] = field(default_factory=dict)


def retrieve_paths(
    view: Recalls,
    query: str,
    max_paths: int = 5,
    domain_filter: str | None = None,
    as_of_version: int | TimeLike | None = None,
) -> dict[str, Any]:
    """The most reliable paths for a query (seed 000).

    `domain_filter` is `tag:decision`, `kind:code` or `glob:docs/*`; without such a word it
    is a glob when it looks like one, else a tag. `as_of_version` is a change number or a
    time. A refusal is told in the result: success False, and the sentence.
    """
    try:
        clean_number(max_paths, "number of paths", least=1)
        then = _as_of(view, as_of_version)
        found = then.recall(query, plan={"paths": max_paths}, **_narrowed(domain_filter))
    except HadesError as error:
        return {"success": False, "query": query, "error": str(error), "paths": [], "count": 0}
    ranked = sorted(found.paths, key=lambda path: (-path.reliability, str(path)))
    paths = [_old_path(path) for path in ranked[:max_paths]]
    return {
        "success": True,
        "query": query,
        "paths": paths,
        "count": len(paths),
        "pruned_from": _weighed(found),
    }


def format_paths_for_prompt(paths: Sequence[Mapping[str, Any]], query: str) -> str:
    """Paths for a model to read: the query first, the most reliable path last (seed 000)."""
    ranked = sorted(paths, key=lambda path: (_reliability(path), str(path.get("path", ""))))
    lines = [f"Query: {query}", "", "Relevant information:", ""]
    for number, path in enumerate(ranked, start=1):
        label = "Most relevant path" if number == len(ranked) else "Path"
        lines.append(f"{label} ({_reliability(path):.2f}): {one_line(str(path.get('path', '')))}")
        for vertex in path.get("vertices") or ():
            if vertex.get("description"):
                said = " ".join(str(vertex["description"]).split())  # it cannot pass for a path
                lines.append(f"  - {one_line(str(vertex.get('name', 'Entity')))}: {said}")
        lines.append("")
    return "\n".join(lines)


def retrieve_and_format(
    view: Recalls,
    query: str,
    max_paths: int = 5,
    domain_filter: str | None = None,
    as_of_version: int | TimeLike | None = None,
) -> str:
    """Both in one step; without paths, a sentence that says so."""
    found = retrieve_paths(view, query, max_paths, domain_filter, as_of_version)
    if not found["success"]:
        return f"Error retrieving paths: {found['error']}"
    if not found["paths"]:
        return f"No paths found for query: {query}"
    return format_paths_for_prompt(found["paths"], query)


def retrieve(
    view: Recalls, query: str, top_k: int = 5, alpha: float | None = None
) -> list[RetrievalResult]:
    """The best passages (seed 004); `alpha` is the walk's damping, our default unless given."""
    return _results(view, query, top_k, {} if alpha is None else {"damping": alpha})


def retrieve_multi_hop(
    view: Recalls, query: str, max_hops: int = 3, top_k: int = 5
) -> list[RetrievalResult]:
    """The best passages, looking so many hops around what the query names (seed 004)."""
    clean_number(max_hops, "number of hops")
    return _results(view, query, top_k, {"hops": max_hops})


def _results(
    view: Recalls, query: str, top_k: int, graph: Mapping[str, Any]
) -> list[RetrievalResult]:
    clean_number(top_k, "number of results", least=1)
    budget = min(max(top_k * TOKENS_PER_RESULT, 5_000), TOKENS_AT_MOST)
    plan = {"final_context": top_k, "history": 0, "graph": dict(graph)}
    found = view.recall(query, budget=budget, plan=plan)
    nodes = dict.fromkeys(
        node.name for path in found.paths for node in path.nodes if node.kind != "chunk"
    )
    return [_result(passage, rank, nodes) for rank, passage in enumerate(found.passages[:top_k], 1)]


def _result(passage: Passage, rank: int, names: Mapping[str, None]) -> RetrievalResult:
    chunk = passage.chunk
    said = f" {' '.join(word.casefold() for word in words(f'{chunk.heading} {chunk.text}'))} "
    return RetrievalResult(
        chunk_id=chunk.id,
        text=chunk.text,
        score=passage.score,
        rank=rank,
        entities=[name for name in names if f" {name_key(name)} " in said],
        metadata={
            "file_path": chunk.topic,
            "version": chunk.version,
            "chunk_index": chunk.ordinal,
            "heading": chunk.heading,
            "line": passage.line,
            "end_line": passage.end_line,
            "timestamp": iso(passage.valid_from),
            "belief": passage.belief.mean,
        },
    )


_FILTERS = ("tag", "kind", "glob")
_GLOB_SIGNS = frozenset("*?[/")


def _narrowed(domain: str | None) -> dict[str, Any]:
    if domain is None:
        return {}
    which, colon, rest = domain.partition(":")
    if colon and which in _FILTERS:
        return {which: rest}
    return {"glob" if _GLOB_SIGNS & set(domain) else "tag": domain}


def _as_of(view: Recalls, version: int | TimeLike | None) -> Recalls:
    """The view as of a change number or a time; None: as it is."""
    if version is None:
        return view
    # Four digits are a year.
    if isinstance(version, str) and version.isdigit() and len(version) != 4:
        version = int(version)
    if not isinstance(version, int):
        return view.at(version)
    clean_number(version, "version", least=1)
    if version > view.change:
        raise InvalidInput(f"There is no version {version}: the last change is {view.change}.")
    # Of the changes after it, at most so many are of this space: one more reaches it.
    for change in view.log(view.change - version + 1):
        if change.number <= version:
            return view.at(known=change.at)
    raise InvalidInput(f"There was nothing here yet at version {version}.")


def _weighed(found: Recall) -> int:
    """How many paths there were before the best were kept."""
    stages = [one for one in found.telemetry if one.stage == PATHS_STAGE]
    return max([len(found.paths), *(one.found + one.cut for one in stages)])


def _old_path(path: Path) -> dict[str, Any]:
    at = path.start
    vertices, edges = [_vertex(path.start, "")], []
    for step in path.steps:
        ends = (at, step.target) if step.forward else (step.target, at)
        edges.append(
            {
                "_from": _id(ends[0]),
                "_to": _id(ends[1]),
                "weight": step.weight,
                "relation": step.relation,
                "evidence": step.snippet,
                "chunk": step.chunk,
            }
        )
        vertices.append(_vertex(step.target, step.snippet))
        at = step.target
    return {
        "path": str(path),
        "vertices": vertices,
        "edges": edges,
        "reliability": path.reliability,
    }


def _vertex(node: Node, description: str) -> dict[str, str]:
    return {"_id": _id(node), "name": node.name, "description": description}


def _id(node: Node) -> str:
    return f"{node.kind}/{node.name}"


def _reliability(path: Mapping[str, Any]) -> float:
    """A path's own, or seed 000's score of it: the mean of what flows along, with decay."""
    if "reliability" in path:
        return float(path["reliability"])
    flow, total = 1.0, 0.0
    edges = path.get("edges") or ()
    for at, edge in enumerate(edges):
        flow *= float(edge.get("weight", 1.0)) * DECAY**at
        total += flow
    return total / len(edges) if edges else 0.0
