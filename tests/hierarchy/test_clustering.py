"""Clustering of vectors: what must hold for any input."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hades.hierarchy.clustering import ClusterSettings, cluster, neighbours
from hades.index.vectors import Codes, quantise

NO_LINKS = np.zeros((0, 3), np.int64)


def _silent(*_: object) -> None:
    pass


def _blobs(count: int, each: int, seed: int) -> Codes:
    chance = np.random.default_rng(seed)
    middles = np.repeat(chance.normal(size=(count, 32)), each, axis=0)
    return quantise((middles + chance.normal(0, 0.2, middles.shape)).astype(np.float32))[0]


def test_blobs_are_found() -> None:
    made = cluster(_blobs(12, 40, 1), NO_LINKS, (), 7, ClusterSettings(), _silent)
    whole = made.cluster_of.reshape(12, 40)
    assert all(len(set(row)) <= 4 for row in whole.tolist())
    assert all(
        not set(one) & set(other)
        for at, one in enumerate(whole.tolist())
        for other in whole.tolist()[at + 1 :]
    )


def test_links_pull_together_what_vectors_leave_apart() -> None:
    codes = _blobs(1, 60, 3)
    rows = [(one, other, 4_000) for one in range(0, 60, 2) for other in range(0, one, 2)]
    made = cluster(codes, np.array(rows), (), 7, ClusterSettings(), _silent)
    assert len(set(made.cluster_of[::2].tolist())) == 1


@given(
    st.integers(1, 60),
    st.integers(1, 4),
    st.integers(0, 3),
    st.sampled_from([1, 3, 8]),
    st.booleans(),
)
def test_every_vector_has_a_cluster_within_the_fan_out(
    count: int, values: int, seed: int, dims: int, same: bool
) -> None:
    chance = np.random.default_rng(seed)
    codes = chance.integers(1, 1 + values, (count, dims)).astype(np.int8)
    codes = codes[:1].repeat(count, axis=0) if same else codes
    made = cluster(codes, NO_LINKS, (), seed, ClusterSettings(), _silent)
    again = cluster(codes, NO_LINKS, (), seed, ClusterSettings(), _silent)
    assert made.cluster_of.tolist() == again.cluster_of.tolist()
    assert made.centroids.tobytes() == again.centroids.tobytes()
    assert set(made.cluster_of.tolist()) == set(range(len(made.centroids)))
    assert set(made.group_of.tolist()) == set(range(len(made.group_centroids)))
    assert np.bincount(made.group_of).max() <= 16
    assert np.isfinite(made.near).all()


def test_neighbours_are_exact_and_ties_go_to_the_first() -> None:
    chance = np.random.default_rng(5)
    codes = chance.integers(-9, 9, (200, 16)).astype(np.int8)
    _, cosine = neighbours(codes, 10, _silent)
    units = codes / np.linalg.norm(codes.astype(float), axis=1, keepdims=True)
    likeness = (units @ units.T).round(9)
    np.fill_diagonal(likeness, -2)
    assert np.allclose(cosine, -np.sort(-likeness, axis=1)[:, :10], atol=1e-5)
    square = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]], np.int8)
    assert neighbours(square, 2, _silent)[0].tolist() == [[1, 3], [0, 2], [1, 3], [0, 2]]
