"""HippoRAG: a class with its names and arguments, over walks and neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from hades.compat.source_class import SourceClass
from hades.domain.answer import Passage, Recall, Subgraph
from hades.domain.graph import SIMILAR_TO, NodeKind, Reason, row_of
from hades.domain.rules import clean_list, clean_mapping, clean_number
from hades.domain.times import iso
from hades.domain.topics import Chunk, PlacedChunk
from hades.errors import InvalidInput, NotFound
from hades.language.names import name_key
from hades.operations.indexing import catch_up, ready

if TYPE_CHECKING:
    from hades.memory import View

TOKENS_PER_RESULT = 600
TOKENS_AT_LEAST = 5_000
"""Budget for whole passages and their headings, so that no result is cut."""
WALK_FROM_NAMES = "walk from names"
WALK_FROM_PRIOR = "walk from meaning and words"
UNFINISHED_WALK = "walk, not finished in time"
PRIOR = "meaning and words"
SYNONYMS_AT_MOST = 20
"""The largest number of similar names that one name adds."""
REACHED_AT_MOST = 500
HOPS_AT_MOST = 5
"""The most names that a search by hops returns, and the most hops."""
TOLERANCE = 1e-6
ALPHA = 0.85
"""The damping of HippoRAG; `recall` uses 0.5."""


class HippoRAG(SourceClass):
    """Passages ranked by personalised PageRank from the names in a query.

    >>> HippoRAG(memory).retrieve("Who maintains the parser?", top_k=3)      # doctest: +SKIP
    """

    def __init__(self, view: View | None = None) -> None:
        super().__init__(view, {})

    def retrieve(self, query: str, top_k: int = 10, alpha: float = ALPHA) -> list[dict[str, Any]]:
        """Return the `top_k` best passages by a walk that follows an edge with chance `alpha`."""
        return list(hipporag(self.view, query, top_k, alpha=alpha)["results"])

    def retrieve_multi_hop(
        self, query: str, max_hops: int = 3, top_k: int = 10
    ) -> list[dict[str, Any]]:
        """Return the `top_k` best passages, breadth first and then by a walk.

        The walk starts from all names within `max_hops` of those in the query; each hop halves what
        a name starts with. A query without known names is answered by a longer walk.
        """
        reached = self.multi_hop_search(self.extract_entities(query), max_hops)
        if not reached:
            return list(hipporag(self.view, query, top_k, max_hops)["results"])
        starts = {name: 0.5**hops for name, hops in reached.items()}
        scores = self._walked(starts, ALPHA, TOLERANCE)
        ranked = self._ranked(scores, top_k)
        placed = self.view.inside.store.chunks.find(list(ranked), self.view.as_of)
        rows = [(placed[row], *ranked[row]) for row in ranked if row in placed]
        return [
            _result(place.chunk, place, score, rank, names)
            for rank, (place, score, names) in enumerate(rows, 1)
        ]

    def extract_entities(self, query: str) -> list[str]:
        """Return the known names in a query."""
        from hades.recall.question.names import names_in

        ready(self.view.inside, query, None)
        with self.view.inside.query_context(question=query) as context:
            numbers = names_in(query, context.graph, context.lookup)
            entities = context.graph.entities[numbers].tolist()
            return list(context.store.entities.names(entities).values())

    def multi_hop_search(self, start_nodes: Sequence[str], max_hops: int = 3) -> dict[str, int]:
        """Return the names within `max_hops` of some names, nearest first, each with its hops.

        A hop leads along an edge, or to a name in the same passage. Names that `resolve` found
        similar to a start are starts too. Unknown names are left out.
        """
        import numpy as np

        if (clean_number(max_hops, "max_hops") or 0) > HOPS_AT_MOST:
            raise InvalidInput(f"`max_hops` is at most {HOPS_AT_MOST}, not {max_hops}.")
        names = self.expand_with_synonyms(start_nodes)
        nodes = [node for name in names for node in self._node(name)]
        with self.view.inside.query_context(nodes=nodes) as query:
            graph = query.graph
            numbers = graph.numbers(np.array(nodes, np.int64))
            frontier = np.unique(numbers[numbers >= 0])
            reached = dict.fromkeys(frontier.tolist(), 0)
            open_nodes = ~query.barred
            for hop in range(1, max_hops + 1):
                near = np.unique(graph.adjacency.of(frontier)[1])
                near = near[open_nodes[near]]
                through = graph.adjacency.of(near[near < graph.first_entity])[1]
                near = np.union1d(near, through[open_nodes[through]])
                near = near[near >= graph.first_entity]
                new = [number for number in near.tolist() if number not in reached]
                frontier = np.array(new[: REACHED_AT_MOST - len(reached)], np.int64)
                reached |= dict.fromkeys(frontier.tolist(), hop)
            hops = {graph.node(number): hop for number, hop in reached.items()}
            known = query.store.entities.described([*hops])
            return {known[node].name: hop for node, hop in hops.items() if node in known}

    def personalized_pagerank(
        self,
        query_nodes: Sequence[str],
        alpha: float = ALPHA,
        max_iter: int = 100,
        tol: float = TOLERANCE,
    ) -> dict[str, float]:
        """Return the scores of all nodes that a walk from these names reaches; their sum is 1.

        Unknown names are left out. `tol` bounds the work and the error of local push
        (`hades.graph.ppr`), which needs no `max_iter`.
        """
        return self._walked(dict.fromkeys(clean_list(query_nodes, "query_nodes"), 1.0), alpha, tol)

    def _walked(self, starts: Mapping[str, float], alpha: float, tol: float) -> dict[str, float]:
        """Return the scores of a walk from names, each with its share of the start."""
        import numpy as np

        from hades.graph.ppr import walk

        _check_alpha(alpha)
        if not isinstance(tol, Real) or not tol > 0:
            raise InvalidInput(f"`tol` is a number above 0, not {tol!r}.")
        catch_up(self.view.inside, None)
        shares = {node: share for name, share in starts.items() for node in self._node(name)}
        with self.view.inside.query_context(nodes=[*shares]) as query:
            graph = query.graph
            numbers = graph.numbers(np.array([*shares], np.int64))
            weights = np.array([*shares.values()])[numbers >= 0]
            numbers = numbers[numbers >= 0]
            barred = graph.barred.copy()
            barred[numbers] = False
            reached = walk(
                graph.adjacency, numbers, weights, damping=alpha, epsilon=tol, barred=barred
            ).best(graph.n)
            nodes = [graph.node(number) for number in reached.nodes.tolist()]
            chunks = [row_of(node) for node in nodes if NodeKind.CHUNK.has(node)]
            cites = query.store.chunks.labels(chunks, *query.indexes.moment(query.as_of))
            labels = {
                node: known.name for node, known in query.store.entities.described(nodes).items()
            }
            labels |= {NodeKind.CHUNK.node(chunk): cite for chunk, cite in cites.items()}
            parts = reached.scores / max(float(reached.scores.sum()), 1e-300)
            scores = dict.fromkeys(labels.values(), 0.0)
            for node, part in zip(nodes, parts.tolist(), strict=True):
                scores[labels[node]] += part
            return scores

    def rank_chunks_by_ppr(
        self, ppr_scores: Mapping[str, float], top_k: int = 10
    ) -> list[tuple[str, float]]:
        """Return the passages with the greatest sums of the scores of the names they mention."""
        ranked = self._ranked(ppr_scores, top_k)
        sums = {row: score for row, (score, _) in ranked.items()}
        hits = self.view.inside.finder.hits(sums, self.view.as_of)
        return [(hit.chunk.id, hit.score) for hit in hits]

    def _ranked(
        self, ppr_scores: Mapping[str, float], top_k: int
    ) -> dict[int, tuple[float, list[str]]]:
        """Return the best chunks, each with its sum and the scored names that it mentions."""
        import numpy as np

        clean_number(top_k, "top_k", least=1)
        for name, score in clean_mapping(ppr_scores, "ppr_scores").items():
            if not isinstance(score, Real) or not np.isfinite(score):
                raise InvalidInput(f"The score of {name!r} is a finite number, not {score!r}.")
        inside = self.view.inside
        scores = {name_key(name): score for name, score in ppr_scores.items()}
        _, known_at = inside.store.moment(inside.as_of)
        keyed = inside.store.mentions.named(inside.space_id, [*scores], known_at)
        keys = np.array([key for key, _ in keyed], object)
        nodes = np.array([NodeKind.ENTITY.node(entity) for _, entity in keyed], np.int64)
        with inside.query_context(nodes=nodes.tolist()) as query:
            graph = query.graph
            numbers = graph.numbers(nodes)
            keys = keys[numbers >= 0]
            counts, targets, _ = graph.adjacency.of(numbers[numbers >= 0])
            is_chunk = targets < graph.first_entity
            mentioned = np.repeat(keys, counts)[is_chunk]
            lent = np.array([scores[key] for key in mentioned], np.float64)
            chunks = targets[is_chunk]
            sums = np.bincount(chunks, lent, len(graph.chunks)) * query.mask
            best = np.lexsort((np.arange(len(sums)), -sums))[:top_k]
            return {
                int(graph.chunks[at]): (float(sums[at]), sorted(set(mentioned[chunks == at])))
                for at in best
                if sums[at] > 0
            }

    def expand_with_synonyms(self, entity_nodes: Iterable[str]) -> list[str]:
        """Return the names and those that `resolve` found similar (`similar_to`), each once."""
        names = clean_list(entity_nodes, "entity_nodes")
        catch_up(self.view.inside, None)
        for name in tuple(names):
            if self._node(name):
                similar = self.view.neighbours(name, SYNONYMS_AT_MOST, relation=SIMILAR_TO)
                names += [neighbour.node.name for neighbour in similar]
        return list(dict.fromkeys(names))

    def get_entity_neighborhood(self, entity_id: str, hops: int = 1) -> Subgraph:
        """Return the nodes within `hops` of an entity, nearest first, and the edges among them."""
        return self.view.subgraph(entity_id, hops=hops)

    def _node(self, name: str) -> list[int]:
        """Return the node of a name, or [] if it is not known."""
        try:
            return [self.view.inside.meant_node(name)]
        except NotFound:
            return []


def hipporag(
    view: View, query: str, top_k: int = 5, max_hops: int = 0, alpha: float | None = None
) -> dict[str, Any]:
    """Return the `top_k` best passages by a walk from the names in the query.

    Each of `max_hops` makes the walk two arcs longer on average, unless `alpha` sets its damping.
    `answered_by` is the step of the fallback chain that ranked the passages. It is one recall with
    its own plan, in the format of HippoRAG.
    """
    clean_number(max_hops, "max_hops")
    if alpha is not None:
        _check_alpha(alpha)
    damping = 1 - 0.5 / (1 + max_hops) if alpha is None else alpha
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
    results = [
        _result(passage.chunk, passage, passage.score, rank, passage.entities, passage.belief.mean)
        for rank, passage in enumerate(recall.passages, 1)
    ]
    return {"query": query, "answered_by": _fallback(recall), "results": results}


def _check_alpha(alpha: float) -> None:
    if not isinstance(alpha, Real) or not 0 < alpha < 1:
        raise InvalidInput(f"`alpha` is a number between 0 and 1, not {alpha!r}.")


def _fallback(recall: Recall) -> str:
    """Return which step of the fallback chain ordered the passages."""
    if not any(passage.parts.get("walk") for passage in recall.passages):
        return PRIOR
    reasons = {(note.stage, note.reason) for note in recall.reasons}
    if ("walk", Reason.TIMEOUT) in reasons:
        return UNFINISHED_WALK
    return WALK_FROM_PRIOR if ("seeds", Reason.NOTHING_NAMED) in reasons else WALK_FROM_NAMES


def _result(
    chunk: Chunk,
    place: Passage | PlacedChunk,
    score: float,
    rank: int,
    entities: Iterable[str],
    belief: float | None = None,
) -> dict[str, Any]:
    return {
        "chunk_id": chunk.id,
        "text": chunk.text,
        "score": score,
        "rank": rank,
        "entities": list(entities),
        "metadata": {
            "file_path": chunk.topic,
            "version": chunk.version,
            "chunk_index": chunk.ordinal,
            "heading": chunk.heading,
            "line": place.line,
            "end_line": place.end_line,
            "timestamp": iso(place.valid_from),
            "belief": place.confidence if belief is None else belief,
        },
    }
