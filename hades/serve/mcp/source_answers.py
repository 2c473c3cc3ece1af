"""What the tools of the source documents ask of a view, and a recall in the shapes they hand over.

Nothing is searched here: each tool recalls once. `hades.operations.pathrag` has the paths.
"""

from __future__ import annotations

from typing import Any

from hades.domain.answer import Passage, Recall
from hades.domain.graph import Reason
from hades.domain.times import iso
from hades.memory import View

TOKENS_PER_RESULT, TOKENS_AT_LEAST = 600, 5_000
"""Room for whole passages and their heads: the source documents want all their results."""
WALK_FROM_NAMES, WALK_FROM_PRIOR = "walk from names", "walk from meaning and words"
UNFINISHED_WALK, PRIOR = "walk, not finished in time", "meaning and words"


def retrieve(view: View, query: str, top_k: int = 5, max_hops: int = 0) -> dict[str, Any]:
    """The passages nearest by the walk (source document 004), and which step of its chain answered.

    The walk starts from the names of the query. Each of `max_hops` lets it go two arcs further
    in the mean.
    """
    plan = {
        "retriever": {"read_on": 0},
        "graph": {"damping": 1 - 0.5 / (1 + max_hops), "beam_search": False},
        "reranker": {"on": False, "fusion": [0, 1, 0]},
        "final_context": top_k,
        "history": 0,
        "paths": 0,
        "facts": 0,
    }
    budget = max(top_k * TOKENS_PER_RESULT, TOKENS_AT_LEAST)
    found = view.recall(query, budget=budget, plan=plan)
    results = [_result(passage, rank) for rank, passage in enumerate(found.passages, 1)]
    return {"query": query, "answered_by": _step(found), "results": results}


def _step(found: Recall) -> str:
    """Which step of the chain answered: each is taken when the one before cannot be."""
    if not any(one.parts.get("walk") for one in found.passages):
        return PRIOR
    reasons = {(one.stage, one.reason) for one in found.reasons}
    if ("walk", Reason.TIMEOUT) in reasons:
        return UNFINISHED_WALK
    return WALK_FROM_PRIOR if ("seeds", Reason.NOTHING_NAMED) in reasons else WALK_FROM_NAMES


def _result(passage: Passage, rank: int) -> dict[str, Any]:
    chunk = passage.chunk
    return {
        "chunk_id": chunk.id,
        "text": chunk.text,
        "score": passage.score,
        "rank": rank,
        "entities": list(passage.entities),
        "metadata": {
            "file_path": chunk.topic,
            "version": chunk.version,
            "chunk_index": chunk.ordinal,
            "heading": chunk.heading,
            "line": passage.line,
            "end_line": passage.end_line,
            "timestamp": iso(passage.valid_from),
            "belief": passage.belief.mean,
        },
    }
