"""Joining: a new chunk becomes a member of the nearest cluster at once."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from hades.domain.graph import NodeKind, row_of
from hades.domain.hierarchy import LOW, Hierarchy
from hades.domain.times import NOW
from hades.errors import Corrupt
from hades.hierarchy.clustering import nearest_centroid, nearness
from hades.index.hierarchy import read_centroids
from hades.index.vectors import quantise
from hades.store.records import Write
from hades.store.store import Store

_LOG = logging.getLogger(__name__)
_AT_ONCE = 2_000


def join_new(
    store: Store, write: Write, encoder: str, vectors: Sequence[tuple[int, bytes]], dims: int
) -> None:
    """Make chunks members of their nearest clusters, by node and float16 vectors.

    Nothing happens in a space without a hierarchy, or with one of another encoder. A damaged
    hierarchy is left out, because a batch may have chunks of several spaces.
    """
    if not store.hierarchies.is_any():
        return
    of_chunk = {row_of(node): vector for node, vector in vectors if NodeKind.CHUNK.has(node)}
    by_space: dict[int, list[int]] = {}
    for chunk, space in store.hierarchies.spaces_of(list(of_chunk)).items():
        by_space.setdefault(space, []).append(chunk)
    for space, chunks in by_space.items():
        try:
            hierarchy = store.hierarchies.current(space, NOW)
        except Corrupt as error:
            _LOG.warning("no passage joins a cluster: %s", error)
            continue
        if hierarchy is not None and hierarchy.encoder == encoder:
            _join(store, write, hierarchy, {chunk: of_chunk[chunk] for chunk in chunks}, dims)


def join_chunks(store: Store, write: Write, encoder: str, chunks: Sequence[int], dims: int) -> None:
    """Make chunks that have stored vectors members of their nearest clusters."""
    for first in range(0, len(chunks), _AT_ONCE):
        nodes = [NodeKind.CHUNK.node(chunk) for chunk in chunks[first : first + _AT_ONCE]]
        vectors = store.chunks.vectors(encoder, nodes)
        join_new(store, write, encoder, sorted(vectors.items()), dims)


def _join(
    store: Store, write: Write, hierarchy: Hierarchy, vectors: Mapping[int, bytes], dims: int
) -> None:
    known = store.hierarchies.of_chunks(hierarchy.id, list(vectors), NOW)
    chunks = sorted(vectors.keys() - known.keys())
    rows = [row for row in store.hierarchies.centroids(hierarchy.id) if row[1] == LOW]
    centroids = read_centroids([row[3] for row in rows], dims)
    # The vectors of a note's sentences follow that of its text.
    whole = b"".join(vectors[chunk][: 2 * dims] for chunk in chunks)
    codes = quantise(np.frombuffer(whole, np.float16).reshape(-1, dims).astype(np.float32))[0]
    usable = np.flatnonzero(codes.any(axis=1))
    if not len(usable) or not centroids.any():
        return
    nearest = nearest_centroid(codes[usable], centroids)
    near = nearness(codes[usable], centroids, nearest)
    joined = zip(usable.tolist(), nearest.tolist(), near.tolist(), strict=True)
    store.hierarchies.join(write, [(chunks[own], rows[at][0], cos) for own, at, cos in joined])
