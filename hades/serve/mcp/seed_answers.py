"""What the seeds' tools ask of a view, and a recall in the shapes they hand over.

Nothing is searched here: each tool recalls once. What the seeds got wrong stays out: nothing
is cached by the question alone, and a time is a time of this memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hades.domain.answer import Passage, Path, Recall
from hades.domain.graph import Node, Reason
from hades.domain.names import one_line
from hades.domain.rules import clean_number
from hades.domain.times import TimeLike, iso
from hades.errors import InvalidInput
from hades.memory import View

TOKENS_PER_RESULT, TOKENS_AT_LEAST = 600, 5_000
"""Room for whole passages and their heads: the seeds want all their results."""
WALK_FROM_NAMES, WALK_FROM_PRIOR = "walk from names", "walk from meaning and words"
UNFINISHED_WALK, PRIOR = "walk, not finished in time", "meaning and words"
_FILTERS = ("tag", "kind", "glob")
_GLOB_SIGNS = frozenset("*?[/")


def retrieve_paths(
    view: View,
    query: str,
    max_paths: int = 5,
    domain_filter: str | None = None,
    as_of_version: int | TimeLike | None = None,
) -> dict[str, Any]:
    """The most reliable paths for a query (seed 000).

    `domain_filter` is `tag:decision`, `kind:code` or `glob:docs/*`; without such a word it
    is a glob when it looks like one, else a tag. `as_of_version` is a change number or a
    time.
    """
    then = _as_of(view, as_of_version)
    found = then.recall(query, plan={"paths": max_paths}, **_narrowed(domain_filter))
    ranked = sorted(found.paths, key=lambda path: (-path.reliability, str(path)))
    paths = [_path(path) for path in ranked[:max_paths]]
    counts = {"count": len(paths), "pruned_from": _weighed(found)}
    return {"success": True, "query": query, "paths": paths, **counts}


def paths_as_text(paths: Sequence[Mapping[str, Any]], query: str) -> str:
    """Paths for a model to read: the query first, the most reliable path last (seed 000)."""
    lines = [f"Query: {query}", "", "Relevant information:", ""]
    ranked = sorted(paths, key=lambda path: (path["reliability"], path["path"]))
    for number, path in enumerate(ranked, start=1):
        label = "Most relevant path" if number == len(paths) else "Path"
        lines.append(f"{label} ({path['reliability']:.2f}): {one_line(path['path'])}")
        for vertex in path["vertices"]:
            if vertex["description"]:
                said = " ".join(vertex["description"].split())  # it cannot pass for a path
                lines.append(f"  - {one_line(vertex['name'])}: {said}")
        lines.append("")
    return "\n".join(lines)


def retrieve(view: View, query: str, top_k: int = 5, max_hops: int = 0) -> dict[str, Any]:
    """The passages nearest by the walk (seed 004), and which step of its chain answered.

    The walk starts from the names of the query and what is `max_hops` around them.
    """
    plan = {
        "retriever": {"read_on": 0},
        "graph": {"widen": max_hops, "beam_search": False},
        "reranker": {"on": False, "tiers": [0, 1, 0]},
        "final_context": top_k,
        "history": 0,
        "paths": 0,
        "facts": 0,
    }
    budget = max(top_k * TOKENS_PER_RESULT, TOKENS_AT_LEAST)
    found = view.recall(query, budget=budget, plan=plan)
    results = [_result(passage, rank) for rank, passage in enumerate(found.passages, 1)]
    return {"query": query, "answered_by": _step(found), "results": results}


def _step(found: Recall) -> str:
    """Which step of the chain answered: each is taken when the one before cannot be."""
    if not any(one.parts.get("walk") for one in found.passages):
        return PRIOR
    reasons = {(one.stage, one.reason) for one in found.reasons}
    if ("walk", Reason.TIMEOUT) in reasons:
        return UNFINISHED_WALK
    return WALK_FROM_PRIOR if ("seeds", Reason.NOTHING_NAMED) in reasons else WALK_FROM_NAMES


def _result(passage: Passage, rank: int) -> dict[str, Any]:
    chunk = passage.chunk
    return {
        "chunk_id": chunk.id,
        "text": chunk.text,
        "score": passage.score,
        "rank": rank,
        "entities": list(passage.entities),
        "metadata": {
            "file_path": chunk.topic,
            "version": chunk.version,
            "chunk_index": chunk.ordinal,
            "heading": chunk.heading,
            "line": passage.line,
            "end_line": passage.end_line,
            "timestamp": iso(passage.valid_from),
            "belief": passage.belief.mean,
        },
    }


def _narrowed(domain: str | None) -> dict[str, Any]:
    if domain is None:
        return {}
    which, colon, rest = domain.partition(":")
    if colon and which in _FILTERS:
        return {which: rest}
    return {"glob" if _GLOB_SIGNS & set(domain) else "tag": domain}


def _as_of(view: View, version: int | TimeLike | None) -> View:
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
    for change in view.log(1, after=version + 1, upkeep=True):
        return view.at(known=change.at)
    raise InvalidInput(f"There was nothing here yet at version {version}.")


def _weighed(found: Recall) -> int:
    """How many paths there were before the best were kept."""
    stages = [one for one in found.telemetry if one.stage == "paths"]
    return max([len(found.paths), *(one.found + one.cut for one in stages)])


def _path(path: Path) -> dict[str, Any]:
    at, vertices, edges = path.start, [_vertex(path.start, "")], []
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
    shown = {"path": str(path), "vertices": vertices, "edges": edges}
    return {**shown, "reliability": path.reliability}


def _vertex(node: Node, description: str) -> dict[str, str]:
    return {"_id": _id(node), "name": node.name, "description": description}


def _id(node: Node) -> str:
    return f"{node.kind}/{node.name}"
