"""Published numbers to compare with, in the metric each was reported in.

The numbers are those listed with the question sets (the README beside them); the systems'
own papers reported them. Only 2wiki is measured here on its authors' very corpus, with
half of its questions. Elsewhere a row says what to expect, not who is ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Published(NamedTuple):
    """What systems were reported to reach on a set."""

    metrics: tuple[str, ...]
    values: Mapping[str, tuple[float | None, ...]]
    """By system, in per cent; None where it was not reported."""
    note: str = ""


PUBLISHED: Mapping[str, Published] = {
    "2wiki": Published(
        ("recall@2", "recall@5"),
        {
            "BM25": (51.8, 61.9),
            "Contriever": (46.6, 57.5),
            "ColBERTv2": (59.2, 68.2),
            "NV-Embed-v2 (7B)": (None, 76.5),
            "LightRAG": (45.1, 59.1),
            "GraphRAG": (61.6, 77.3),
            "HippoRAG": (70.7, 89.1),
            "HippoRAG 2": (None, 90.4),
            "GFM-RAG": (90.8, 95.6),
        },
    ),
    "hotpotqa": Published(
        ("recall@5",), {"MiniLM, dense": (73.2,), "MiniLM, cross-encoder rerank": (82.4,)}
    ),
    "musique": Published(
        ("recall@2", "recall@5"),
        {
            "ColBERTv2": (37.9, 49.2),
            "HippoRAG": (40.9, 51.9),
            "NV-Embed-v2 (7B)": (None, 69.7),
            "HippoRAG 2": (None, 74.7),
        },
        "a like corpus, not the same",
    ),
    "locomo": Published(
        ("recall@5", "recall@10", "recall@25", "recall@50"),
        {"DRAGON": (56.7, 66.2, 76.7, 82.7)},
        "turn recall",
    ),
    "cosqa": Published(("mrr",), {"BM25": (33.8,)}),
    "scifact": Published(
        ("ndcg@10",), {"BM25": (67.9,), "Contriever": (64.9,), "BGE-base": (74.1,)}, "BEIR"
    ),
}
