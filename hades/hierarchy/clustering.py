"""Clustering: two levels of clusters from vectors and links (HiRAG).

Level 1 is a consensus of two methods. HDBSCAN over the vectors finds dense cores, which stay
together. Leiden over a graph of nearest neighbours and relations joins cores and the chunks
between them. Chunks of communities that are too small go to the nearest centroid. Level 2 joins
clusters by Ward's criterion, at most FAN_OUT of them in one.

The same input gives the same clusters on every processor: products of int8 vectors are whole
numbers, and weights and resolutions are whole numbers or fractions of powers of two, so sums do not
depend on their order. Ties are decided by the number of a vector.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt

from hades.domain.hierarchy import FAN_OUT
from hades.errors import lacking
from hades.graph.arrays import Floats, Floats32, Ints
from hades.index.vectors import Codes, quantise

ALGORITHM = "2"
"""Change it when the same input no longer gives the same clusters."""
NOISE = -1
_EXACT_IN_FLOAT32 = 1 << 24
_BLOCK_PRODUCTS = 1 << 24
_PART = 64
_WEIGHT_UNIT = 1 << 10
"""Weights of edges are whole numbers, where this value stands for 1."""
_RESOLUTION_BITS = 30
_FIXED = 1 << 15
"""Centroids are summed in whole numbers, where this value stands for 1."""


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Parameters of clustering, recorded with each hierarchy. Small spaces get finer clusters."""

    neighbours: int = 15
    min_cluster_size: int = 5
    min_samples: int = 3
    fan_out: int = FAN_OUT
    clusters_per_root: float = 1.3
    """The number of clusters aimed at is this times the square root of the number of chunks."""
    clusters_at_most: int = FAN_OUT * FAN_OUT
    resolution_tries: int = 12
    leiden_iterations: int = 4

    @classmethod
    def of_size(cls, size: int) -> ClusterSettings:
        """Return the parameters for a number of vectors; from 225 on they are the defaults."""
        root = math.isqrt(size)
        return cls(neighbours=min(15, max(3, root)), min_cluster_size=min(5, max(3, root // 2)))


@dataclass(frozen=True, slots=True)
class Clustering:
    """Clusters of two levels. A cluster of level 1 is named by its position."""

    cluster_of: Ints
    """The cluster of each vector."""
    group_of: Ints
    """The cluster of level 2 of each cluster."""
    centroids: Floats32
    group_centroids: Floats32
    near: Floats
    """The cosine of each vector and the centroid of its cluster."""
    group_near: Floats
    """The cosine of each vector and the centroid of its cluster of level 2."""


Report = Callable[[str, int, int], None]


def versions() -> dict[str, str]:
    """Return the versions of the algorithm and of the libraries that decide the result."""
    libraries = ("scikit-learn", "igraph", "scipy", "numpy")
    return {"algorithm": ALGORITHM} | {name: version(name) for name in libraries}


def load_libraries() -> None:
    """Load scikit-learn and igraph; raise Unavailable if they are not installed."""
    try:
        import igraph  # noqa: F401
        import sklearn.cluster  # noqa: F401
    except ImportError as error:
        raise lacking("Organising needs", "organise") from error


def cluster(
    codes: Codes,
    links: Ints,
    sources: Sequence[Ints],
    seed: int,
    settings: ClusterSettings,
    report: Report,
) -> Clustering:
    """Return the clusters of vectors, given as int8 codes, and of links between them.

    `links` has three columns: two positions of vectors, and the weight in units of 1 / 1024.
    Each of `sources` numbers the source of every vector, such as its document.
    """
    distinct, place = _distinct(_within(codes, sources))
    low = _low_level(distinct, place, links, seed, settings, report)[place]
    centroids = _centroids(codes, low)
    sizes = np.bincount(low)
    group_of = _groups(centroids, sizes, settings.fan_out)
    group_centroids = _centroids(codes, group_of[low])
    return Clustering(
        low,
        group_of,
        centroids,
        group_centroids,
        nearness(codes, centroids, low),
        nearness(codes, group_centroids, group_of[low]),
    )


# Products of vectors, exactly


def _numbers(codes: Codes) -> npt.NDArray[Any]:
    """Return int8 vectors as floats whose products are whole numbers, exact in any order."""
    exact = 127 * 127 * codes.shape[1] < _EXACT_IN_FLOAT32
    return codes.astype(np.float32 if exact else np.float64)


def _norms(codes: Codes) -> Floats:
    squares = np.einsum("ij,ij->i", codes, codes, dtype=np.int64)
    norms: Floats = np.sqrt(np.maximum(squares, 1).astype(np.float64))
    return norms


def nearness(codes: Codes, centroids: Floats32, cluster_of: Ints) -> Floats:
    """Return the cosine of each vector and the centroid of its cluster, to 6 decimals."""
    coded = quantise(centroids)[0]
    norms = _norms(coded)
    own = np.zeros(len(codes))
    for first in range(0, len(codes), 8_192):
        part = slice(first, first + 8_192)
        of = cluster_of[part]
        products = np.einsum("ij,ij->i", codes[part], coded[of], dtype=np.int64)
        own[part] = products / (_norms(codes[part]) * norms[of])
    rounded: Floats = own.round(6)
    return rounded


def nearest_centroid(codes: Codes, centroids: Floats32) -> Ints:
    """Return the nearest centroid of each vector; a row of zeros is a missing centroid."""
    coded = quantise(centroids)[0]
    near = (_numbers(codes) @ _numbers(coded).T) / _norms(coded)
    near[:, ~coded.any(axis=1)] = -np.inf
    nearest: Ints = np.argmax(near, axis=1)
    return nearest


def _within(codes: Codes, sources: Sequence[Ints]) -> Codes:
    """Return vectors that lean to the mean of their sources.

    So a section with a common heading, a script or a table is grouped with the rest of its
    document.
    """
    own = codes / _norms(codes)[:, None]
    for source in sources:
        own += _centroids(codes, source)[source]
    return quantise(own.astype(np.float32))[0]


def _distinct(codes: Codes) -> tuple[Codes, Ints]:
    """Return the distinct vectors by first appearance, and where each vector is among them."""
    raw = np.ascontiguousarray(codes).view(np.dtype((np.void, codes.shape[1])))[:, 0]
    firsts, place = _by_first(raw)
    return codes[firsts], place


def _by_first(values: npt.NDArray[Any]) -> tuple[Ints, Ints]:
    """Number the different values by first appearance: where each begins, and each one's number."""
    _, firsts, place = np.unique(values, return_index=True, return_inverse=True)
    return np.sort(firsts), np.argsort(np.argsort(firsts))[place]


def neighbours(codes: Codes, count: int, report: Report) -> tuple[Ints, Floats]:
    """Return the nearest other vectors of each vector, and the cosines, to 6 decimals."""
    size = len(codes)
    norms = _norms(codes)
    count = min(count, size - 1)
    near = np.zeros((size, count), np.int64)
    cosine = np.zeros((size, count))
    step = max(1, _BLOCK_PRODUCTS // size)
    inverse = (1 / norms).astype(np.float32)
    numbers = _numbers(codes)
    # The maxima of parts of a row give a bound below its nearest vectors, faster than the row.
    part = max(1, min(_PART, size // (4 * count)))
    width = size // part * part
    for first in range(0, size, step):
        rows = np.arange(first, min(first + step, size))
        products = numbers[rows] @ numbers.T
        likeness = products * inverse
        likeness[rows - first, rows] = -np.inf
        best = likeness[:, :width].reshape(len(rows), -1, part).max(axis=2)
        at_least = np.partition(best, best.shape[1] - count, axis=1)[:, -count, None]
        row, column = np.nonzero(likeness >= at_least)
        order = np.lexsort((column, -likeness[row, column], row))
        row = row[order]
        column = column[order]
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        row, column, rank = (part[rank < count] for part in (row, column, rank))
        near[rows[row], rank] = column
        exact = products[row, column].astype(np.float64) / (norms[rows[row]] * norms[column])
        cosine[rows[row], rank] = exact.round(6)
        report("comparing vectors", int(rows[-1]) + 1, size)
    return near, cosine


# Level 1


def _low_level(
    codes: Codes, place: Ints, links: Ints, seed: int, settings: ClusterSettings, report: Report
) -> Ints:
    """Return the cluster of each different vector."""
    size = len(codes)
    if size < 2 * settings.min_cluster_size:
        return np.zeros(size, np.int64)
    near, cosine = neighbours(codes, settings.neighbours, report)
    report("finding clusters", 0, 0)
    pairs = np.column_stack([np.repeat(np.arange(size), near.shape[1]), near.ravel()])
    ends, which = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)
    cosines = cosine.ravel()[which]
    cores = _cores(size, ends, 1 - cosines, 1 - cosine, settings)
    units = np.rint(np.maximum(cosines, 0) * _WEIGHT_UNIT).astype(np.int64)
    related = np.column_stack([np.sort(place[links[:, :2]], axis=1), links[:, 2]])
    edges = np.concatenate([np.column_stack([ends, units]), related])
    aim = int(settings.clusters_per_root * math.sqrt(size))
    aim = max(2, min(aim, settings.clusters_at_most, size // settings.min_cluster_size))
    communities = _communities(cores, edges, aim, seed, settings)
    return _settled(codes, communities, settings)


def _cores(
    size: int, ends: Ints, distances: Floats, near: Floats, settings: ClusterSettings
) -> Ints:
    """Return the HDBSCAN core of each vector, or NOISE.

    Leaf selection depends only on the order of mutual reachability distances. HDBSCAN gets their
    ranks instead, which have no ties, because sorting orders ties differently on different
    processors.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
    from sklearn.cluster import HDBSCAN

    # A vector itself counts as the first sample.
    reach = near[:, min(settings.min_samples, near.shape[1] + 1) - 2]
    mutual = np.maximum(distances, np.maximum(reach[ends[:, 0]], reach[ends[:, 1]]))
    order = np.lexsort((ends[:, 1], ends[:, 0], mutual))
    graph = coo_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), (size, size))
    part = connected_components(graph, directed=False)[1]
    firsts = np.sort(np.unique(part, return_index=True)[1])
    # HDBSCAN takes a connected graph only: join the parts by the longest edges.
    joins = np.column_stack([firsts[:-1], firsts[1:]])
    ends = np.concatenate([ends[order], joins])
    ranks = np.arange(1.0, len(ends) + 1)
    both = np.concatenate([ends, ends[:, ::-1]])
    matrix = coo_matrix((np.tile(ranks, 2), (both[:, 0], both[:, 1])), (size, size)).tocsr()
    labels = HDBSCAN(
        min_cluster_size=settings.min_cluster_size,
        min_samples=1,  # the ranks are of mutual reachability already
        metric="precomputed",
        cluster_selection_method="leaf",
        copy=True,
    ).fit_predict(matrix)
    return np.asarray(labels, np.int64)


def _communities(cores: Ints, edges: Ints, aim: int, seed: int, settings: ClusterSettings) -> Ints:
    """Return the Leiden community of each vector; a core is in one community.

    Leiden maximises the constant Potts model. Its resolution is searched until about `aim`
    communities are large enough.
    """
    import igraph

    alone = np.flatnonzero(cores == NOISE)
    node_of = cores.copy()
    node_of[alone] = cores.max(initial=NOISE) + 1 + np.arange(len(alone))
    weights = np.bincount(node_of)
    ends = np.sort(node_of[edges[:, :2]], axis=1)
    outer = ends[:, 0] != ends[:, 1]
    joined, at = np.unique(ends[outer], axis=0, return_inverse=True)
    units = np.zeros(len(joined), np.int64)
    np.add.at(units, at.ravel(), edges[outer, 2])
    graph = igraph.Graph(n=len(weights), edges=joined.tolist())
    low = 0
    high = 2 * _RESOLUTION_BITS
    best = (aim + 1, np.zeros(len(weights), np.int64))
    for _ in range(settings.resolution_tries):
        if high - low <= 1:
            break
        middle = (low + high) // 2
        # Powers of the square root of two, as whole multiples of 2^-30.
        parts = round(math.sqrt(2.0**middle))
        igraph.set_random_number_generator(random.Random(seed))
        communities = graph.community_leiden(
            objective_function="CPM",
            weights=units.tolist(),
            node_weights=weights.tolist(),
            resolution=parts * _WEIGHT_UNIT / (1 << _RESOLUTION_BITS),
            n_iterations=settings.leiden_iterations,
        )
        member = np.array(communities.membership, np.int64)
        large = int((np.bincount(member, weights) >= settings.min_cluster_size).sum())
        best = min(best, (abs(large - aim), member), key=lambda pair: pair[0])
        low, high = (middle, high) if large < aim else (low, middle)
    igraph.set_random_number_generator(None)
    return best[1][node_of]


def _settled(codes: Codes, communities: Ints, settings: ClusterSettings) -> Ints:
    """Number the clusters by their first vector; vectors of small clusters move to the nearest
    one."""
    large = np.bincount(communities) >= settings.min_cluster_size
    kept = large[communities]
    if not kept.any():
        return np.zeros(len(codes), np.int64)
    if not kept.all():
        names = np.unique(communities[kept])
        own = np.searchsorted(names, communities[kept])
        centroids = _centroids(codes[kept], own)
        communities = communities.copy()
        lost = np.flatnonzero(~kept)
        for first in range(0, len(lost), 8_192):
            rows = lost[first : first + 8_192]
            communities[rows] = names[nearest_centroid(codes[rows], centroids)]
    return _by_first(communities)[1]


def _centroids(codes: Codes, cluster_of: Ints) -> Floats32:
    """Return the mean direction of the vectors of each cluster, computed in whole numbers."""
    count = int(cluster_of.max()) + 1
    sums = np.zeros((count, codes.shape[1]), np.int64)
    for first in range(0, len(codes), 8_192):
        part = codes[first : first + 8_192]
        units = np.rint(part * (_FIXED / _norms(part))[:, None]).astype(np.int64)
        np.add.at(sums, cluster_of[first : first + 8_192], units)
    lengths = [math.sqrt(sum(value * value for value in row)) or 1.0 for row in sums.tolist()]
    centroids: Floats32 = (sums / np.array(lengths)[:, None]).astype(np.float32)
    return centroids


# Level 2


def _groups(centroids: Floats32, sizes: Ints, fan_out: int) -> Ints:
    """Return the cluster of level 2 of each cluster: Ward's agglomeration with a fan-out cap.

    It stops at the square root of the number of clusters, or when no two groups fit into one.
    """
    count = len(centroids)
    aim = max(1, round(math.sqrt(count)))
    exact = np.rint(centroids.astype(np.float64) * _FIXED)
    sums = exact * sizes[:, None]
    weight = sizes.astype(np.float64)
    group = np.arange(count)
    children = np.ones(count, np.int64)
    alive = np.ones(count, np.bool_)
    cost = np.full((count, count), np.inf)

    def set_costs(joined: int) -> None:
        """Set the cost of merging a group with each of the others."""
        means = sums / weight[:, None]
        apart = np.square(means - means[joined]).sum(axis=1)
        fits = alive & (children + children[joined] <= fan_out)
        fits[joined] = False
        ward = (weight * weight[joined] / (weight + weight[joined]) * apart).round()
        cost[joined, :] = cost[:, joined] = np.where(fits, ward, np.inf)

    for each in range(count):
        set_costs(each)
    while alive.sum() > aim and np.isfinite(cost.min(initial=np.inf)):
        kept, other = divmod(int(np.argmin(cost)), count)
        sums[kept] += sums[other]
        weight[kept] += weight[other]
        children[kept] += children[other]
        alive[other] = False
        group[group == other] = kept
        cost[other, :] = cost[:, other] = np.inf
        set_costs(kept)
    return np.unique(group, return_inverse=True)[1]
