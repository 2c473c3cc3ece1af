"""Sketches: an outline of what a volume holds of a space.

With them the catalogue chooses the volumes for a question without asking any volume, and counts
words over the whole library. Names and stems are hashed. Two hashes may collide, so a sketch may
claim a name that the volume lacks, but it never misses one.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from hades.graph.arrays import Floats32, Ints
from hades.index.terms import term_hash

CENTROIDS = 16
"""The most centroids of a sketch."""
SAMPLED = 4_096
"""The most vectors that the centroids are computed from."""
ROUNDS = 6
"""Rounds of k-means. Centroids only choose volumes, so they need not be exact."""

Hashes = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Sketch:
    """A summary of one space of a volume, as of one change."""

    revision: Ints
    """The change at which it was made, the number of passages, and the number of topics."""
    span: Ints
    """The earliest and the latest valid time of a passage, in microseconds; empty without any."""
    names: Hashes
    """The hashed keys of all names of topics and entities, sorted."""
    stems: Hashes
    """The hashed stems of all passages, sorted."""
    counts: Hashes
    """For each stem, the number of passages that have it."""
    centroids: npt.NDArray[np.float16]
    """Unit vectors of the groups that its passages form."""

    @property
    def change(self) -> int:
        """The number of the last change it knows of."""
        return int(self.revision[0])

    @property
    def chunks(self) -> int:
        """The number of passages, current or not."""
        return int(self.revision[1])

    @property
    def topics(self) -> int:
        """The number of topics."""
        return int(self.revision[2])

    def holds(self, keys: Iterable[str]) -> bool:
        """Return whether it may hold one of these name keys."""
        return bool(np.isin(hashes(keys), self.names).any())

    def frequency(self, stem: str) -> int:
        """Return the number of passages that have a stem."""
        sought = term_hash(stem)
        at = int(np.searchsorted(self.stems, sought))
        return int(self.counts[at]) if at < len(self.stems) and self.stems[at] == sought else 0

    def nearness(self, vector: Floats32 | None) -> float:
        """Return the cosine of a vector with the nearest centroid; 0 without any."""
        if vector is None or not len(self.centroids):
            return 0.0
        return float((self.centroids.astype(np.float32) @ vector).max())

    def packed(self) -> str:
        """Return the sketch as a text, for the catalogue."""
        file = io.BytesIO()
        np.savez_compressed(file, **{one.name: getattr(self, one.name) for one in fields(self)})
        return base64.b64encode(file.getvalue()).decode()


def unpacked(text: str) -> Sketch:
    """Return the sketch of a text that `packed` made."""
    with np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False) as arrays:
        return Sketch(**{one.name: arrays[one.name] for one in fields(Sketch)})


def hashes(texts: Iterable[str]) -> Hashes:
    """Return the distinct hashes of some texts, sorted."""
    return np.unique(np.fromiter(map(term_hash, texts), np.uint32))


def centroids_of(vectors: Floats32) -> npt.NDArray[np.float16]:
    """Return at most CENTROIDS unit vectors, each the mean direction of a group of vectors."""
    if not len(vectors):
        return np.zeros((0, vectors.shape[1]), np.float16)
    chance = np.random.default_rng(0)
    if len(vectors) > SAMPLED:
        vectors = vectors[chance.choice(len(vectors), SAMPLED, replace=False)]
    count = min(CENTROIDS, len(vectors))
    centres = vectors[chance.choice(len(vectors), count, replace=False)]
    for _ in range(ROUNDS):
        group = (vectors @ centres.T).argmax(1)
        sums = np.zeros_like(centres)
        np.add.at(sums, group, vectors)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres)
    return centres.astype(np.float16)
