"""The beam: a few paths from the best entry points outward, within hard caps.

Seeds are chosen to differ (MMR). From them the beam goes by the strongest arcs, a few at a
time, and what it comes to is ranked with the rest. A hop leads from one passage to the
next by way of a name: two arcs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from hades.domain.answer import Path
from hades.domain.graph import Reason
from hades.graph.arrays import Floats, Ints
from hades.graph.beam import BEST_SCORE, Caps, beam
from hades.index.vectors import product
from hades.recall.find.retrieve import Retrieved
from hades.recall.paths.path_text import PathWriter
from hades.recall.plan import ARCS_A_HOP
from hades.recall.run import Run

SEEDS_FROM = 40
"""Seeds are chosen among so many of the best by prior."""

_BEYOND = {
    "fanout": "arcs beyond the strongest",
    "beam": "paths beyond the best",
    "documents": "documents beyond docs_max",
}
"""What a trim of the beam means, by the cap it names."""


def run_beam(run: Run, retrieved: Retrieved) -> None:
    """Run the beam; its paths and what they come to are noted in `retrieved`."""
    plan, graph = run.plan.graph, retrieved.query.graph
    with run.stage("beam", plan.timeout_ms) as stage:
        if not plan.beam_search or not plan.hops:
            stage.note(Reason.SWITCHED_OFF)
            return
        if not graph.adjacency.has_arcs:
            stage.note(Reason.EMPTY_GRAPH)
            return
        if stage.is_over():
            stage.stop(Reason.TIMEOUT, "without the beam")
            return
        seeds = _seeds(retrieved, run.plan.retriever.k, run.plan.retriever.mmr)
        seeds = np.array(run.look_at(seeds.tolist(), stage), np.int64)
        if not len(seeds):
            stage.note(Reason.NOTHING_FOUND, "no seeds")
            return
        barred = graph.barred
        if retrieved.signals.mask is not graph.visible:
            barred = barred.copy()
            barred[: len(retrieved.signals.mask)] |= ~retrieved.signals.mask
        found = beam(
            graph.adjacency,
            seeds,
            retrieved.signals.prior[seeds],
            caps=Caps(
                hops=plan.hops * ARCS_A_HOP,
                fanout=plan.fanout,
                beam=plan.beam,
                documents=run.plan.budget.docs_max - len(run.seen) + len(seeds),
            ),
            barred=barred,
            counted=graph.is_chunk,
            lexical=_lexical(retrieved),
            covered=partial(_covered, retrieved),
            deadline=stage.is_over,
        )
        for trim in found.trims:
            if trim.reason in (Reason.TIMEOUT, Reason.COVERAGE_REACHED):
                stage.stop(trim.reason, f"without {trim.count} {trim.what}")
            else:
                stage.capped = True
                stage.note(trim.reason, f"{trim.count} {_BEYOND.get(trim.what, trim.what)}")
        retrieved.beam = found.paths
        met = [node for path in found.paths for node in path.nodes if node < graph.first_entity]
        retrieved.beamed = run.look_at(list(dict.fromkeys(met)), stage)
        stage.found = len(retrieved.beamed)


def beam_paths(
    retrieved: Retrieved, passages: set[int], beside: Sequence[Path], limit: int
) -> list[Path]:
    """The beam's paths between passages, best first, without those that stand in others."""
    writer, found = PathWriter(retrieved.query), list[Path]()
    for one in retrieved.beam:
        if len(found) < limit and one.hops and {one.nodes[0], one.nodes[-1]} <= passages:
            path = writer.path(one.nodes, max(0.0, one.score) / BEST_SCORE)
            nodes = set(path.nodes)
            if not any(nodes <= set(other.nodes) for other in (*beside, *found)):
                found.append(path)
    return found


def _lexical(retrieved: Retrieved) -> Floats:
    """How well each node matches the words of the question, 0 to 1: by BM25, of passages only."""
    lexical = np.zeros(len(retrieved.query.graph.adjacency))
    words = retrieved.signals.words
    lexical[: len(words)] = words / max(1e-12, float(words.max(initial=0.0)))
    return lexical


def _covered(retrieved: Retrieved, paths: Iterable[tuple[int, ...]]) -> bool:
    """Whether the passages of one path say every word of the question together."""
    graph, terms, first = retrieved.query.graph, retrieved.terms, retrieved.query.graph.first_entity
    passages = [[node for node in path if node < first] for path in paths if path[-1] < first]
    if not terms or not passages:
        return False
    flat = np.array([node for one in passages for node in one], np.int64)
    has = retrieved.query.terms.having(graph.chunks[flat], terms)
    starts = np.cumsum([0, *map(len, passages[:-1])])
    return bool(np.maximum.reduceat(has, starts).all(1).any())


def _seeds(retrieved: Retrieved, count: int, mmr: float) -> Ints:
    """The best by prior that differ from each other: maximal marginal relevance."""
    signals = retrieved.signals
    pool = signals.top[:SEEDS_FROM]
    vectors = retrieved.query.indexes.vectors_of(pool)
    alike = product(vectors, vectors)
    chosen: list[int] = []
    by_prior, close = (1 - mmr) * signals.prior[pool], np.zeros(len(pool))
    for _ in range(min(count, len(pool))):
        worth = by_prior - mmr * close
        worth[chosen] = -np.inf
        chosen.append(int(np.argmax(worth)))
        close = alike[chosen[-1]] if len(chosen) == 1 else np.maximum(close, alike[chosen[-1]])
    return pool[chosen]
