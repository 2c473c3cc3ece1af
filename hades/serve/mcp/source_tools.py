"""Tools with the names, arguments and results of PathRAG, HippoRAG and HiRAG × PathRAG."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp_types import CallToolResult
from pydantic import Field

from hades.compat.hipporag import hipporag
from hades.compat.pathrag import PathRAG, format_paths_for_prompt
from hades.context.text.layout import shown
from hades.domain.plain import one_line
from hades.errors import InvalidInput
from hades.memory import View
from hades.serve.mcp import answers
from hades.serve.mcp.call import AgentCall
from hades.serve.mcp.tool import Name, OptionalName, Question, Share, tool
from hades.serve.mcp.writing import Quorum, propose

PASSAGES = {"execution": 5, "planning": 10, "brainstorming": 20}
"""How many passages each mode returns, as in HippoRAG."""
PATHS_AT_MOST = 20
FIELDS = ("alias", "content", "evidence", "kind", "name", "relation", "target")

UpTo20 = Annotated[int, Field(ge=1, le=PATHS_AT_MOST)]


@tool()
async def pathrag_retrieve(
    call: AgentCall,
    query: Question,
    max_paths: UpTo20 = 5,
    domain_filter: OptionalName = "",
    as_of_version: int | OptionalName = "",
    format_for_llm: bool = False,
) -> CallToolResult:
    """Return the most reliable paths for a query, as PathRAG does."""

    def read(view: View) -> dict[str, Any]:
        return PathRAG(view).retrieve_paths(
            query, max_paths, domain_filter or None, as_of_version or None
        )

    results = await call.read(read, fresh=True)
    text = format_paths_for_prompt(results["paths"], query)
    if format_for_llm:
        results = results | {"paths": [], "formatted_prompt": text}
    return answers.reply(text, **results)


@tool()
async def hipporag_retrieve(
    call: AgentCall,
    query: Question,
    limit: UpTo20 | None = None,
    mode: Literal["execution", "planning", "brainstorming"] = "execution",
    max_hops: Annotated[int, Field(ge=0, le=3, description="How many hops further to walk.")] = 0,
) -> CallToolResult:
    """Return the passages nearest to a query by walks in the graph, as HippoRAG does."""
    wanted = limit or PASSAGES[mode]
    reply = await call.read(lambda view: hipporag(view, query, wanted, max_hops), fresh=True)
    blocks = [
        shown(f"[{hit['rank']}] {one_line(hit['chunk_id'])} ({hit['score']:.2f})", hit["text"])
        for hit in reply["results"]
    ]
    text = "\n\n".join(blocks) or f"No passages found for query: {query}"
    return answers.reply(text, **reply)


@tool()
async def graph_query_paths(
    call: AgentCall, query: Question, k: UpTo20 = 5, L: Annotated[int, Field(ge=2, le=5)] = 3
) -> CallToolResult:
    """Return k paths of at most L edges as text, with citations."""
    result = await call.read(lambda view: view.query_paths(query, k, longest=L), fresh=True)
    paths = [answers.path_values(number, path) for number, path in enumerate(result.paths, 1)]
    lines = answers.path_text(result.paths, (values["nodes"] for values in paths))
    text = "\n".join(lines) or f"No paths found for query: {query}"
    return answers.reply(text, query=query, paths=paths, notes=[*map(str, result.reasons)])


@tool(writes=True)
async def graph_entity_update(
    call: AgentCall,
    entity_id: Name,
    fields: Annotated[dict[str, str], Field(description="The fields of propose, by name.")],
    confidence: Share = 0.5,
    quorum: Quorum | None = None,
    idempotency_key: OptionalName = "",
) -> CallToolResult:
    """Propose a change to an entity; with the same idempotency_key it is done once."""
    for field in fields:
        if field not in FIELDS:
            raise InvalidInput(f"There is no field {field!r}: {', '.join(FIELDS)}.")
    arguments: dict[str, Any] = {**fields, "idempotency_key": idempotency_key, "quorum": quorum}
    if "name" in arguments:
        arguments["new_name"] = arguments.pop("name")
    return await propose(call, entity_id, confidence, **arguments)
