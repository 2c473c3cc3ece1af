"""The tools the seeds name, over the same calls: pathrag_retrieve (seed 000),
hipporag_retrieve (004), graph_query_paths and graph_entity_update (002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from hades.domain.answer import Mode
from hades.recall import compat
from hades.serve.mcp import answers
from hades.serve.mcp.call import Call
from hades.serve.mcp.reading import ModeName
from hades.serve.mcp.tool import AsOf, KnownAt, Question, Reply, Space, tool
from hades.store.port import Progress
from hades.view import View

RESULTS = {Mode.EXECUTION: 5, Mode.PLANNING: 10, Mode.BRAINSTORMING: 20}
"""Of seed 004's modes."""
PATHS_AT_MOST = 20


@dataclass(frozen=True, slots=True)
class RetrievedPaths:
    """Paths in the shape of seed 000, or the prompt made of them."""

    success: bool
    query: str
    count: int
    paths: list[dict[str, Any]]
    pruned_from: int | None = None
    formatted_prompt: str | None = None


@dataclass(frozen=True, slots=True)
class RetrievedPassages:
    """Passages in the shape of seed 004, best first."""

    query: str
    results: list[compat.RetrievalResult]


@dataclass(frozen=True, slots=True)
class PathCitation:
    """What path number n leads through, and where it is stated (seed 002)."""

    path: int
    nodes: list[str]
    evidence: list[str]


@dataclass(frozen=True, slots=True)
class QueriedPaths:
    """Paths as strings, best first, and what to cite for each."""

    query: str
    paths: list[str]
    citations: list[PathCitation]


@tool("Retrieve paths (PathRAG)")
async def pathrag_retrieve(
    call: Call,
    query: Question,
    max_paths: Annotated[int, Field(description="Paths at most.", ge=1, le=20)] = 5,
    domain_filter: Annotated[
        str | None,
        Field(description="tag:decision, kind:code or glob:docs/*.", max_length=2_000),
    ] = None,
    as_of_version: Annotated[
        int | str | None, Field(description="A change number or a time to ask as of.")
    ] = None,
    format_for_llm: Annotated[
        bool, Field(description="Give a prompt made of the paths instead.")
    ] = False,
    space: Space = None,
) -> Reply[RetrievedPaths]:
    """The most reliable paths for a query, as PathRAG gives them.

    For programs written against PathRAG; recall gives paths and passages together.
    """

    def run(view: View, _told: Progress) -> dict[str, Any]:
        return compat.retrieve_paths(view, query, max_paths, domain_filter, as_of_version)

    found = await call.ask(call.space(space), run)
    if not found["success"]:
        return Reply(RetrievedPaths(False, query, 0, []), found["error"])
    prompt = compat.format_paths_for_prompt(found["paths"], query)
    text = prompt if found["paths"] else f"No paths found for query: {query}"
    told = RetrievedPaths(
        success=True,
        query=query,
        count=found["count"],
        paths=[] if format_for_llm else found["paths"],
        pruned_from=found["pruned_from"],
        formatted_prompt=text if format_for_llm else None,
    )
    return Reply(told, text)


@tool("Retrieve passages (HippoRAG)")
async def hipporag_retrieve(
    call: Call,
    query: Question,
    limit: Annotated[
        int | None, Field(description="Passages at most. By default the mode's.", ge=1, le=20)
    ] = None,
    mode: Annotated[ModeName, Field(description="5, 10 or 20 passages.")] = Mode.EXECUTION.value,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    space: Space = None,
) -> Reply[RetrievedPassages]:
    """The passages nearest to a query by walks through the graph, as HippoRAG gives them.

    For programs written against HippoRAG; recall gives paths and passages together.
    """
    wanted = limit or RESULTS[Mode(mode)]
    results = await call.ask(
        call.space(space),
        lambda view, _told: compat.retrieve(view, query, wanted),
        as_of=as_of,
        known_at=known_at,
    )
    lines = [f"[{one.rank}] {one.chunk_id} ({one.score:.2f})\n{one.text}" for one in results]
    text = "\n\n".join(lines) or f"No passages found for query: {query}"
    return Reply(RetrievedPassages(query, results), text)


@tool("Query paths")
async def graph_query_paths(
    call: Call,
    query: Question,
    k: Annotated[int, Field(description="Paths at most.", ge=1, le=20)] = 5,
    L: Annotated[int, Field(description="Edges of a path at most.", ge=1, le=5)] = 3,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    space: Space = None,
) -> Reply[QueriedPaths]:
    """How the things a question names hang together: paths as text, each with citations.

    Use it while planning an answer that must rest on stated relations: cite the path's
    number and the ids of its nodes.
    """
    # Longer paths fall away afterwards: ask for as many as a plan gives.
    plan = {"paths": PATHS_AT_MOST, "graph": {"hops": L}}
    found = await call.ask(
        call.space(space),
        lambda view, told: view.recall(query, plan=plan, on_progress=told),
        as_of=as_of,
        known_at=known_at,
    )
    best = [path for path in found.paths if len(path.steps) <= L][:k]
    paths = [answers.found_path(number, one) for number, one in enumerate(best, 1)]
    told = QueriedPaths(
        query=query,
        paths=[one.path for one in paths],
        citations=[PathCitation(one.number, one.nodes, one.evidence) for one in paths],
    )
    return Reply(told, "\n".join(answers.numbered(paths)) or f"No paths found for query: {query}")
