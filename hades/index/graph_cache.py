"""GraphCache: the graph at each moment somebody asks about, built once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hades.domain.times import FOREVER, AsOf
from hades.graph.adjacency import Adjacency
from hades.graph.arrays import Flags, Ints
from hades.index.array_store import ArrayStore, locked
from hades.index.columns import mapped
from hades.index.graph_build import build_graph, finished, repair
from hades.index.graph_view import EntityNames, GraphMoment, GraphView, StatedArcs
from hades.index.indexes import Indexes
from hades.index.tables import TableChanges, Tables
from hades.store.records import Progress
from hades.store.store import Store

FORMAT = 2
SAVED_FROM_MENTIONS = 50_000
"""A smaller graph is built as fast as it is read; that of 100,000 chunks takes seconds."""
KEPT = 4
"""The graphs of so many moments are kept."""

_ARRAYS = ("chunks", "entities", "roots", "frequency", "title_of", "previous", "next", "spoken")

_Key = tuple[int, int, int]
_NOW = (0, 0)


class GraphCache:
    """Graphs by space and moment: kept while nothing changes, repaired when little does."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self.tables = Tables(store, folder)
        self._since_read = TableChanges()
        self._kept: dict[_Key, tuple[GraphView, int, TableChanges | None]] = {}
        """A graph, until when it holds, and what changed since it was made."""
        self.uses = {"kept": 0, "repaired": 0, "made": 0}
        """How often a question found its graph kept, had it repaired, had it built anew."""

    def catch_up(self, indexes: Indexes, on_progress: Progress | None = None) -> None:
        """Read what was written since."""
        changed = self.tables.catch_up(indexes.chunks["id"], on_progress)
        if changed is None:
            return
        self._since_read = self._since_read.with_(changed)
        now = {key: kept for key, kept in self._kept.items() if key[1:] == _NOW}
        self._kept = {
            key: (graph, until, changed if since is None else since.with_(changed))
            for key, (graph, until, since) in now.items()
        }

    def at(self, indexes: Indexes, space: int, as_of: AsOf) -> GraphView:
        """The graph of a space at a moment."""
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
        moment = GraphMoment(space, valid, known, visible, order)
        if kept is None and as_of.is_now:
            kept = self._saved(space)
        graph = None
        if kept is not None:
            graph = repair(kept[0], self.tables, chunks, moment, kept[2] or TableChanges())
        self.uses["made" if graph is None else "repaired"] += 1
        if graph is None:
            graph = build_graph(self.tables, chunks, moment)
            if as_of.is_now and len(self.tables.mentions) >= SAVED_FROM_MENTIONS:
                self._save(graph)
        while len(self._kept) >= KEPT:
            self._kept.pop(next(iter(self._kept)))
        self._kept[key] = (graph, self._holds_until(valid), None)
        return graph

    def _saved(self, space: int) -> tuple[GraphView, int, TableChanges] | None:
        """The graph of now as it was saved, with what changed since; None: there is none."""
        found: list[GraphView] = []
        arrays = ArrayStore(self._folder, f"graph{space}")
        change = arrays.load(
            self._stand(),
            self.tables.change,
            lambda folder: found.append(_read(folder, space)),
        )
        # What changed is known since the tables were read; an older graph cannot be repaired.
        if change is None or change < self.tables.read_at:
            return None
        return found[0], 0, self._since_read

    def _save(self, graph: GraphView) -> None:
        arrays = ArrayStore(self._folder, f"graph{graph.moment.space}")
        with locked(self._folder):
            arrays.save(self._stand(), self.tables.change, lambda folder: _write(graph, folder))

    def _stand(self) -> dict[str, Any]:
        return {"format": FORMAT, "generation": self._store.changefeed.stand()[0]}

    def _order(self, space: int, valid: int, known: int) -> tuple[Ints, Ints, Ints, Flags]:
        rows = self._store.changefeed.order(space, valid, known)
        chunk, topic, ordinal, turn = np.array(rows, np.int64).reshape(-1, 4).T
        return chunk, topic, ordinal, turn.astype(np.bool_)

    def _holds_until(self, valid: int) -> int:
        edges = self.tables["edges"]
        turns = np.concatenate([edges["valid_from"], edges["valid_to"]])
        later = turns[turns > valid]
        return int(later.min()) if len(later) else FOREVER


def _write(graph: GraphView, folder: Path) -> None:
    """Write a graph to files."""
    rows = graph.adjacency.compacted().rows
    arrays: dict[str, Any] = {name: getattr(graph, name) for name in _ARRAYS}
    arrays |= {
        "visible": graph.visible,
        "exists": graph.names.exists,
        "titled": graph.names.titled,
        "capital_share": graph.names.capital_share,
        "stated": graph.stated.pairs,
        "stated_weights": graph.stated.weights,
        "indptr": rows.indptr,
        "targets": rows.targets,
        "weights": rows.weights,
        "where": np.array([graph.first_entity, graph.first_topic, graph.n]),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def _read(folder: Path, space: int) -> GraphView:
    """Read what `_write` wrote, mapped rather than copied; its moment is long past."""

    def read(name: str) -> Any:
        return mapped(folder / f"{name}.npy")

    first_entity, first_topic, n = (int(one) for one in read("where"))
    return finished(
        GraphMoment(space, 0, 0, read("visible"), None),
        read("chunks"),
        read("entities"),
        (first_entity, first_topic, n),
        read("roots"),
        EntityNames(read("exists"), read("titled"), read("capital_share")),
        read("frequency"),
        read("title_of"),
        read("previous"),
        read("next"),
        read("spoken"),
        StatedArcs(read("stated"), read("stated_weights")),
        Adjacency(read("indptr"), read("targets"), read("weights")),
    )
