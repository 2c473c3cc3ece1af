"""HippoRAG's retrieval as one recall with its own plan, in the format of source document 004.

PathRAG's is in `hades.operations.pathrag`.
"""

from __future__ import annotations

from typing import Any

from hades.domain.answer import Passage, Recall
from hades.domain.graph import Reason
from hades.domain.times import iso
from hades.memory import View

TOKENS_PER_RESULT, TOKENS_AT_LEAST = 600, 5_000
"""Budget for whole passages and their headings, so that no result is cut."""
WALK_FROM_NAMES, WALK_FROM_PRIOR = "walk from names", "walk from meaning and words"
UNFINISHED_WALK, PRIOR = "walk, not finished in time", "meaning and words"


def retrieve(view: View, query: str, top_k: int = 5, max_hops: int = 0) -> dict[str, Any]:
    """Return the best passages by the walk (source document 004), and which fallback answered.

    The walk starts from the names in the query. Each of `max_hops` makes it two arcs longer on
    average.
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
    recall = view.recall(query, budget=budget, plan=plan)
    results = [_result(passage, rank) for rank, passage in enumerate(recall.passages, 1)]
    return {"query": query, "answered_by": _step(recall), "results": results}


def _step(recall: Recall) -> str:
    """Return which step of the fallback chain ordered the passages."""
    if not any(passage.parts.get("walk") for passage in recall.passages):
        return PRIOR
    reasons = {(note.stage, note.reason) for note in recall.reasons}
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
