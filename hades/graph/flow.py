"""Flow: the few paths between two things that carry the most (PathRAG).

The source holds 1. Hop by hop, every node passes on α of the amount that it holds, split by the
weights of its arcs. Each node is reached at one hop only. A node that would give each neighbour
less than θ passes nothing on, so at most 1/((1−α)θ) arcs are followed besides those of the
source, however large the graph. The reliability of a path is the sum of the amounts that its nodes
hold, divided by its number of arcs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass

from hades.domain.graph import Reason
from hades.errors import InvalidInput
from hades.graph.adjacency import Neighbours
from hades.graph.flow_paths import Field, Scoring, best_between
from hades.graph.row_cache import RowCache
from hades.graph.trims import Trim, Trims

Deadline = Callable[[], bool]

ALPHA = 0.8
THETA = 0.05
"""PathRAG's values."""
NODES = 40
KEEP = 15
LONGEST_ARCS = 5


@dataclass(frozen=True, slots=True)
class FlowPath:
    """A path and its reliability."""

    nodes: tuple[int, ...]
    reliability: float
    parts: tuple[float, ...]
    """The amount that each node holds."""


@dataclass(frozen=True, slots=True)
class FlowPaths:
    """The best paths, best first, and what was left out on the way."""

    paths: tuple[FlowPath, ...]
    trims: tuple[Trim, ...]


def flow(
    graph: Neighbours,
    source: int,
    *,
    alpha: float = ALPHA,
    theta: float = THETA,
    nodes: int = NODES,
    longest: int = LONGEST_ARCS,
    ends: Set[int] = frozenset(),
    trims: Trims | None = None,
) -> Field:
    """Return the amounts that flow from a source within `longest` hops.

    The flow reaches at most `nodes` nodes; nodes in `ends` do not count.
    """
    if not 0 <= source < len(graph) or not theta > 0:
        raise InvalidInput("a flow needs a source in the graph and theta above 0")
    trims = trims or Trims()
    rows = RowCache(graph, None)
    field = Field(source, {source: 1.0})
    layer, depth, counted = [source], 0, 0
    while layer and depth < longest:
        layer = [node for node in layer if field.holds[node] >= theta or node == source]
        rows.fetch(layer)
        arriving: dict[int, float] = {}
        for node in layer:
            targets, weights, total = rows[node]
            held = field.holds[node]
            # The source always passes on; another node only if each neighbour gets enough.
            if node != source and (not targets or held / len(targets) < theta):
                continue
            field.carry(node, targets, weights)
            passed = alpha * held / total if total else 0.0
            for other, weight in zip(targets, weights, strict=True):
                if other not in field.holds:
                    arriving[other] = arriving.get(other, 0.0) + passed * weight
        layer, used = _strongest(arriving, max(0, nodes - 1 - counted), ends)
        trims.add(Reason.CAP_EXCEEDED, "nodes", len(arriving) - len(layer))
        field.holds.update((node, arriving[node]) for node in layer)
        depth, counted = depth + 1, counted + used
    return field


def best_paths(
    graph: Neighbours,
    pairs: Iterable[tuple[int, int]],
    *,
    keep: int = KEEP,
    per_pair: int = 1,
    alpha: float = ALPHA,
    theta: float = THETA,
    nodes: int = NODES,
    longest: int = LONGEST_ARCS,
    deadline: Deadline | None = None,
) -> FlowPaths:
    """Return the best `keep` of the best `per_pair` paths of each pair, best first."""
    targets: dict[int, dict[int, None]] = {}
    for source, target in pairs:
        if source != target:
            targets.setdefault(source, {})[target] = None
    trims, between = Trims(), []
    for number, (source, ends) in enumerate(targets.items()):
        if deadline and deadline():
            trims.add(Reason.TIMEOUT, "sources", len(targets) - number)
            break
        reached = flow(
            graph, source, alpha=alpha, theta=theta, nodes=nodes, longest=longest,
            ends=ends.keys(), trims=trims,
        )  # fmt: skip
        scoring = Scoring(reached)
        for done, target in enumerate(ends):
            if done and deadline and deadline():
                trims.add(Reason.TIMEOUT, "targets", len(ends) - done)
                break
            between += best_between(reached, target, scoring, per_pair, longest, trims)
    paths = [FlowPath(nodes, reliability, parts) for reliability, nodes, parts in between]
    paths.sort(key=lambda path: (-round(path.reliability, 12), path.nodes))
    trims.add(Reason.CAP_EXCEEDED, "paths", len(paths) - keep)
    return FlowPaths(tuple(paths[:keep]), trims.all())


def _strongest(arriving: dict[int, float], room: int, ends: Set[int]) -> tuple[list[int], int]:
    """Return the strongest `room` nodes and all ends, and how many of the nodes are not ends."""
    if len(arriving) <= room:
        return [*arriving], sum(node not in ends for node in arriving)
    order = sorted(arriving, key=lambda node: (-round(arriving[node], 12), node))
    counted = [node for node in order if node not in ends][:room]
    return [*counted, *(node for node in order if node in ends)], len(counted)
