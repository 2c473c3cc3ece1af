"""Published numbers to compare with, in the metric each was reported in.

The numbers are those listed with the question sets (the README beside them); the systems'
own papers reported them. Only 2wiki is measured here on its authors' very corpus, with
half of its questions. Elsewhere a row says what to expect, not who is ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """What a system was reported to reach on a set."""

    system: str
    values: Mapping[str, float]
    """By metric, from 0 to 1."""
    note: str = ""


def _recalls(system: str, note: str = "", **per_cent: float) -> Published:
    values = {f"recall@{at.removeprefix('r')}": value / 100 for at, value in per_cent.items()}
    return Published(system, values, note)


_LIKE = "a like corpus, not the same"

PUBLISHED: Mapping[str, tuple[Published, ...]] = {
    "2wiki": (
        _recalls("BM25", r2=51.8, r5=61.9),
        _recalls("Contriever", r2=46.6, r5=57.5),
        _recalls("ColBERTv2", r2=59.2, r5=68.2),
        _recalls("NV-Embed-v2 (7B)", r5=76.5),
        _recalls("LightRAG", r2=45.1, r5=59.1),
        _recalls("GraphRAG", r2=61.6, r5=77.3),
        _recalls("HippoRAG", r2=70.7, r5=89.1),
        _recalls("HippoRAG 2", r5=90.4),
        _recalls("GFM-RAG", r2=90.8, r5=95.6),
    ),
    "hotpotqa": (
        _recalls("MiniLM, dense", r5=73.2),
        _recalls("MiniLM, cross-encoder rerank", r5=82.4),
    ),
    "musique": (
        _recalls("ColBERTv2", _LIKE, r2=37.9, r5=49.2),
        _recalls("HippoRAG", _LIKE, r2=40.9, r5=51.9),
        _recalls("NV-Embed-v2 (7B)", _LIKE, r5=69.7),
        _recalls("HippoRAG 2", _LIKE, r5=74.7),
    ),
    "locomo": (_recalls("DRAGON", "turn recall", r5=56.7, r10=66.2, r25=76.7, r50=82.7),),
    "cosqa": (Published("BM25", {"mrr": 0.338}),),
    "scifact": (
        Published("BM25", {"ndcg@10": 0.679}, "BEIR"),
        Published("Contriever", {"ndcg@10": 0.649}, "BEIR"),
        Published("BGE-base", {"ndcg@10": 0.741}, "BEIR"),
    ),
}

HEADLINES: Mapping[str, str] = {"locomo": "recall@10", "scifact": "ndcg@10", "cosqa": "mrr"}
"""The metric a set is usually compared by; others by recall@5."""


def headline(dataset: str) -> str:
    """The metric a set is usually compared by."""
    return HEADLINES.get(dataset, "recall@5")


def published(dataset: str) -> tuple[Published, ...]:
    """What others reached on a set; nothing where that is not known."""
    return PUBLISHED.get(dataset, ())
