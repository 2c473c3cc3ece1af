"""The tools of MemGPT, for agents that know them; listed only with `--tools memgpt`.

Each tool is a method of `MemGPT`, with its arguments and its docstring.
"""

from __future__ import annotations

import inspect
from typing import Annotated, Any

from mcp_types import CallToolResult
from pydantic import Field

from hades.compat.memgpt import PAGE_ITEMS, MemGPT
from hades.context.text.layout import excerpt, joined, shown
from hades.context.text.states import core_block_lines
from hades.domain.context import CoreBlock
from hades.domain.plain import one_line
from hades.domain.topics import Hit, State
from hades.operations.declare import KEYWORD
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

    async def run(call: AgentCall, **arguments: Any) -> CallToolResult:
        def do(memory: Any) -> Any:
            return method(MemGPT(memory), **arguments)

        result = await (call.write(do) if writes else call.read(do, fresh=True))
        return _answer(result, arguments.get("page", 0), call.space)

    run.__name__ = name
    run.__doc__ = method.__doc__
    own = list(inspect.signature(method).parameters.values())[1:]
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter.replace(kind=KEYWORD, annotation=ARGUMENTS[parameter.name]) for parameter in own]
    )
    tool("space", memgpt=True, writes=writes)(run)


def _answer(result: CoreBlock | State | list[Any], page: int, space: str) -> CallToolResult:
    if isinstance(result, CoreBlock):
        return answers.reply(joined(core_block_lines(result)), space=space, block=result)
    if isinstance(result, State):
        return answers.written(result, space, f"Kept as {one_line(result.id)}.")
    hits = [(hit.chunk.id, hit.chunk.text) for hit in result if isinstance(hit, Hit)]
    states = [(state.id, state.content) for state in result if isinstance(state, State)]
    results = [{"cite": cite, "text": excerpt(text)} for cite, text in hits + states]
    lines = [shown(f"[{one_line(item['cite'])}]", item["text"]) for item in results]
    following = page + 1 if len(result) == PAGE_ITEMS else None
    lines += [f"More: pass page={following}."] if following else []
    text = "\n".join(lines) or "Nothing found: use other words, or an earlier page."
    return answers.reply(text, space=space, results=results, next=following)


for _name in vars(MemGPT):
    if not _name.startswith("_"):
        _declare(_name)
MEMGPT.add("get")  # reads blocks, such as core/human
