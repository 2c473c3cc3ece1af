"""A graph as files: the graph of now is there at once when a large memory is opened.

Building the graph of 100,000 chunks takes seconds. Saved, it is mapped and repaired by what was
written since.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hades.graph.adjacency import Adjacency
from hades.index.columns import mapped
from hades.index.graph_build import finished
from hades.index.graph_view import EntityNames, GraphMoment, GraphView, StatedArcs

_ARRAYS = ("chunks", "entities", "roots", "frequency", "title_of", "previous", "next", "spoken")


def save_graph(graph: GraphView, folder: Path) -> None:
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


def load_graph(folder: Path, space: int) -> GraphView:
    """Read what `save_graph` wrote, mapped rather than copied; its moment is long past."""

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
