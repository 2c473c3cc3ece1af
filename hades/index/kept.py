"""A web as files: the graph of now is there at once when a large memory is opened.

Weaving the web of 100,000 chunks takes seconds. Saved, it is mapped and repaired by what was
written since.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hades.graph.adjacency import Adjacency
from hades.index.columns import mapped
from hades.index.graph_build import finished
from hades.index.graph_view import GraphView, Moment, Names, Stated

_ARRAYS = ("chunks", "entities", "roots", "frequency", "title_of", "previous", "next", "spoken")


def save_web(web: GraphView, folder: Path) -> None:
    """Write a web to files."""
    graph = web.graph.compacted()
    rows = graph.rows
    arrays: dict[str, Any] = {name: getattr(web, name) for name in _ARRAYS}
    arrays |= {
        "visible": web.visible,
        "exists": web.names.exists,
        "titled": web.names.titled,
        "capital_share": web.names.capital_share,
        "stated": web.stated.pairs,
        "stated_weights": web.stated.weights,
        "indptr": rows.indptr,
        "targets": rows.targets,
        "weights": rows.weights,
        "where": np.array([web.first_entity, web.first_topic, web.n]),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def load_web(folder: Path, space: int) -> GraphView:
    """Read what `save_web` wrote, mapped rather than copied; its moment is long past."""

    def read(name: str) -> Any:
        return mapped(folder / f"{name}.npy")

    first_entity, first_topic, n = (int(one) for one in read("where"))
    return finished(
        Moment(space, 0, 0, read("visible"), None),
        read("chunks"),
        read("entities"),
        (first_entity, first_topic, n),
        read("roots"),
        Names(read("exists"), read("titled"), read("capital_share")),
        read("frequency"),
        read("title_of"),
        read("previous"),
        read("next"),
        read("spoken"),
        Stated(read("stated"), read("stated_weights")),
        Adjacency(read("indptr"), read("targets"), read("weights")),
    )
