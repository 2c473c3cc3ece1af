"""Overview questions over the arXiv papers: themes of the hierarchy against groups of plain hits.

A theme is right if its label or summary matches one of the right topics of `evals/overview`.
Constants were chosen on the questions at even places; the others are reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from sklearn.cluster import AgglomerativeClustering

import hades
from bench.arxiv import memory_of, papers_file
from bench.ingest import ROOT
from bench.table import note, show
from hades.hierarchy.labels import CentralText, ModelSummaries, described

HITS = 24
SETS = ("even, for choosing", "odd, reported")


def run(*, small: bool = False) -> None:
    """Measure the themes of answers."""
    print("## Overview questions\n")
    papers = papers_file()
    if papers is None:
        print("Skipped: set HADES_DATA to a folder that holds arxiv/papers.jsonl.\n")
        return
    questions = json.loads((ROOT / "evals" / "overview" / "arxiv.json").read_text())
    with hades.open(memory_of(papers, 1_000 if small else 10_000)) as memory:
        note("organising")
        made = memory.organise(if_due=True)
        systems: dict[str, Callable[[str], list[str]]] = {
            "themes of the hierarchy": lambda question: _themes(memory, question),
            f"peer: {HITS} plain hits in groups": lambda question: _grouped(memory, question),
        }
        rows = []
        for name, themes in systems.items():
            for half, which in enumerate(SETS):
                scores = np.array([_score(themes, row) for row in questions[half::2]])
                found, right = scores.mean(axis=0)
                rows.append((name, which, f"{found:.2f}", f"{right:.2f}"))
    hierarchy = made.hierarchy
    counts = "" if hierarchy is None else f"{hierarchy.clusters} clusters, {hierarchy.groups} above"
    show(
        f"{len(questions)} questions; {counts}",
        ("system", "questions", "right topics that a theme has", "themes that are right"),
        rows,
    )


def _score(themes: Callable[[str], list[str]], row: Mapping[str, object]) -> tuple[float, float]:
    """Return the share of the right topics that were found, and of the themes that are right."""
    said = themes(str(row["question"]))
    topics = row["topics"]
    assert isinstance(topics, Mapping)
    patterns = [re.compile(rf"\b({words})", re.I) for words in topics.values()]
    found = [any(pattern.search(theme) for theme in said) for pattern in patterns]
    right = [any(pattern.search(theme) for pattern in patterns) for theme in said]
    return sum(found) / len(found), sum(right) / max(1, len(right))


def _themes(memory: hades.Memory, question: str) -> list[str]:
    themes = memory.recall(question).themes
    return [f"{theme.cluster.label}. {theme.cluster.summary}" for theme in themes]


def _grouped(memory: hades.Memory, question: str) -> list[str]:
    """Return the labels and summaries of the plain hits, grouped like the themes are labelled."""
    hits = memory.search(question, limit=HITS)
    groups = max(2, len(_themes(memory, question)))
    vectors = memory.inside.finder.encoder.encode([hit.chunk.text for hit in hits])
    labels = AgglomerativeClustering(min(groups, len(hits))).fit_predict(vectors)
    texts = [
        CentralText(f"{hit.chunk.topic}@{hit.chunk.version}", hit.chunk.heading, hit.chunk.text)
        for hit in hits
    ]
    parts: Sequence[list[CentralText]] = [
        [text for text, of in zip(texts, labels, strict=True) if of == label]
        for label in sorted(set(labels))
    ]
    means = np.stack([vectors[labels == label].mean(axis=0) for label in sorted(set(labels))])
    centroids = means / np.linalg.norm(means, axis=1, keepdims=True)
    made = described(parts, centroids, memory.inside.finder.encoder, ModelSummaries(None))
    return [f"{label}. {text}" for label, text in made]
