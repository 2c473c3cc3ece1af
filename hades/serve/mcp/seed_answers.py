"""What the seeds' tools ask of a view, and a recall in the shapes they hand over.

Nothing is searched here: each tool recalls once. `hades.operations.pathrag` has the paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hades.domain.answer import Passage
from hades.domain.names import name_key, words
from hades.domain.times import iso
from hades.memory import View

TOKENS_PER_RESULT, TOKENS_AT_LEAST = 600, 5_000
"""Room for whole passages and their heads: the seeds want all their results."""


def retrieve(view: View, query: str, top_k: int = 5) -> list[dict[str, Any]]:
    """The best passages (seed 004)."""
    budget = max(top_k * TOKENS_PER_RESULT, TOKENS_AT_LEAST)
    found = view.recall(query, budget=budget, plan={"final_context": top_k, "history": 0})
    names = dict.fromkeys(
        node.name for path in found.paths for node in path.nodes if node.kind != "chunk"
    )
    return [_result(passage, rank, names) for rank, passage in enumerate(found.passages, 1)]


def _result(passage: Passage, rank: int, names: Mapping[str, None]) -> dict[str, Any]:
    chunk = passage.chunk
    said = f" {' '.join(word.casefold() for word in words(f'{chunk.heading} {chunk.text}'))} "
    return {
        "chunk_id": chunk.id,
        "text": chunk.text,
        "score": passage.score,
        "rank": rank,
        "entities": [name for name in names if f" {name_key(name)} " in said],
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
