"""Names of tools in messages, in place of the commands that users have.

Messages suggest commands, such as `hades topics`. An agent has tools instead of a shell, so
messages to it name the tool. Only sentences of HADES are changed, never stored text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeVar

from hades.domain.answer import Answer, Recall
from hades.domain.context import BudgetedContext
from hades.serve.mcp.call import AgentCall
from hades.serve.mcp.tool import TOOLS, chosen_tools

Result = TypeVar("Result", Recall, Answer, BudgetedContext)

_COMMAND = re.compile(r"`hades ([a-z]{1,20}(?:-[a-z]{1,20}){0,2})[^`]{0,500}`")


def listed_tools(call: AgentCall) -> set[str]:
    """Return the names of the tools that a client sees: those it chose and its caller may use."""
    return {
        name
        for name in chosen_tools(call.tools)
        if call.may_write or ((about := TOOLS[name].annotations) and about.read_only_hint)
    }


def for_agent(call: AgentCall, message: str) -> str:
    """Return a message of HADES with tools in place of commands.

    A command without a tool, or with a tool that the client does not see, is left for the user to
    run.
    """
    if "`hades " not in message:
        return message
    listed = listed_tools(call)

    def named(match: re.Match[str]) -> str:
        tool = match[1].replace("-", "_")
        return f"`{tool}`" if tool in listed else f"“{match[1]}” (ask the user: it is no tool here)"

    return _COMMAND.sub(named, message)


def with_tools(call: AgentCall, result: Result) -> Result:
    """Return a recall, an answer or a context whose reasons name tools in place of commands."""
    if isinstance(result, Answer):
        return replace(result, recall=with_tools(call, result.recall))
    reasons = (replace(note, detail=for_agent(call, note.detail)) for note in result.reasons)
    return replace(result, reasons=tuple(reasons))
