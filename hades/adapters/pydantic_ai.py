"""Pydantic AI: a toolset that gives an agent a memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from hades.adapters.access import framework
from hades.adapters.tools import memory_tools
from hades.errors import HadesError
from hades.memory import View

with framework("pydantic-ai-slim>=2"):
    from pydantic_ai import FunctionToolset, ModelRetry

INSTRUCTIONS = "Recall before you answer about the past; remember what will matter later."


def hades_toolset(
    memory: View, *, writes: bool = True, budget: int = 2_000
) -> FunctionToolset[Any]:
    """Return the tools `recall` and `history`, with `writes` also `remember` and `forget`.

    `budget` is the most tokens of a recalled context. An error of the memory is sent to the model,
    which may try again. Pydantic AI runs the tools in threads.
    """
    tools = [_retrying(tool) for tool in memory_tools(memory, writes=writes, budget=budget)]
    return FunctionToolset(tools, id="hades", instructions=INSTRUCTIONS)


def _retrying(tool: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(tool)
    def run(*args: Any, **given: Any) -> str:
        try:
            return tool(*args, **given)
        except HadesError as error:
            raise ModelRetry(str(error)) from error

    return run
