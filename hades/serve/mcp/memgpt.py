"""The tools of MemGPT, for agents that know them: listed with `--tools memgpt` alone.

Each is a method of `MemGPT`, with its arguments and its words.
"""

from __future__ import annotations

import inspect
from typing import Annotated, Any

from mcp_types import CallToolResult
from pydantic import Field

from hades.context.text.layout import excerpt, joined, shown
from hades.context.text.states import core_block_lines
from hades.domain.context import CoreBlock
from hades.domain.plain import one_line
from hades.domain.topics import Hit, State
from hades.operations.memgpt import PAGE_ITEMS, MemGPT
from hades.serve.mcp import answers
from hades.serve.mcp.call import AgentCall
from hades.serve.mcp.tool import MEMGPT, Name, NoteText, Question, Time, tool

ARGUMENTS = {
    **dict.fromkeys(("content", "old_content", "new_content"), NoteText),
    **dict.fromkeys(("start_date", "end_date"), Time),
    "label": Annotated[Name, Field(description="Such as human or persona.")],
    "query": Question,
    "page": Annotated[int, Field(ge=0, le=90)],
}


def _declare(name: str) -> None:
    """Make a method of `MemGPT` a tool."""
    method = getattr(MemGPT, name)
    writes = "search" not in name

    async def run(call: AgentCall, **said: Any) -> CallToolResult:
        def do(memory: Any) -> Any:
            return method(MemGPT(memory), **said)

        done = await (call.write(do) if writes else call.read(do, fresh=True))
        return _answer(done, said.get("page", 0), call.space)

    run.__name__, run.__doc__ = name, method.__doc__
    own = list(inspect.signature(method).parameters.values())[1:]
    keyword = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(kind=keyword, annotation=ARGUMENTS[one.name]) for one in own]
    )
    tool("space", memgpt=True, writes=writes)(run)


def _answer(done: CoreBlock | State | list[Any], page: int, space: str) -> CallToolResult:
    if isinstance(done, CoreBlock):
        return answers.reply(joined(core_block_lines(done)), space=space, block=done)
    if isinstance(done, State):
        return answers.written(done, space, f"Kept as {one_line(done.id)}.")
    found = [(one.chunk.id, one.chunk.text) if isinstance(one, Hit) else (one.id, one.content)
             for one in done]  # fmt: skip
    results = [{"cite": cite, "text": excerpt(text)} for cite, text in found]
    lines = [shown(f"[{one_line(one['cite'])}]", one["text"]) for one in results]
    following = page + 1 if len(done) == PAGE_ITEMS else None
    lines += [f"More: pass page={following}."] if following else []
    text = "\n".join(lines) or "Nothing found: ask in other words, or for an earlier page."
    return answers.reply(text, space=space, results=results, next=following)


for _name in vars(MemGPT):
    if not _name.startswith("_"):
        _declare(_name)
MEMGPT.add("get")  # how blocks are read: core/human
