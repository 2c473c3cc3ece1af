"""The tools the seeds name, over the same calls: pathrag_retrieve (seed 000),
hipporag_retrieve (004), graph_query_paths and graph_entity_update (002).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from hades.domain.answer import Mode
from hades.domain.names import one_line
from hades.domain.plain import plain
from hades.errors import InvalidInput
from hades.memory import Memory, View
from hades.recall import compat
from hades.serve.mcp import answers
from hades.serve.mcp.call import Call
from hades.serve.mcp.reading import ModeName
from hades.serve.mcp.tool import (
    NOTE_CHARACTERS_AT_MOST,
    AsOf,
    Evidence,
    KnownAt,
    Name,
    Question,
    Reply,
    Space,
    tool,
)
from hades.store.records import Progress

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


@dataclass(frozen=True, slots=True)
class Proposed:
    """A change that was applied, or waits for somebody to approve it."""

    proposal: int
    status: str
    """`applied` or `waiting`."""
    confidence: float
    threshold: float
    repeated: bool
    """This key was sent before: nothing was done again."""


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
        raise InvalidInput(found["error"])
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
    lines = [
        f"[{one.rank}] {one_line(one.chunk_id)} ({one.score:.2f})\n{one.text}" for one in results
    ]
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
    found = await call.recall(call.space(space), query, as_of=as_of, known_at=known_at, plan=plan)
    best = [path for path in found.paths if len(path.steps) <= L][:k]
    paths = [answers.found_path(number, one) for number, one in enumerate(best, 1)]
    told = QueriedPaths(
        query=query,
        paths=[one.path for one in paths],
        citations=[PathCitation(one.number, one.nodes, one.evidence) for one in paths],
    )
    return Reply(told, "\n".join(answers.numbered(paths)) or f"No paths found for query: {query}")


@tool("Propose a change", writes=True)
async def graph_entity_update(
    call: Call,
    entity: Name,
    confidence: Annotated[float, Field(description="How sure you are, 0 to 1.", ge=0, le=1)],
    idempotency_key: Annotated[
        str,
        Field(
            description="Your own name for this change: sending it again does it only once.",
            min_length=1,
            max_length=200,
        ),
    ],
    relation: Annotated[
        str | None, Field(description="With target: states a fact.", max_length=2_000)
    ] = None,
    target: Annotated[
        str | None, Field(description="What the relation leads to.", max_length=2_000)
    ] = None,
    content: Annotated[
        str | None,
        Field(
            description="The entity's new text, where it is a topic.",
            max_length=NOTE_CHARACTERS_AT_MOST,
        ),
    ] = None,
    alias: Annotated[
        str | None, Field(description="Another name it goes by.", max_length=2_000)
    ] = None,
    kind: Annotated[
        str | None,
        Field(description="What it is: person, method, paper …", max_length=2_000),
    ] = None,
    evidence: Evidence = "",
    space: Space = None,
) -> Reply[Proposed]:
    """Propose a change to an entity or topic you are not quite sure of: one change a call.

    Give a relation with its target, or a content, an alias or a kind. Where you are sure
    enough (0.8) it is applied at once; else it waits until an operator approves it, and
    changes nothing until then. For what you know, use remember, relate or change_fact.
    """
    where = call.space(space)
    wish = {
        "relation": relation,
        "target": target,
        "content": content,
        "alias": alias,
        "kind": kind,
        "evidence": evidence or None,
        "confidence": confidence,
    }
    given: dict[str, Any] = {key: one for key, one in wish.items() if one is not None}
    request = json.dumps({"subject": entity, **given}, sort_keys=True)

    def propose(memory: Memory) -> tuple[dict[str, Any], bool]:
        return memory.once(
            f"graph_entity_update:{idempotency_key}",
            request,
            lambda: plain(memory.propose(entity, **given)),
        )

    made, repeated = await call.write(where, propose)
    told = Proposed(made["id"], made["status"], made["confidence"], made["threshold"], repeated)
    again = ", as it was before" if repeated else ""
    if told.status == "waiting":
        return Reply(told, f"Proposal {told.proposal} waits for approval{again}.")
    return Reply(told, f"Proposal {told.proposal} is {told.status}{again}.")
