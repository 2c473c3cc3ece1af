"""Prompts: what people start a conversation with.

`answer_from_paths` is the contract of seed 002, appendix B: only what the paths say, and
every claim cited by path and node.
"""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver.prompts import Prompt
from pydantic import Field

from hades.domain.names import one_line
from hades.serve.mcp import answers
from hades.serve.mcp.call import AgentCall, Ctx

BUDGET_TOKENS = 4_000

ONLY_FROM_PATHS = (
    "Answer using only the information in these paths, the passages they lead to and the facts. "
    "Cite the path number and the node ids for every claim, as (path 2: design/approach_x, "
    "bugs/bug_y), and the number of a fact, as (edge 4). "
    "Where they do not say it, answer that the memory does not know."
)

SAVE_SESSION = """Go through this conversation and save what will matter in a later one.

1. Look first: call `topics` and `recall` for what is known of these matters, so that you
   continue a topic rather than start a second one beside it.
2. Write with `remember`: decisions with their reasons, preferences, findings, the state of
   the work and what comes next. One topic for one thing, named like a path. Leave out what
   the files themselves say, small talk, and secrets such as keys and passwords.
3. State how things hang together with `relate`; where something stated before is no longer
   so, use `change_fact`.
4. End with a list of what you wrote, one line each, with the version as it is cited."""


async def answer_from_paths(
    ctx: Ctx,
    question: Annotated[str, Field(description="What to answer.")],
    as_of: Annotated[str, Field(description="As the world was then: 2024-03.")] = "",
    space: Annotated[str, Field(description="The space, if not the usual one.")] = "",
) -> str:
    """Asks for an answer from what is recalled alone, citing path numbers and node ids."""
    call = AgentCall.of(ctx, space, as_of)
    found = await call.ask(lambda view: view.recall(question, budget=BUDGET_TOKENS))
    paths = answers.recalled_paths(found)
    passages = [f"[{one_line(one.id)}] {one.chunk.text}" for one in found.passages]
    parts = [
        "Facts:",
        *(answers.cited_facts(found) or ["none"]),
        "",
        "Passages:",
        *(passages or ["none"]),
        "",
        "Relational paths:",
        *(answers.numbered_paths(paths) or ["none"]),
        "",
        f"Question: {question}",
        "",
        f"Instructions: {ONLY_FROM_PATHS}",
    ]
    return "\n".join(parts)


async def catch_up(topic: Annotated[str, Field(description="The topic's name.")]) -> str:
    """Asks for a short account of where a topic stands and what changed."""
    return (
        f"Bring me up to date on {topic!r}. Call `get` for that topic, `history` to see what "
        "changed and when, and `recall` for what is still open. Then tell me in at most ten "
        "lines: where it stands, what changed last and why, what was decided, what is open. "
        "Cite the versions you rely on, and say what the memory does not know."
    )


async def save_session(
    focus: Annotated[str, Field(description="What matters above all.")] = "",
) -> str:
    """Asks to write decisions, findings and open ends of this conversation into memory."""
    return f"{SAVE_SESSION}\n\nAbove all: {focus}" if focus.strip() else SAVE_SESSION


PROMPTS = (
    Prompt.from_function(answer_from_paths, title="Answer only from memory, with citations"),
    Prompt.from_function(catch_up, title="Catch up on a topic"),
    Prompt.from_function(save_session, title="Save what matters of this conversation"),
)
WRITING_PROMPTS = frozenset({"save_session"})
"""They ask for tools that write: a caller who only reads does not see them."""
