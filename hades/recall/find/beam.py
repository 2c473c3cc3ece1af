"""The beam: a few paths from the seeds outward, within hard caps.

The seeds are chosen to differ from each other (MMR). The beam follows the strongest arcs from them,
and the passages it reaches are ranked with the others. A hop leads from one passage to the next by
way of a name: two arcs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from hades.domain.graph import Reason
from hades.graph.arrays import Floats, Ints
from hades.graph.beam import Caps, beam
from hades.index.vectors import product
from hades.recall.find.results import BeamResult, SearchQuery, Seeds
from hades.recall.plan import ARCS_A_HOP
from hades.recall.query_context import QueryContext
from hades.recall.run import Run

SEEDS_FROM = 40
"""The number of passages, best by prior, among which the seeds are chosen."""

_BEYOND = {
    "fanout": "arcs beyond the strongest",
    "beam": "paths beyond the best",
    "documents": "documents beyond docs_max",
}
"""The words of a diagnostic for each cap of the beam."""


def run_beam(run: Run, search: SearchQuery, seeds: Seeds) -> BeamResult:
    """Search paths from the seeds; empty if the plan has no beam or the graph no arcs."""
    plan = run.plan.graph
    query = search.query
    with run.stage("beam", plan.timeout_ms) as stage:
        if not plan.beam_search or not plan.hops:
            stage.note(Reason.SWITCHED_OFF)
            return BeamResult()
        if not query.graph.adjacency.has_arcs:
            stage.note(Reason.EMPTY_GRAPH)
            return BeamResult()
        if stage.is_late("the beam"):
            return BeamResult()
        starts = _starts(query, seeds, run.plan.retriever.k, run.plan.retriever.mmr)
        starts = np.array(run.look_at(starts.tolist(), stage), np.int64)
        if not len(starts):
            stage.note(Reason.NOTHING_FOUND, "no seeds")
            return BeamResult()
        caps = Caps(
            hops=plan.hops * ARCS_A_HOP,
            fanout=plan.fanout,
            beam=plan.beam,
            documents=run.plan.budget.docs_max - len(run.seen) + len(starts),
        )
        searched = beam(
            query.graph.adjacency,
            starts,
            seeds.prior[starts],
            caps=caps,
            barred=query.barred,
            counted=query.graph.is_chunk,
            lexical=_lexical(query, seeds),
            covered=partial(_covered, query, search.terms),
            deadline=stage.is_over,
        )
        for trim in searched.trims:
            if trim.reason in (Reason.TIMEOUT, Reason.COVERAGE_REACHED):
                stage.stop(trim.reason, f"without {trim.count} {trim.what}")
            else:
                stage.capped = True
                stage.note(trim.reason, f"{trim.count} {_BEYOND.get(trim.what, trim.what)}")
        nodes = dict.fromkeys(node for path in searched.paths for node in path.nodes)
        chunks = [node for node in nodes if node < query.graph.first_entity]
        numbers = run.look_at(chunks, stage)
        stage.found = len(numbers)
        return BeamResult(searched.paths, tuple(numbers))


def _lexical(query: QueryContext, seeds: Seeds) -> Floats:
    """Return the BM25 of each node for the question, from 0 to 1; entities and topics get 0."""
    lexical = np.zeros(len(query.graph.adjacency))
    lexical[: len(seeds.words)] = seeds.words / max(1e-12, float(seeds.words.max(initial=0.0)))
    return lexical


def _covered(query: QueryContext, terms: list[str], paths: Iterable[tuple[int, ...]]) -> bool:
    """Return whether the passages of some path together contain every term of the question."""
    first = query.graph.first_entity
    passages = [[node for node in path if node < first] for path in paths if path[-1] < first]
    if not terms or not passages:
        return False
    flat = np.array([node for nodes in passages for node in nodes], np.int64)
    has = query.terms.having(query.graph.chunks[flat], terms)
    starts = np.cumsum([0, *map(len, passages[:-1])])
    return bool(np.maximum.reduceat(has, starts).all(1).any())


def _starts(query: QueryContext, seeds: Seeds, count: int, mmr: float) -> Ints:
    """Choose the seeds: passages with a high prior that differ, by maximal marginal relevance."""
    pool = seeds.top[:SEEDS_FROM]
    vectors = query.indexes.vectors_of(pool)
    alike = product(vectors, vectors)
    chosen: list[int] = []
    by_prior = (1 - mmr) * seeds.prior[pool]
    close = np.zeros(len(pool))
    for _ in range(min(count, len(pool))):
        worth = by_prior - mmr * close
        worth[chosen] = -np.inf
        chosen.append(int(np.argmax(worth)))
        close = alike[chosen[-1]] if len(chosen) == 1 else np.maximum(close, alike[chosen[-1]])
    return pool[chosen]
