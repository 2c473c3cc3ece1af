"""GraphCache: the graphs of the moments that questions ask about, each built once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hades.domain.times import AsOf
from hades.domain.weights import SHIPPED, Weighting
from hades.graph.adjacency import Adjacency
from hades.graph.arrays import Flags, Ints
from hades.index.array_store import UNREADABLE, Array, ArrayStore, locked
from hades.index.columns import next_time
from hades.index.graph_build import build_graph, repair
from hades.index.graph_view import EntityNames, GraphMoment, GraphView, StatedArcs
from hades.index.indexes import Indexes
from hades.index.tables import TableChanges, Tables
from hades.store.records import Progress
from hades.store.store import Store

FORMAT = 4
SAVED_FROM_MENTIONS = 250_000
"""A smaller graph is not saved, because building it is as fast as reading it."""
KEPT = 4
"""Number of graphs that are kept."""

_OWN = ("chunks", "entities", "roots", "frequency", "title_of", "previous", "next", "spoken")
_ARCS = ("indptr", "targets", "weights")

_Key = tuple[int, int, int]
_NOW = (0, 0)


class GraphCache:
    """Graphs by space and moment. They are reused, repaired after small changes, or rebuilt."""

    def __init__(self, store: Store, folder: Path, *, saved: bool = True) -> None:
        self._store = store
        self._folder = folder
        self._is_saved = saved
        self.tables = Tables(store, folder, saved=saved)
        self._since_read = TableChanges()
        self._kept: dict[_Key, tuple[GraphView, int, TableChanges | None]] = {}
        """For each moment: its graph, the valid time until which that holds, and the changes since
        it was built."""
        self.uses = {"kept": 0, "repaired": 0, "made": 0}
        """How often a graph was reused, repaired and built."""

    def __len__(self) -> int:
        return len(self._kept)

    def is_kept(self, space: int) -> bool:
        """Return whether the graph of a space as of now is in the cache."""
        return (space, *_NOW) in self._kept

    def catch_up(self, indexes: Indexes, space: int, on_progress: Progress | None = None) -> None:
        """Read later changes and the words of a space. After a change, drop graphs of the past."""
        changed = self.tables.catch_up(indexes.chunks, space, on_progress)
        if changed is None:
            return
        self._since_read = self._since_read.with_(changed)
        now = {key: kept for key, kept in self._kept.items() if key[1:] == _NOW}
        self._kept = {
            key: (graph, until, changed if since is None else since.with_(changed))
            for key, (graph, until, since) in now.items()
        }

    def at(self, indexes: Indexes, space: int, as_of: AsOf) -> GraphView:
        """Return the graph of a space at a moment: reused, repaired or built."""
        valid, known = indexes.moment(as_of)
        visible = indexes.visible(space, as_of)
        key = (space, 0 if as_of.valid is None else valid, 0 if as_of.known is None else known)
        kept = self._kept.pop(key, None)
        if kept is not None and kept[2] is None and valid < kept[1] and kept[0].visible is visible:
            self._kept[key] = kept
            self.uses["kept"] += 1
            return kept[0]
        chunks = indexes.chunks["id"]
        order = None if as_of.is_now else self._order(space, valid, known)
        weights = self._store.weights.in_force(space, as_of)
        shifts = {} if weights is SHIPPED else self._shifts(weights)
        moment = GraphMoment(space, valid, known, visible, order, shifts)
        if kept is None and as_of.is_now and self._is_saved:
            kept = self._saved(moment, weights)
        graph = None
        if kept is not None:
            graph = repair(kept[0], self.tables, chunks, moment, kept[2] or TableChanges())
        self.uses["made" if graph is None else "repaired"] += 1
        if graph is None:
            graph = build_graph(self.tables, chunks, moment)
            if not self._is_saved:
                graph = self._in_proportion(graph)
            elif as_of.is_now and len(self.tables.mentions) >= SAVED_FROM_MENTIONS:
                with locked(self._folder):
                    arrays = _arrays(graph)
                    self._files(space).save(self._revision(weights), self.tables.change, arrays)
        while len(self._kept) >= KEPT:
            self._kept.pop(next(iter(self._kept)))
        self._kept[key] = (graph, self._holds_until(valid), None)
        return graph

    def _in_proportion(self, graph: GraphView) -> GraphView:
        """Return the graph of an excerpt with frequencies of names scaled to the whole memory."""
        own = np.bincount(self.tables.mentions["entity"], minlength=len(graph.entities))
        shared = np.flatnonzero(own > 1)  # a name with one mention joins nothing
        entities = graph.entities[shared].tolist()
        counted = self._store.changefeed.frequency(entities)
        if counted is None:
            return graph
        counts = np.array([counted[0].get(entity, 0) for entity in entities])
        frequency = graph.frequency.copy()
        frequency[shared] = np.rint(frequency[shared] * np.maximum(1, counts / own[shared]))
        return replace(graph, frequency=frequency, whole=counted[1])

    def _saved(
        self, moment: GraphMoment, weights: Weighting
    ) -> tuple[GraphView, int, TableChanges] | None:
        """Return the saved graph of the present with the changes since, or None if unusable."""
        with locked(self._folder):
            saved = self._files(moment.space).load(self._revision(weights), self.tables.change)
        # Changes are known only since the tables were read: an older graph cannot be repaired.
        if saved is None or saved[0] < self.tables.read_at:
            return None
        try:
            # The graph may already contain some of these changes.
            return _restored(saved[1], moment), 0, replace(self._since_read, is_exact=False)
        except UNREADABLE:
            return None

    def _files(self, space: int) -> ArrayStore:
        return ArrayStore(self._folder, f"graph{space}")

    def _revision(self, weights: Weighting) -> dict[str, Any]:
        learned = {"weights": weights.snapshot} if weights.snapshot else {}
        generation = self._store.changefeed.revision()[0]
        return {"format": FORMAT, "generation": generation, **learned}

    def _shifts(self, weights: Weighting) -> dict[int, float]:
        relations = self._store.edges.relations()
        shifts = {number: round(weights.shift(name), 6) for number, name in relations.items()}
        return {number: shift for number, shift in shifts.items() if shift}

    def _order(self, space: int, valid: int, known: int) -> tuple[Ints, Ints, Ints, Flags]:
        rows = self._store.changefeed.order(space, valid, known)
        chunk, topic, ordinal, turn = np.array(rows, np.int64).reshape(-1, 4).T
        return chunk, topic, ordinal, turn.astype(np.bool_)

    def _holds_until(self, valid: int) -> int:
        edges = self.tables["edges"]
        return next_time(np.concatenate([edges["valid_from"], edges["valid_to"]]), valid)


def _arrays(graph: GraphView) -> dict[str, Array]:
    """Return a graph as arrays to be saved."""
    return {
        **{name: getattr(graph, name) for name in ("visible", *_OWN)},
        **graph.names._asdict(),
        **{f"stated.{name}": array for name, array in graph.stated._asdict().items()},
        **dict(zip(_ARCS, graph.adjacency.compacted().rows, strict=False)),
        "where": np.array([graph.first_entity, graph.first_topic, graph.n]),
    }


def _restored(arrays: Mapping[str, Array], now: GraphMoment) -> GraphView:
    """Restore a saved graph. Its times are 0, so that `repair` reads all stated edges again."""
    first_entity, first_topic, n = map(int, arrays["where"])
    return GraphView(
        moment=GraphMoment(now.space, 0, 0, arrays["visible"], None, now.shifts),
        first_entity=first_entity,
        first_topic=first_topic,
        n=n,
        names=EntityNames(*(arrays[name] for name in EntityNames._fields)),
        stated=StatedArcs(*(arrays[f"stated.{name}"] for name in StatedArcs._fields)),
        adjacency=Adjacency(*(arrays[name] for name in _ARCS)),
        **{name: arrays[name] for name in _OWN},  # type: ignore[arg-type]
    )
