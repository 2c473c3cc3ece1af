"""The beam: a few paths from the best entry points outward, within hard caps.

Seeds are chosen to differ (MMR). From them the beam goes by the strongest arcs, a few at a
time, and what it comes to is ranked with the rest. A hop leads from one passage to the
next by way of a name: two arcs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hades.domain.graph import Reason
from hades.graph.beam import Caps, beam
from hades.index.vectors import product
from hades.recall.retrieve import Retrieved
from hades.recall.run import Run

Ints = npt.NDArray[np.int64]

ARCS_A_HOP = 2
SEEDS_FROM = 40
"""Seeds are chosen among so many of the best by prior."""

_BEYOND = {
    "fanout": "arcs beyond the strongest",
    "beam": "paths beyond the best",
    "documents": "documents beyond docs_max",
}
"""What a trim of the beam means, by the cap it names."""


def spread(run: Run, look: Retrieved) -> None:
    """Run the beam; its paths and what they come to are noted in the look."""
    plan, web = run.plan.graph, look.scene.web
    with run.stage("beam", plan.timeout_ms) as stage:
        if not plan.beam_search or not plan.hops:
            stage.note(Reason.SWITCHED_OFF)
            return
        if not web.graph.arcs_count:
            stage.note(Reason.EMPTY_GRAPH)
            return
        if stage.is_over():
            stage.stop(Reason.TIMEOUT, "without the beam")
            return
        seeds = _seeds(look, run.plan.retriever.k, run.plan.retriever.mmr)
        seeds = np.array(run.look_at(seeds.tolist(), stage), np.int64)
        if not len(seeds):
            stage.note(Reason.NOTHING_FOUND, "no seeds")
            return
        barred = web.barred
        if look.signals.mask is not web.visible:
            barred = barred.copy()
            barred[: len(look.signals.mask)] |= ~look.signals.mask
        found = beam(
            web.graph,
            seeds,
            look.signals.prior[seeds],
            caps=Caps(
                hops=plan.hops * ARCS_A_HOP,
                fanout=plan.fanout,
                beam=plan.beam,
                documents=run.plan.budget.docs_max - len(run.seen) + len(seeds),
            ),
            barred=barred,
            counted=web.is_chunk,
            deadline=stage.is_over,
        )
        for trim in found.trims:
            if trim.reason == Reason.TIMEOUT:
                stage.stop(trim.reason, trim.what)
            elif trim.what != "hops":
                stage.capped = True
                stage.note(trim.reason, f"{trim.count} {_BEYOND.get(trim.what, trim.what)}")
        look.beam = found.paths
        met = [node for path in found.paths for node in path.nodes if node < web.first_entity]
        look.beamed = run.look_at(list(dict.fromkeys(met)), stage)
        stage.found = len(look.beamed)
        stage.added = int((look.signals.prior[np.array(look.beamed, np.int64)] <= 0).sum())


def _seeds(look: Retrieved, count: int, mmr: float) -> Ints:
    """The best by prior that differ from each other: maximal marginal relevance."""
    signals = look.signals
    pool = signals.top[:SEEDS_FROM]
    vectors = look.scene.catalogue.vectors_of(pool)
    alike = product(vectors, vectors)
    chosen: list[int] = []
    by_prior, close = (1 - mmr) * signals.prior[pool], np.zeros(len(pool))
    for _ in range(min(count, len(pool))):
        worth = by_prior - mmr * close
        worth[chosen] = -np.inf
        chosen.append(int(np.argmax(worth)))
        close = alike[chosen[-1]] if len(chosen) == 1 else np.maximum(close, alike[chosen[-1]])
    return pool[chosen]
