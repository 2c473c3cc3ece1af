"""The graph room: local push against igraph and networkx, flows against trying every path."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from itertools import pairwise, permutations
from typing import Any

import numpy as np

from bench.table import note, percentiles, show
from hades.graph import ppr
from hades.graph.adjacency import Adjacency
from hades.graph.flow import best_paths
from hades.graph.paths import between

CLOCK = time.process_time_ns
"""Everything here runs on one core and waits for nothing, so that processor time is what counts;
it hardly moves when the machine is busy with something else."""
EDGES_A_NODE = 5
SEEDS = 5
NETWORKX_UP_TO_NODES = 100_000
"""Beyond this it is left out to save time: it took 3.7 s a query here already."""
THETA = 0.001
"""The paper's .05 stops after one hop where every node has ten neighbours."""
LONGEST_ARCS = 4


def _seconds(call: Callable[[], object]) -> float:
    start = CLOCK()
    call()
    return (CLOCK() - start) / 1e9


def _peer(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise SystemExit(
            f"{name} is not installed: run `make bench`, or install '.[bench]'."
        ) from None


def _made(count: int) -> tuple[Any, Any, Any]:
    generator = np.random.default_rng(count)
    a, b = generator.integers(0, count, (2, EDGES_A_NODE * count))
    return a, b, generator.choice([1.0, 0.3], EDGES_A_NODE * count)


def _queries(count: int, many: int) -> list[tuple[Any, Any]]:
    generator = np.random.default_rng(7)
    return [
        (generator.integers(0, count, SEEDS), generator.random(SEEDS) + 0.1) for _ in range(many)
    ]


def _igraph(peer: Any, count: int, graph: Adjacency) -> Callable[[Any], object]:
    a, b, w = graph.arcs()
    once = a < b
    made = peer.Graph(n=count, edges=np.stack([a[once], b[once]], 1))
    weights = w[once].tolist()

    def ask(query: Any) -> object:
        reset = np.bincount(query[0], query[1], count).tolist()
        return made.personalized_pagerank(
            damping=ppr.DAMPING, reset=reset, weights=weights, implementation="prpack"
        )

    return ask


def _networkx(peer: Any, count: int, graph: Adjacency) -> Callable[[Any], object]:
    made = peer.Graph()
    made.add_nodes_from(range(count))
    a, b, w = graph.arcs()
    made.add_weighted_edges_from(zip(a.tolist(), b.tolist(), w.tolist(), strict=True))

    def ask(query: Any) -> object:
        seeds = dict(zip(query[0].tolist(), query[1].tolist(), strict=True))
        return peer.pagerank(made, alpha=ppr.DAMPING, personalization=seeds)

    return ask


def _overlap(graph: Adjacency, query: Any, epsilon: float, true: Any) -> float:
    found = ppr.walk(graph, *query, epsilon=epsilon).best(100)
    best = np.lexsort((np.arange(len(true)), -true))[:100]
    return len(np.intersect1d(found.nodes, best)) / 100


def _pushes(sizes: list[int]) -> None:
    igraph, networkx = _peer("igraph"), _peer("networkx")
    ppr.kernel.wait()
    rows, overlaps = [], []
    for count in sizes:
        note(f"{count:,} nodes")
        arcs = _made(count)
        graph: Any = None

        def build(count: int = count, arcs: Any = arcs) -> None:
            nonlocal graph
            graph = Adjacency.undirected(count, *arcs)

        built = _seconds(build)
        barred = np.zeros(count, np.bool_)
        barred[::10] = True
        barred.flags.writeable = False
        queries = _queries(count, 200)
        ours = _timed(graph, queries, barred)
        peers = [
            percentiles(make(peer, count, graph), queries[:many], CLOCK)[0] / 1000 if fits else None
            for make, peer, many, fits in (
                (_igraph, igraph, 3 if count < 10**6 else 1, True),
                (_networkx, networkx, 3 if count < 10**5 else 1, count <= NETWORKX_UP_TO_NODES),
            )
        ]
        rows.append(
            (
                *(f"{count:,}", f"{len(graph.arcs()[0]):,}", f"{built:.2f} s"),
                *(f"{one:.2f}" for one in ours),
                *(f"{one:,.0f} ({one / ours[1]:,.0f}×)" if one else "–" for one in peers),
            )
        )
        overlaps.append((f"{count:,}", *_overlaps(graph, queries[:3])))
    note("")
    show(
        "Personalised PageRank, d = .5, processor ms p50; ratios to ε = 1e-6",
        (
            *("nodes", "arcs", "build", "ε = 1e-5", "ε = 1e-6", "1e-6, a tenth barred"),
            *("numpy 1e-5", "igraph prpack", "networkx"),
        ),
        rows,
    )
    show(
        "Top-100 in common with the exact PageRank, three queries",
        ("nodes", "ε = 1e-5", "ε = 1e-6", "ε = 1e-7", "exact, numpy, s"),
        overlaps,
    )


def _timed(graph: Adjacency, queries: list[Any], barred: Any) -> list[float]:
    """ε = 1e-5, 1e-6, 1e-6 under a mask, and numpy at 1e-5, in milliseconds."""

    def with_numpy(query: Any) -> None:
        ppr._with_numpy(graph, [ppr.seeded(graph, *query, None)], ppr.DAMPING, 1e-5, None, None)

    calls: list[tuple[Callable[[Any], object], int]] = [
        (lambda query: ppr.walk(graph, *query, epsilon=1e-5), 200),
        (lambda query: ppr.walk(graph, *query, epsilon=1e-6), 200),
        (lambda query: ppr.walk(graph, *query, epsilon=1e-6, barred=barred), 200),
        (with_numpy, 20),
    ]
    return [percentiles(call, queries[:many], CLOCK)[0] / 1000 for call, many in calls]


def _exact(graph: Adjacency, seeds: Any, weights: Any) -> Any:
    """PageRank over the whole graph by power iteration, until the scores hardly move."""
    sources, targets, chances = graph.arcs()
    chances = chances / np.bincount(sources, chances, len(graph))[sources]
    begin = (1 - ppr.DAMPING) * np.bincount(seeds, weights / weights.sum(), len(graph))
    scores, moved = begin, 1.0
    while moved > 1e-10:
        walked = np.bincount(targets, scores[sources] * chances, len(graph))
        new = begin + ppr.DAMPING * walked
        moved, scores = float(np.abs(new - scores).sum()), new
    return scores


def _overlaps(graph: Adjacency, queries: list[Any]) -> list[str]:
    shares: list[list[float]] = [[], [], []]
    took = 0.0
    for query in queries:
        true: Any = None

        def solve(query: Any = query) -> None:
            nonlocal true
            true = _exact(graph, *query)

        took += _seconds(solve)
        for share, epsilon in zip(shares, (1e-5, 1e-6, 1e-7), strict=True):
            share.append(_overlap(graph, query, epsilon, true))
    return [*(f"{np.mean(share):.3f}" for share in shares), f"{took / len(queries):.2f}"]


def every_path(
    arcs: dict[int, dict[int, float]], source: int, target: int, longest: int
) -> list[tuple[float, tuple[int, ...]]]:
    """The plain way: flow in dicts, then every simple path, scored and sorted."""
    holds, layer = {source: 1.0}, [source]
    carry = {source}
    while layer:
        arriving: dict[int, float] = {}
        for node in layer:
            out = arcs.get(node, {})
            if node != source and (not out or holds[node] / len(out) < THETA):
                continue
            carry.add(node)
            total = sum(out.values())
            for other, weight in out.items():
                if other not in holds:
                    part = 0.8 * holds[node] * weight / total
                    arriving[other] = arriving.get(other, 0.0) + part
        holds |= arriving
        layer = [*arriving]
    found = []
    stack = [(source,)]
    while stack:
        nodes: tuple[int, ...] = stack.pop()
        if nodes[-1] == target:
            found.append((sum(holds[n] for n in nodes) / (len(nodes) - 1), nodes))
        elif len(nodes) <= longest and nodes[-1] in carry:
            stack += [(*nodes, other) for other in arcs[nodes[-1]] if other not in nodes]
    return sorted(found, key=lambda path: (-round(path[0], 12), path[1]))


def every_best(
    arcs: dict[int, dict[int, float]],
    source: int,
    target: int,
    longest: int,
    score: Callable[[list[float]], float],
) -> list[tuple[float, tuple[int, ...]]]:
    """The plain way to the best paths by weight: every simple path, scored and sorted."""
    found = []
    stack = [(source,)]
    while stack:
        nodes: tuple[int, ...] = stack.pop()
        if nodes[-1] == target:
            found.append((score([arcs[a][b] for a, b in pairwise(nodes)]), nodes))
        elif len(nodes) <= longest:
            stack += [(*nodes, other) for other in arcs[nodes[-1]] if other not in nodes]
    return sorted(found, key=lambda path: (-round(path[0], 9), len(path[1]), path[1]))


def _flows(sizes: list[int]) -> None:
    rows = []
    for count in sizes:
        graph = Adjacency.undirected(count, *_made(count))
        arcs: dict[int, dict[int, float]] = {}
        for a, b, w in zip(*(column.tolist() for column in graph.arcs()), strict=True):
            arcs.setdefault(a, {})[b] = w
        pairs = _pairs(arcs, count)
        for what, ours, theirs in _rivals(graph, arcs):
            rows.append(_compared(what, count, ours, theirs, pairs))
        groups = [[*dict.fromkeys((near, *arcs[near]))][:10] for near, _ in pairs]
        ours, theirs = _among(graph, arcs)
        rows.append(_compared("flow among 10 neighbours", count, ours, theirs, groups))
    show(
        f"Best paths of at most {LONGEST_ARCS} arcs, ends two hops apart, processor ms p50",
        ("what", "nodes", "HADES", "every path", "ratio", "same answer"),
        rows,
    )


def _pairs(arcs: Any, count: int) -> list[tuple[int, int]]:
    """Nodes two hops apart, or one."""
    generator = np.random.default_rng(9)
    pairs = []
    for source in generator.integers(0, count, 30).tolist():
        target = generator.choice([*arcs[next(iter(arcs[source]))]])
        if target != source:
            pairs.append((source, int(target)))
    return pairs


def _compared(what: str, count: int, ours: Any, theirs: Any, asked: list[Any]) -> list[str]:
    mine, plain = (percentiles(one, asked, CLOCK)[0] for one in (ours, theirs))
    same = sum(ours(one) == theirs(one) for one in asked)
    times = f"{mine / 1000:.2f}", f"{plain / 1000:.2f}", f"{plain / mine:.1f}×"
    return [what, f"{count:,}", *times, f"{same} of {len(asked)}"]


def _among(graph: Adjacency, arcs: Any) -> tuple[Any, Any]:
    """The 15 best of the best paths between every two of a few nodes."""

    def ours(nodes: list[int]) -> Any:
        pairs = [*permutations(nodes, 2)]
        found = best_paths(graph, pairs, theta=THETA, nodes=10**9, longest=LONGEST_ARCS)
        return [path.nodes for path in found.paths]

    def theirs(nodes: list[int]) -> Any:
        pairs = permutations(nodes, 2)
        found = [every_path(arcs, *pair, LONGEST_ARCS)[:1] for pair in pairs]
        best = sorted(
            (path for one in found for path in one), key=lambda p: (-round(p[0], 12), p[1])
        )
        return [nodes for _, nodes in best[:15]]

    return ours, theirs


def _by_weight(weights: list[float]) -> float:
    return sum(math.log(w) for w in weights)


def _rivals(graph: Adjacency, arcs: Any) -> list[tuple[str, Any, Any]]:
    longest = LONGEST_ARCS

    def flowed(pair: tuple[int, int]) -> Any:
        found = best_paths(graph, [pair], theta=THETA, nodes=10**9, longest=longest)
        return found.paths[0].nodes

    def best(pair: tuple[int, int]) -> Any:
        found = between(graph, [pair[0]], [pair[1]], keep=1, longest=longest, nodes=10**9)
        return found.paths[0].nodes

    return [
        (f"flow, θ = {THETA}", flowed, lambda pair: every_path(arcs, *pair, longest)[0][1]),
        ("by weight", best, lambda pair: every_best(arcs, *pair, longest, _by_weight)[0][1]),
    ]


def run(*, small: bool) -> None:
    """Measure the graph room."""
    print("## Graph\n")
    sizes = [10_000, 100_000] if small else [10_000, 100_000, 1_000_000]
    _pushes(sizes)
    _flows(sizes[:2])
