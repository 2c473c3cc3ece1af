"""The prompt with which a user can start a conversation.

`answer_from_paths` follows the prompt of HiRAG × PathRAG: the model may use only what the paths
say, and cites path and node for every claim.
"""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver.prompts import Prompt
from pydantic import Field

from hades.context.text.layout import flat, shown, shown_cite
from hades.domain.plain import one_line
from hades.domain.quoting import unlabelled
from hades.serve.mcp import answers
from hades.serve.mcp.call import AgentCall, Ctx

BUDGET_TOKENS = 4_000

ONLY_FROM_PATHS = (
    "Answer using only the information in these paths, the passages they lead to and the facts. "
    "Cite the path number and the node ids for every claim, as (path 2: design/approach_x, "
    "bugs/bug_y), and the number of a fact, as (edge 4). "
    "If they do not contain the answer, say that the memory does not know."
)


async def answer_from_paths(
    ctx: Ctx,
    question: Annotated[str, Field(description="The question to answer.")],
    as_of: Annotated[str, Field(description="The world as of this time: 2024-03.")] = "",
    space: Annotated[str, Field(description="The space, if not the usual one.")] = "",
) -> str:
    """Ask for an answer that uses only the memory, and cites path numbers and node ids."""
    call = AgentCall.of(ctx, space, as_of)
    recall = await call.ask(lambda view: view.recall(question, budget=BUDGET_TOKENS))
    paths = answers.recalled_paths(recall)
    passages = [
        shown(f"[{shown_cite(passage.id)}]", passage.chunk.text) for passage in recall.passages
    ]
    facts = [f"[{fact.edge.cite}] {unlabelled(flat(fact.text))}" for fact in recall.facts]
    parts = [
        "Facts:",
        *(facts or ["none"]),
        "",
        "Passages:",
        *(passages or ["none"]),
        "",
        "Relational paths:",
        *(answers.path_text(recall.paths, (values["nodes"] for values in paths)) or ["none"]),
        "",
        f"Question: {one_line(question)}",
        "",
        f"Instructions: {ONLY_FROM_PATHS}",
    ]
    return "\n".join(parts)


PROMPT = Prompt.from_function(answer_from_paths, title="Answer only from memory, with citations")
