"""Two graph retrievers without a language model, written from the papers, for comparison.

`HippoStyle` follows HippoRAG 2 (Gutiérrez et al. 2025, arXiv 2502.14802): personalised PageRank
over passages and names, from the names of the question and, weakly, from the passages near it. Its
triples come from a language model; here two names of one sentence are related. Its filter of
triples by a model is left out.

`LinearStyle` follows LinearRAG (Zhuang et al. 2025, arXiv 2510.10114): no relations; names are
activated sentence by sentence (semantic bridging), then PageRank ranks the passages.

Both read names with HADES's own reader of names and use its encoder, so that only the way of
retrieval differs. The constants are the defaults of the published code.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from bench.peers.sets import Passage
from hades.evals.sets import EvalQuestion
from hades.index.matcher import Match, Matcher
from hades.language.english.proper_names import extract_names
from hades.language.names import name_key
from hades.language.sentences import sentences
from hades.models.encoder import load_encoder

DAMPING = 0.5
PASSAGE_WEIGHT = 0.05
"""The weight of passages in PageRank's restart vector."""
SYNONYMS_FROM = 0.8
"""Names with a higher cosine are joined (HippoRAG)."""
PASSAGE_RATIO, ROUNDS, ACTIVE_FROM = 1.5, 2, 0.5
"""LinearRAG: the weight of similarity, the rounds of spreading, and the least activation."""


class Rebuilt:
    """A system without incremental updates: every change rebuilds it from all its texts."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder, self._texts = folder, dict[str, str]()

    def index(self, passages: Sequence[Passage]) -> None:
        """Add passages."""
        self._texts.update((passage.id, passage.text) for passage in passages)
        self._build()

    def delete(self, ids: Iterable[str]) -> None:
        """Remove passages."""
        for id_ in ids:
            del self._texts[id_]
        self._build()

    def close(self) -> None:
        """Write to disk what is kept there; here nothing."""

    def _build(self) -> None:
        raise NotImplementedError


class _Graph(Rebuilt):
    """Passages, their sentences and names, and the vectors of all of them."""

    module = "networkx"

    def __init__(self, folder: Path, kind: str) -> None:
        super().__init__(folder, kind)
        self._vectors: dict[str, Any] = {}
        self._encoder = load_encoder()

    def find(self, question: EvalQuestion, k: int) -> list[str]:
        """Return the ids of the k best passages."""
        vector = self._encoder.encode([question.text])[0]
        near = _scaled(self._passages @ vector)
        linked = self._linked(question.text)
        scores = near if not linked else self._walked(vector, near, linked)
        return [self._ids[at] for at in np.argsort(-scores, kind="stable")[:k]]

    def _walked(self, question: Any, near: Any, linked: dict[int, float]) -> Any:
        starts = self._starts(question, near, linked)
        ranks = nx.pagerank(self._net, alpha=DAMPING, personalization=starts, weight="weight")
        return np.array([ranks[id_] for id_ in self._ids])

    def _starts(self, question: Any, near: Any, linked: dict[int, float]) -> dict[Any, float]:
        raise NotImplementedError

    def _relate(self) -> None:
        """Add edges between names."""

    def _build(self) -> None:
        self._ids = list(self._texts)
        self._passages = self._encoded(list(self._texts.values()))
        rows = [
            (id_, sentence)
            for id_, text in self._texts.items()
            for line in text.split("\n")
            for sentence in sentences(line)
        ]
        self._names = list(dict.fromkeys(key for _, sentence in rows for key in _names(sentence)))
        self._sentences: list[tuple[str, list[int]]] = []
        self._mentions: dict[str, Counter[int]] = {id_: Counter() for id_ in self._ids}
        found = _mentioned(self._names, [sentence for _, sentence in rows])
        for (id_, sentence), names in zip(rows, found, strict=True):
            self._mentions[id_].update(names)
            if names:
                self._sentences.append((sentence, names))
        self._name_vectors = self._encoded(self._names)
        self._net = nx.Graph()
        self._net.add_nodes_from(self._ids)
        for id_, counts in self._mentions.items():
            all_counts = sum(counts.values())
            for name, count in counts.items():
                self._net.add_edge(id_, name, weight=count / all_counts)
        self._relate()

    def _encoded(self, texts: Sequence[str]) -> Any:
        """Return the vectors of texts; those that were computed before are kept."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            self._vectors.update(zip(new, self._encoder.encode(new), strict=True))
        return np.array([self._vectors[text] for text in texts]).reshape(
            len(texts), self._encoder.dims
        )

    def _linked(self, question: str) -> dict[int, float]:
        """Return the stored name nearest to each name of the question, with the cosine."""
        names = _names(question)
        if not names or not self._names:
            return {}
        cosines = self._name_vectors @ self._encoder.encode(names).T
        return {int(at): float(column[at]) for column in cosines.T if (at := column.argmax()) >= 0}


class HippoStyle(_Graph):
    """HippoRAG-style: PageRank over passages and related names."""

    def _relate(self) -> None:
        for _, names in self._sentences:
            for first, second in combinations(sorted(set(names)), 2):
                before = self._net.get_edge_data(first, second, {"weight": 0.0})["weight"]
                self._net.add_edge(first, second, weight=before + 1.0)
        cosines = np.triu(self._name_vectors @ self._name_vectors.T, 1)
        for first, second in np.argwhere(cosines >= SYNONYMS_FROM).tolist():
            self._net.add_edge(first, second, weight=float(cosines[first, second]))

    def _starts(self, question: Any, near: Any, linked: dict[int, float]) -> dict[Any, float]:
        passages = Counter(name for counts in self._mentions.values() for name in counts)
        names = {name: cosine / max(1, passages[name]) for name, cosine in linked.items()}
        return {**_weighted(self._ids, PASSAGE_WEIGHT * near), **names}


class LinearStyle(_Graph):
    """LinearRAG-style: names activated by sentences near the question, then PageRank."""

    def _build(self) -> None:
        super()._build()
        self._sentence_vectors = self._encoded([sentence for sentence, _ in self._sentences])
        self._sentences_of: dict[int, list[int]] = {}
        for at, (_, names) in enumerate(self._sentences):
            for name in names:
                self._sentences_of.setdefault(name, []).append(at)

    def _starts(self, question: Any, near: Any, linked: dict[int, float]) -> dict[Any, float]:
        cosines = self._sentence_vectors @ question
        weights, tier = dict(linked), dict.fromkeys(linked, 1)
        front, used = dict(linked), set[int]()
        for distance in range(2, ROUNDS + 2):
            reached: dict[int, float] = {}
            for name, score in front.items():
                fresh = [at for at in self._sentences_of.get(name, ()) if at not in used]
                if not fresh or score < ACTIVE_FROM:
                    continue
                best = max(fresh, key=lambda at: cosines[at])
                used.add(best)
                if (passed := score * float(cosines[best])) >= ACTIVE_FROM:
                    reached.update(dict.fromkeys(self._sentences[best][1], passed))
            for name, score in reached.items():
                weights[name] = weights.get(name, 0.0) + score
                tier[name] = distance
            front = reached
        bonus = [
            sum(weights[n] * math.log1p(counts[n]) / tier[n] for n in weights.keys() & counts)
            for counts in self._mentions.values()
        ]
        passages = PASSAGE_WEIGHT * (PASSAGE_RATIO * near + np.log1p(bonus))
        return {**_weighted(self._ids, passages), **weights}


def _mentioned(names: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
    """Return, for each text, the indexes of the names in it; if names overlap, only the longest."""
    found: list[dict[int, Match]] = [{} for _ in texts]
    for match in Matcher(names).match(texts):
        if match.capital:
            found[match.text][match.start] = match  # Of one start, the longest comes last.
    rows = []
    for matches in found:
        end, row = 0, list[int]()
        for match in matches.values():
            if match.start >= end:
                row.append(match.name)
                end = match.start + match.length
        rows.append(row)
    return rows


def _names(text: str) -> list[str]:
    """Return the keys of the names that a text introduces."""
    return [key for name in extract_names(text) if (key := name_key(name))]


def _scaled(values: Any) -> Any:
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.ones_like(values)


def _weighted(ids: Sequence[str], weights: Any) -> dict[Any, float]:
    return dict(zip(ids, map(float, weights), strict=True))
