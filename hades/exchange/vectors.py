"""Vectors in an export: those of chunks, topics and entities, and the chunks that stand for nodes.

Only chunks and some entities have vectors of their own. Any other node gets the vector and the
cluster of a chunk: a topic those of its first chunk, an entity those of a chunk about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from hades.domain.graph import NodeKind, row_of
from hades.domain.times import AsOf
from hades.exchange.clusters import DECIMALS, Clusters
from hades.graph.arrays import Floats32
from hades.store.store import Store


class NodeVectors:
    """The vectors of the nodes of a space at one moment, read when they are asked for."""

    def __init__(
        self,
        store: Store,
        space: int,
        as_of: AsOf,
        encoder: str,
        clusters: Clusters,
        *,
        embeddings: bool,
    ) -> None:
        self._store = store
        self._space = space
        self._as_of = as_of
        self._encoder = encoder
        self._clusters = clusters
        self._embeddings = embeddings
        self.dimensions = store.graph_rows.dimensions(encoder)

    @cached_property
    def titled(self) -> dict[int, int]:
        """The first chunk that has an entity as its title, by entity."""
        return self._store.graph_rows.first_mentions(self._space, self._as_of, titles=True)

    @cached_property
    def first_chunks(self) -> dict[int, int]:
        """The first chunk of each topic."""
        return self._store.graph_rows.first_chunks(self._space, self._as_of)

    def of(self, nodes: Iterable[int]) -> dict[int, Floats32]:
        """Return the vectors of nodes, where known.

        An entity without a vector has that of the first passage with its title, a topic that of its
        first passage.
        """
        if not self.dimensions:
            return {}
        wanted = list(nodes)
        instead = {node: self._passage_of(node) for node in wanted}
        stored = {*wanted, *(node for node in instead.values() if node is not None)}
        packed = self._store.chunks.vectors(self._encoder, sorted(stored))
        vectors = {
            node: np.frombuffer(vector, np.float16, self.dimensions).astype(np.float32)
            for node, vector in packed.items()
        }
        chosen = {node: node if node in vectors else instead[node] for node in wanted}
        return {node: vectors[other] for node, other in chosen.items() if other in vectors}

    def _passage_of(self, node: int) -> int | None:
        """Return the chunk whose vector stands for a topic or an entity that has none, or None."""
        if NodeKind.CHUNK.has(node):
            return None
        of = self.titled if NodeKind.ENTITY.has(node) else self.first_chunks
        chunk = of.get(row_of(node))
        return None if chunk is None else NodeKind.CHUNK.node(chunk)

    def place_of(self, node: int | None) -> int | None:
        """Return the chunk whose cluster is that of a topic or an entity, or None.

        For an entity, it is the first chunk with its title, or else the first that mentions it.
        """
        if node is None or NodeKind.CHUNK.has(node):
            return None
        chunk = self._passage_of(node)
        if chunk is None and NodeKind.ENTITY.has(node):
            return self._clusters.homes.get(row_of(node))
        return None if chunk is None else row_of(chunk)

    def rounded(self, nodes: Iterable[int]) -> dict[int, list[float]]:
        """Return the vectors of nodes as an export writes them; {} if it has no embeddings."""
        if not self._embeddings:
            return {}
        return {
            node: np.round(vector.astype(float), DECIMALS).tolist()
            for node, vector in self.of(nodes).items()
        }


def cosine(vectors: Mapping[int, Floats32], source: int | None, target: int | None) -> float | None:
    """Return the cosine of the vectors of two nodes, or None if a vector is missing."""
    if source is None or target is None or source not in vectors or target not in vectors:
        return None
    return round(float(np.dot(vectors[source], vectors[target])), DECIMALS)
