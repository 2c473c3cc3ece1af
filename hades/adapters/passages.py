"""Passages of a recall for retrievers: the k best, with their details."""

from __future__ import annotations

from typing import Any

from hades.domain.answer import Passage
from hades.domain.plain import plain
from hades.domain.rules import clean_number
from hades.memory import View
from hades.recall.plan import Budget, Reranker

ROOM_TOKENS = 1_000
"""Room in the budget for each passage, so that the number of passages is the only limit."""


def best_passages(
    memory: View, question: str, k: int, scope: dict[str, Any]
) -> tuple[Passage, ...]:
    """Return the k best passages of a recall; `scope` has its tag, kind, glob, since and until."""
    clean_number(k, "number of passages", least=1)
    plan = {
        "final_context": k,
        "reranker": {"m": max(k, Reranker().m)},
        "budget": {"tokens": max(k * ROOM_TOKENS, Budget().tokens)},
    }
    return memory.recall(question, plan=plan, **scope).passages[:k]


def details(passage: Passage) -> dict[str, Any]:
    """Return where a passage stands, since when it holds and how sure it is, as plain JSON."""
    return {
        "source": passage.chunk.topic,
        "version": passage.chunk.version,
        "line": passage.line,
        "heading": passage.chunk.heading,
        "score": passage.score,
        "belief": passage.belief.mean,
        "valid_from": plain(passage.valid_from),
        "valid_to": plain(passage.valid_to),
    }
