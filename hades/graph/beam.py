"""Beam search: a few good paths from the seeds, within hard limits (source document 001).

Every hop widens the newest paths of the beam by their best neighbours, by the weight of the arc
and the words they say; the best paths of all hops together stay. What is barred is pruned
before anything is chosen. Whatever is trimmed, and why the search stopped, is counted.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from hades.domain.graph import Reason
from hades.errors import InvalidInput
from hades.graph.adjacency import Mask, Neighbours, Nodes
from hades.graph.ppr import Scores
from hades.graph.trims import Trim, Trims

Deadline = Callable[[], bool]
Covered = Callable[[Iterable[tuple[int, ...]]], bool]
"""Whether the nodes of one of these paths say enough."""
EDGE, LEXICAL, DEPTH, REDUNDANCY = 0.5, 0.5, 0.1, 0.3
"""How the parts of a score are weighed; the seed's own counts 1."""
BEST_SCORE = 1 + EDGE + LEXICAL
_SAME = 12


@dataclass(frozen=True, slots=True)
class Caps:
    """Limits that are never exceeded."""

    hops: int = 1
    fanout: int = 2
    """So many neighbours continue one path."""
    beam: int = 8
    """So many paths are kept, over all hops together."""
    documents: int = 160
    """So many different nodes are looked at, seeds included."""

    def __post_init__(self) -> None:
        if min(self.hops, self.fanout, self.beam, self.documents) < 0:
            raise InvalidInput("hops, fanout, beam and documents are 0 or more")


@dataclass(slots=True)
class BeamPath:
    """A path from a seed, with what its score needs worked out once."""

    nodes: tuple[int, ...]
    weights: tuple[float, ...]
    seed: float
    bits: int
    """The nodes as bits of one number, so that sharing is one operation."""
    lexical: float = 0.0
    """How well the words of the question match what it came to: of its nodes, the best."""
    redundancy: float = 0.0
    """The largest share of nodes in common with a path that was kept before."""
    alone: float = field(init=False)
    """Its score without regard to other paths."""

    def __post_init__(self) -> None:
        edge = sum(self.weights) / self.hops if self.hops else 0.0
        self.alone = self.seed + EDGE * edge + LEXICAL * self.lexical - DEPTH * self.hops

    @property
    def hops(self) -> int:
        """How many arcs it has."""
        return len(self.weights)

    @property
    def score(self) -> float:
        """How good it is beside those that were kept before."""
        return self.alone - REDUNDANCY * self.redundancy


@dataclass(frozen=True, slots=True)
class Beam:
    """The paths that were kept, best first, and what was left out on the way."""

    paths: tuple[BeamPath, ...]
    trims: tuple[Trim, ...]
    read: int
    """How many different nodes were looked at."""


def beam(
    graph: Neighbours,
    seeds: Nodes,
    scores: Scores,
    *,
    caps: Caps = Caps(),  # noqa: B008 - frozen
    barred: Mask | None = None,
    counted: Mask | None = None,
    lexical: Scores | None = None,
    covered: Covered | None = None,
    deadline: Deadline | None = None,
) -> Beam:
    """The best paths from scored seeds.

    `counted` says which nodes are documents and count towards the budget (all, when not given),
    `lexical` how well each node matches the words of the question, 0 to 1, and `covered` when
    a path says enough to stop.
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
    """One search under way: what was read, and what was left out."""

    def __init__(
        self, graph: Neighbours, caps: Caps, barred: Mask | None, counted: Mask | None,
        lexical: Scores | None,
    ) -> None:  # fmt: skip
        self._graph, self._size, self._caps = graph, len(graph), caps
        self._barred, self._counted = barred, counted
        self._lexical = np.zeros(self._size) if lexical is None else lexical
        self._seen: set[int] = set()
        self._bits: dict[int, int] = {}
        self._lists: dict[int, tuple[list[tuple[int, float]], int]] = {}
        self.trims, self.read = Trims(), 0

    def starts(self, seeds: Nodes, scores: Scores) -> list[BeamPath]:
        """The seeds as paths, best first, those that may be read."""
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
        """Every path continued by its best neighbours."""
        self._list(path.nodes[-1] for path in paths)
        found: list[BeamPath] = []
        for number, path in enumerate(paths):
            if deadline and deadline():
                self.trims.add(Reason.TIMEOUT, "paths", len(paths) - number)
                break
            for node, weight in self._strongest(path):
                if self._may_read(node):
                    longer = (*path.nodes, node), (*path.weights, weight)
                    bits, says = path.bits | self._bit(node), float(self._lexical[node])
                    found.append(BeamPath(*longer, path.seed, bits, max(path.lexical, says)))
        return found

    def choose(self, paths: list[BeamPath]) -> list[BeamPath]:
        """The best paths, each scored against those chosen before it.

        A score can only fall as more is chosen, so it is worked out again only for the path
        that leads.
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
        """The best arcs of nodes, as many as any path may need, and how many others.

        Made once for each node: one may have a million arcs, and every path leads there.
        """
        new = [node for node in dict.fromkeys(nodes) if node not in self._lists]
        if not new:
            return
        counts, targets, weights = self._graph.of(np.array(new, np.int64))
        owner = np.repeat(np.arange(len(new)), counts)
        if self._barred is not None:
            use = ~self._barred[targets]
            owner, targets, weights = owner[use], targets[use], weights[use]
        worth = EDGE * weights + LEXICAL * self._lexical[targets]
        order = np.lexsort((targets, -worth, owner))
        ends = np.cumsum(np.bincount(owner, minlength=len(new))).tolist()
        most, start = self._caps.fanout + self._caps.hops + 1, 0
        for node, end in zip(new, ends, strict=True):
            best = order[start : min(end, start + most)]
            arcs = list(zip(targets[best].tolist(), weights[best].tolist(), strict=True))
            self._lists[node] = arcs, end - start - len(arcs)
            start = end

    def _may_read(self, node: int) -> bool:
        """Count a node that was not looked at before; False when the budget is spent."""
        if node in self._seen or (self._counted is not None and not self._counted[node]):
            return True
        if self.read >= self._caps.documents:
            self.trims.add(Reason.BUDGET_EXHAUSTED, "documents")
            return False
        self._seen.add(node)
        self.read += 1
        return True


def _most_common(one: int, others: list[int]) -> float:
    """The largest share of its nodes that a path has in common with one of the others."""
    most = 0.0
    for other in others:
        both = one & other
        if both:
            most = max(most, both.bit_count() / (one | other).bit_count())
    return most
