"""Agents on LangGraph (extra `agents`): query, memory and planning agents, and a checkpointer.

Without a language model, rules decide, and the keeper chooses the sentences to store. With a
language model, a decision is a JSON object that is checked; if it cannot be used, the rules decide.
LangGraph is imported when the first agent is created.
"""

from __future__ import annotations

import importlib.util

from hades.errors import lacking


def require_langgraph() -> None:
    """Raise Unavailable, naming the extra to install, if LangGraph is missing."""
    if importlib.util.find_spec("langgraph") is None:
        raise lacking("Agents need", "agents")
