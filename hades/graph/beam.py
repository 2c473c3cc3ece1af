"""Beam search: a few good paths from the seeds, within hard limits (the PathRAG plan).

Every hop extends the newest paths by their best neighbours, chosen by the weight of the arc and
by how well they match the words of the question. The best paths of all hops together stay. Barred
nodes are removed before the choice. Everything that is trimmed, and why, is counted.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from hades.domain.graph import Reason
from hades.errors import InvalidInput
from hades.graph.adjacency import Neighbours, open_arcs
from hades.graph.arrays import Deadline, Flags, Floats, Ints
from hades.graph.trims import Trim, Trims

Covered = Callable[[Iterable[tuple[int, ...]]], bool]
"""Returns whether the nodes of one of these paths answer the question."""
EDGE = 0.5
LEXICAL = 0.5
DEPTH = 0.1
REDUNDANCY = 0.3
"""Weights of the parts of a path's score; the score of its seed has weight 1."""
BEST_SCORE = 1 + EDGE + LEXICAL
_SAME = 12
"""Floats that agree to this many decimals are ties, which go to the smaller node numbers."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Limits of a search, which are never exceeded."""

    hops: int = 1
    fanout: int = 2
    """How many neighbours may continue one path."""
    beam: int = 8
    """How many paths are kept, over all hops together."""
    documents: int = 160
    """How many different nodes are looked at, seeds included."""

    def __post_init__(self) -> None:
        if min(self.hops, self.fanout, self.beam, self.documents) < 0:
            raise InvalidInput("hops, fanout, beam and documents are 0 or more")


@dataclass(slots=True)
class BeamPath:
    """A path from a seed, with the parts of its score."""

    nodes: tuple[int, ...]
    weights: tuple[float, ...]
    seed: float
    bits: int
    """The nodes as bits of one number, so that shared nodes are found by one operation."""
    lexical: float = 0.0
    """How well its best node after the seed matches the words of the question, 0 to 1."""
    redundancy: float = 0.0
    """The largest share of nodes in common with a better path."""
    alone: float = field(init=False)
    """Its score without the penalty for redundancy."""

    def __post_init__(self) -> None:
        edge = sum(self.weights) / self.hops if self.hops else 0.0
        self.alone = self.seed + EDGE * edge + LEXICAL * self.lexical - DEPTH * self.hops

    @property
    def hops(self) -> int:
        """The number of arcs."""
        return len(self.weights)

    @property
    def score(self) -> float:
        """Its score with the penalty for redundancy."""
        return self.alone - REDUNDANCY * self.redundancy


@dataclass(frozen=True, slots=True)
class Beam:
    """The paths that were kept, best first, and what was left out on the way."""

    paths: tuple[BeamPath, ...]
    trims: tuple[Trim, ...]
    read: int
    """The number of different nodes that were looked at and count towards `documents`."""


def beam(
    graph: Neighbours,
    seeds: Ints,
    scores: Floats,
    *,
    caps: Caps = Caps(),
    barred: Flags | None = None,
    counted: Flags | None = None,
    lexical: Floats | None = None,
    covered: Covered | None = None,
    deadline: Deadline | None = None,
) -> Beam:
    """Return the best paths from scored seeds, which are paths too. None has a `barred` node.

    `counted` flags the nodes that count towards `caps.documents` (default: all). `lexical` is how
    well each node matches the words of the question, 0 to 1. The search stops when `covered`
    returns True for the newest paths, or when `deadline` returns True.
    """
    search = _Search(graph, caps, barred, counted, lexical)
    kept = search.choose(search.starts(seeds, scores))
    for hop in range(caps.hops):
        newest = [path for path in kept if path.hops == hop]
        if not newest:
            break
        if deadline and deadline():
            search.trims.add(Reason.TIMEOUT, "paths", len(newest))
            break
        if covered and covered(path.nodes for path in newest):
            search.trims.add(Reason.COVERAGE_REACHED, "paths", len(newest))
            break
        kept = search.choose([*kept, *search.widen(newest, deadline)])
    return Beam(tuple(kept), search.trims.all(), search.read)


class _Search:
    """The state of one search."""

    def __init__(
        self, graph: Neighbours, caps: Caps, barred: Flags | None, counted: Flags | None,
        lexical: Floats | None,
    ) -> None:  # fmt: skip
        self._graph = graph
        self._size = len(graph)
        self._caps = caps
        self._barred = barred
        self._counted = counted
        self._lexical = np.zeros(self._size) if lexical is None else lexical
        self._seen: set[int] = set()
        self._bits: dict[int, int] = {}
        self._lists: dict[int, tuple[list[tuple[int, float]], int]] = {}
        self.trims = Trims()
        self.read = 0

    def starts(self, seeds: Ints, scores: Floats) -> list[BeamPath]:
        """Return the best seeds as paths of one node, without barred ones, within the budget."""
        best: dict[int, float] = {}
        for node, score in zip(
            np.asarray(seeds).tolist(), np.asarray(scores).tolist(), strict=True
        ):
            if not 0 <= node < self._size:
                raise InvalidInput(f"seeds are nodes from 0 to {self._size - 1}")
            if self._barred is None or not self._barred[node]:
                best[node] = max(score, best.get(node, score))
        order = sorted(best, key=lambda node: (-best[node], node))
        self.trims.add(Reason.CAP_EXCEEDED, "beam", len(order) - self._caps.beam)
        order = order[: self._caps.beam]
        return [
            BeamPath((node,), (), best[node], self._bit(node))
            for node in order
            if self._may_read(node)
        ]

    def widen(self, paths: list[BeamPath], deadline: Deadline | None) -> list[BeamPath]:
        """Return only the longer paths: every path continued by each of its best neighbours."""
        self._list(path.nodes[-1] for path in paths)
        longer: list[BeamPath] = []
        for number, path in enumerate(paths):
            if deadline and deadline():
                self.trims.add(Reason.TIMEOUT, "paths", len(paths) - number)
                break
            for node, weight in self._strongest(path):
                if self._may_read(node):
                    nodes = (*path.nodes, node)
                    weights = (*path.weights, weight)
                    bits = path.bits | self._bit(node)
                    lexical = max(path.lexical, float(self._lexical[node]))
                    longer.append(BeamPath(nodes, weights, path.seed, bits, lexical))
        return longer

    def choose(self, paths: list[BeamPath]) -> list[BeamPath]:
        """Return the `caps.beam` best paths, each penalised for nodes shared with better ones.

        A score can only fall as more paths are chosen, so only the leading path is scored again.
        """
        heap = [(-round(p.alone, _SAME), p.nodes, 0, 0.0, at) for at, p in enumerate(paths)]
        heapq.heapify(heap)
        kept: list[BeamPath] = []
        chosen: list[int] = []
        while heap and len(kept) < self._caps.beam:
            _, nodes, known, redundancy, at = heap[0]
            path = paths[at]
            if known < len(kept):
                redundancy = max(redundancy, _most_common(path.bits, chosen[known:]))
                score = round(path.alone - REDUNDANCY * redundancy, _SAME)
                heapq.heapreplace(heap, (-score, nodes, len(kept), redundancy, at))
                continue
            heapq.heappop(heap)
            path.redundancy = redundancy
            kept.append(path)
            chosen.append(path.bits)
        self.trims.add(Reason.CAP_EXCEEDED, "beam", len(heap))
        return kept

    def _bit(self, node: int) -> int:
        return self._bits.setdefault(node, 1 << len(self._bits))

    def _strongest(self, path: BeamPath) -> list[tuple[int, float]]:
        listed, others = self._lists[path.nodes[-1]]
        arcs = [arc for arc in listed if arc[0] not in path.nodes]
        self.trims.add(Reason.CAP_EXCEEDED, "fanout", len(arcs) + others - self._caps.fanout)
        return arcs[: self._caps.fanout]

    def _list(self, nodes: Iterable[int]) -> None:
        """Store the best arcs of nodes, as many as a path may need, and the number of the others.

        This is done once per node, because a node may have a million arcs and be on every path.
        """
        new = [node for node in dict.fromkeys(nodes) if node not in self._lists]
        if not new:
            return
        owner, targets, weights = open_arcs(self._graph, new, self._barred)
        worth = EDGE * weights + LEXICAL * self._lexical[targets]
        order = np.lexsort((targets, -worth, owner))
        ends = np.cumsum(np.bincount(owner, minlength=len(new))).tolist()
        most = self._caps.fanout + self._caps.hops + 1
        start = 0
        for node, end in zip(new, ends, strict=True):
            best = order[start : min(end, start + most)]
            arcs = list(zip(targets[best].tolist(), weights[best].tolist(), strict=True))
            self._lists[node] = arcs, end - start - len(arcs)
            start = end

    def _may_read(self, node: int) -> bool:
        """Return whether the budget allows a node; deduct it if it is new and counts."""
        if node in self._seen or (self._counted is not None and not self._counted[node]):
            return True
        if self.read >= self._caps.documents:
            self.trims.add(Reason.BUDGET_EXHAUSTED, "documents")
            return False
        self._seen.add(node)
        self.read += 1
        return True


def _most_common(path: int, others: list[int]) -> float:
    """Return the largest Jaccard similarity to another path; a path is a bit set of nodes."""
    shares = ((path & other).bit_count() / (path | other).bit_count() for other in others)
    return max(shares, default=0.0)
