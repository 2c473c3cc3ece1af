"""HippoRAG as in source document 004: its names and arguments, over walks and neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hades.domain.answer import Passage, Recall, Subgraph
from hades.domain.graph import SIMILAR_TO, Reason
from hades.domain.rules import clean_number
from hades.domain.times import iso
from hades.errors import NotFound

if TYPE_CHECKING:
    from hades.memory import View

TOKENS_PER_RESULT, TOKENS_AT_LEAST = 600, 5_000
"""Budget for whole passages and their headings, so that no result is cut."""
WALK_FROM_NAMES, WALK_FROM_PRIOR = "walk from names", "walk from meaning and words"
UNFINISHED_WALK, PRIOR = "walk, not finished in time", "meaning and words"
SYNONYMS_AT_MOST = 20
"""The most similar names of one name."""
ALPHA = 0.85
"""The damping of source document 004; `recall` uses 0.5."""


class HippoRAG:
    """Passages ranked by personalised PageRank from the names in a query.

    >>> HippoRAG(memory).retrieve("Who maintains the parser?", top_k=3)      # doctest: +SKIP
    """

    def __init__(self, view: View) -> None:
        self.view = view

    def retrieve(self, query: str, top_k: int = 10, alpha: float = ALPHA) -> list[dict[str, Any]]:
        """Return the `top_k` best passages by a walk that follows an edge with chance `alpha`."""
        found: list[dict[str, Any]] = walked(self.view, query, top_k, alpha)["results"]
        return found

    def retrieve_multi_hop(
        self, query: str, max_hops: int = 3, top_k: int = 10
    ) -> list[dict[str, Any]]:
        """Return the `top_k` best passages; each hop makes the walk two edges longer."""
        found: list[dict[str, Any]] = hipporag(self.view, query, top_k, max_hops)["results"]
        return found

    def personalized_pagerank(
        self,
        query_nodes: Sequence[str],
        alpha: float = ALPHA,
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> dict[str, float]:
        """Return the scores of all nodes that a walk from these names reaches; their sum is 1.

        Unknown names are left out. `tol` bounds the work and the error of local push
        (`hades.graph.ppr`), which needs no `max_iter`.
        """
        import numpy as np

        from hades.graph.ppr import walk
        from hades.recall.paths.path_text import PathWriter

        self.view._bring_up_to_date(None)
        nodes = self._nodes(query_nodes)
        with self.view._engine.query_context(self.view._scope(), nodes=nodes) as query:
            graph = query.graph
            seeds = np.unique(graph.numbers(np.array(nodes, np.int64)))
            seeds = seeds[seeds >= 0]
            barred = graph.barred.copy()
            barred[seeds] = False
            weights = np.ones(len(seeds))
            found = walk(
                graph.adjacency, seeds, weights, damping=alpha, epsilon=tol, barred=barred
            ).best(graph.n)
            writer, total = PathWriter(query), max(float(found.scores.sum()), 1e-300)
            scores: dict[str, float] = {}
            for number, score in zip(found.nodes.tolist(), found.scores.tolist(), strict=True):
                name = writer.node(number).name
                scores[name] = scores.get(name, 0.0) + score / total
            return scores

    def rank_chunks_by_ppr(
        self, ppr_scores: Mapping[str, float], top_k: int = 10
    ) -> list[tuple[str, float]]:
        """Return the passages with the greatest sums of the scores of the names they mention."""
        import numpy as np

        clean_number(top_k, "top_k", least=1)
        known = {node: score for name, score in ppr_scores.items() for node in self._nodes([name])}
        with self.view._engine.query_context(self.view._scope(), nodes=[*known]) as query:
            graph = query.graph
            numbers = graph.numbers(np.array([*known], np.int64))
            own = (numbers >= graph.first_entity) & (numbers < graph.first_topic)
            counts, targets, _ = graph.adjacency.of(numbers[own])
            given = np.repeat(np.array([*known.values()], np.float64)[own], counts)
            is_chunk = targets < graph.first_entity
            sums = np.bincount(targets[is_chunk], given[is_chunk], len(graph.chunks))
            sums = np.where(query.mask, sums, 0.0)
            best = np.lexsort((np.arange(len(sums)), -sums))[:top_k]
            best = best[sums[best] > 0]
            hits = self.view._finder.hits(
                {int(graph.chunks[at]): float(sums[at]) for at in best}, self.view.as_of
            )
            return [(hit.chunk.id, hit.score) for hit in hits]

    def expand_with_synonyms(self, entity_nodes: Iterable[str]) -> list[str]:
        """Return the names and those that `resolve` found similar (`similar_to`), each once."""
        names = list(entity_nodes)
        for name in tuple(names):
            if self._nodes([name]):
                similar = self.view.neighbours(name, SYNONYMS_AT_MOST, relation=SIMILAR_TO)
                names += [neighbour.node.name for neighbour in similar]
        return list(dict.fromkeys(names))

    def get_entity_neighborhood(self, entity_id: str, hops: int = 1) -> Subgraph:
        """Return the nodes within `hops` of an entity, nearest first, and the edges among them."""
        return self.view.subgraph(entity_id, hops=hops)

    def _nodes(self, names: Iterable[str]) -> list[int]:
        """Return the nodes of the names that are known; `machine_learning` is also two words."""
        nodes = []
        for name in names:
            for spelling in dict.fromkeys((name, name.replace("_", " "))):
                try:
                    nodes.append(self.view._meant_node(spelling))
                except NotFound:
                    continue
                break
        return nodes


def hipporag(view: View, query: str, top_k: int = 5, max_hops: int = 0) -> dict[str, Any]:
    """Return the `top_k` best passages by HippoRAG's walk, and which fallback ranked them.

    Each of `max_hops` makes the walk two arcs longer on average.
    """
    clean_number(max_hops, "max_hops")
    return walked(view, query, top_k, 1 - 0.5 / (1 + max_hops))


def walked(view: View, query: str, top_k: int, damping: float) -> dict[str, Any]:
    """Return the `top_k` best passages by a walk from the names in the query.

    It is one recall with its own plan, in the format of source document 004.
    """
    clean_number(top_k, "top_k", least=1)
    plan = {
        "retriever": {"read_on": 0},
        "graph": {"damping": damping, "beam_search": False},
        "reranker": {"on": False, "fusion": [0, 1, 0]},
        "final_context": top_k,
        "history": 0,
        "paths": 0,
        "facts": 0,
    }
    budget = max(top_k * TOKENS_PER_RESULT, TOKENS_AT_LEAST)
    recall = view.recall(query, budget=budget, plan=plan)
    results = [_result(passage, rank) for rank, passage in enumerate(recall.passages, 1)]
    return {"query": query, "answered_by": _fallback(recall), "results": results}


def _fallback(recall: Recall) -> str:
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
