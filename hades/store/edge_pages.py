"""Pages of edges: first the written ones by number, then the derived ones.

Both are read one page at a time. Edges that follow from mentions have no number, so a page that
reaches them reads all of them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from hades.domain.graph import Edge
from hades.domain.times import AsOf, iso
from hades.store.records import EdgeFilter

if TYPE_CHECKING:
    from hades.store.store import Store

Place = tuple[int, int, str]
"""The sort key of an edge in the list: 0 (written) or 1 (derived), its number, a hash of it."""
FIRST: Place = (0, 0, "")

_MARK_BYTES = 12
_MORE = 50


def edge_place(edge: Edge) -> Place:
    """Return the sort key of an edge in the list (see `Place`)."""
    # The hash is needed because edges that follow from mentions all have the number 0.
    ends = (edge.source.name, edge.relation, edge.target.name)
    identity = json.dumps([*ends, iso(edge.valid_from), iso(edge.recorded_at)]).encode()
    mark = blake2b(identity, digest_size=_MARK_BYTES).hexdigest()
    return int(edge.id <= 0), abs(edge.id), mark


def edges_after(
    store: Store, space: int, wanted: EdgeFilter, as_of: AsOf, after: Place, limit: int
) -> list[Edge]:
    """Return at most `limit` edges that pass a filter and come after the sort key `after`."""
    edges: list[Edge] = []
    if after[0] == 0:
        edges = store.edges.find(space, replace(wanted, beyond=after[1], limit=limit), as_of)
        after = (1, 0, "")
    if after[1] == 0 and len(edges) < limit:
        edges += _beyond(after, store.derived_edges.documents(space, wanted, as_of))
    last: int | None = max(after[1] - 1, 0)
    while last is not None and len(edges) < limit:
        # Reading starts at the last edge of the page before, so a few more are needed to fill one.
        part = replace(wanted, beyond=last, limit=limit - len(edges) + _MORE)
        derived, last = store.derived_edges.page(space, part, as_of)
        edges += _beyond(after, derived)
    return edges[:limit]


def _beyond(after: Place, edges: list[tuple[int, Edge]]) -> list[Edge]:
    placed = sorted((edge_place(edge), at) for at, (_, edge) in enumerate(edges))
    return [edges[at][1] for place, at in placed if place > after]
