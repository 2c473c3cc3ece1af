"""The beam: a few paths from the best entry points outward, within hard caps.

Seeds are chosen to differ (MMR). From them the beam goes by the strongest arcs, a few at a
time, and what it comes to is ranked with the rest. A hop leads from one passage to the
next by way of a name: two arcs.
"""

from __future__ import annotations

import numpy as np

from hades.domain.graph import Reason
from hades.graph.arrays import Ints
from hades.graph.beam import Caps, beam
from hades.index.vectors import product
from hades.recall.retrieve import Retrieved
from hades.recall.run import Run

ARCS_A_HOP = 2
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
            deadline=stage.is_over,
        )
        for trim in found.trims:
            if trim.reason == Reason.TIMEOUT:
                stage.stop(trim.reason, f"without {trim.count} {trim.what}")
            elif trim.what != "hops":
                stage.capped = True
                stage.note(trim.reason, f"{trim.count} {_BEYOND.get(trim.what, trim.what)}")
        retrieved.beam = found.paths
        met = [node for path in found.paths for node in path.nodes if node < graph.first_entity]
        retrieved.beamed = run.look_at(list(dict.fromkeys(met)), stage)
        stage.found = len(retrieved.beamed)
        stage.added = int(
            (retrieved.signals.prior[np.array(retrieved.beamed, np.int64)] <= 0).sum()
        )


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
