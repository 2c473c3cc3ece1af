"""The tools of MemGPT, for agents that know them: listed with `--tools memgpt` alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from mcp_types import CallToolResult
from pydantic import Field

from hades.context.pack import indented
from hades.domain.context import CoreBlock
from hades.domain.names import one_line
from hades.operations.memgpt import PAGE_ITEMS, MemGPT
from hades.serve.mcp import answers
from hades.serve.mcp.call import AgentCall
from hades.serve.mcp.tool import MEMGPT, Name, NoteText, Question, Time, tool

MEMGPT.add("get")  # how core blocks are read: core/human
Page = Annotated[int, Field(ge=0, le=90, description="0 is the first.")]


@tool("space", writes=True, memgpt=True)
async def core_memory_append(call: AgentCall, label: Name, content: NoteText) -> CallToolResult:
    """Add a line to a block of core memory, such as human or persona."""
    edited = await call.write(lambda memory: MemGPT(memory).core_memory_append(label, content))
    return _block(edited, call.space)


@tool("space", writes=True, memgpt=True)
async def core_memory_replace(
    call: AgentCall, label: Name, old_content: NoteText, new_content: NoteText
) -> CallToolResult:
    """Replace a text in a block of core memory by another; empty: take it out."""
    edited = await call.write(
        lambda memory: MemGPT(memory).core_memory_replace(label, old_content, new_content)
    )
    return _block(edited, call.space)


@tool("space", memgpt=True)
async def conversation_search(call: AgentCall, query: Question, page: Page = 0) -> CallToolResult:
    """Search earlier conversations, also what no longer stands in the context."""
    found = await call.read(lambda view: _tools(view).conversation_search(query, page), fresh=True)
    return _listed([(one.chunk.id, one.chunk.text) for one in found], page, call.space)


@tool("space", memgpt=True)
async def conversation_search_date(
    call: AgentCall, start_date: Time, end_date: Time, page: Page = 0
) -> CallToolResult:
    """Conversations that began in that time, as 2024-03-01 to 2024-04-01."""
    found = await call.read(
        lambda view: _tools(view).conversation_search_date(start_date, end_date, page)
    )
    return _listed([(one.id, one.content) for one in found], page, call.space)


@tool("space", writes=True, memgpt=True)
async def archival_memory_insert(call: AgentCall, content: NoteText) -> CallToolResult:
    """Keep a text for good, worded so that it can be found later."""
    state = await call.write(lambda memory: MemGPT(memory).archival_memory_insert(content))
    return answers.written(state, call.space, f"Kept as {one_line(state.id)}.")


@tool("space", memgpt=True)
async def archival_memory_search(
    call: AgentCall, query: Question, page: Page = 0
) -> CallToolResult:
    """Search all that is remembered, by meaning and words."""
    found = await call.read(
        lambda view: _tools(view).archival_memory_search(query, page), fresh=True
    )
    return _listed([(one.chunk.id, one.chunk.text) for one in found], page, call.space)


def _tools(view: Any) -> MemGPT:
    """The tools that only read need no more than a view."""
    return MemGPT(view)


def _block(block: CoreBlock, space: str) -> CallToolResult:
    head = f"{one_line(block.topic)}@{block.version}, {block.tokens} of {block.limit} tokens:"
    return answers.reply(f"{head}\n{indented(block.text)}", space=space, block=block)


def _listed(found: Sequence[tuple[str, str]], page: int, space: str) -> CallToolResult:
    shown = [(cite, answers.excerpt(text)) for cite, text in found]
    lines = [f"[{one_line(cite)}]\n{indented(text)}" for cite, text in shown]
    following = page + 1 if len(found) == PAGE_ITEMS else None
    if following is not None:
        lines.append(f"More: pass page={following}.")
    results = [{"cite": cite, "text": text} for cite, text in shown]
    text = "\n".join(lines) or "Nothing found: ask in other words, or for an earlier page."
    return answers.reply(text, space=space, results=results, next=following)
