"""Exploring a server's graph: the methods of a remote view that go from a name around it."""

from __future__ import annotations

from hades.client.asking import RemoteAsking
from hades.domain.answer import Neighbour, Path, Subgraph, WorkingSet
from hades.domain.rebuild import rebuild
from hades.domain.rules import clean_name, clean_number
from hades.errors import InvalidInput
from hades.exploring import BUDGET_TOKENS, BUDGET_TOKENS_AT_LEAST


class RemoteExploring(RemoteAsking):
    """What is joined with what, in one space behind a server as of one moment."""

    def paths(self, source: str, target: str, limit: int = 5, *, hops: int = 3) -> list[Path]:
        """The best paths between two topics or entities, best first."""
        clean_number(limit, "limit", least=1)
        clean_number(hops, "hops", least=1)
        ends = {"source": clean_name(source), "target": clean_name(target)}
        return rebuild(list[Path], self._get("paths", **ends, limit=limit, hops=hops)["items"])

    def neighbours(self, name: str, limit: int = 20, *, hops: int = 1) -> list[Neighbour]:
        """What a topic or entity is joined with in the graph, nearest first."""
        clean_number(limit, "limit", least=1)
        clean_number(hops, "hops", least=1)
        found = self._get("neighbours", clean_name(name), limit=limit, hops=hops)
        return rebuild(list[Neighbour], found["items"])

    def subgraph(self, *names: str, hops: int = 1, limit: int = 100) -> Subgraph:
        """The part of the graph around some topics or entities, to be drawn."""
        clean_number(limit, "limit", least=1)
        clean_number(hops, "hops")
        if not names:
            raise InvalidInput("Name at least one topic or entity to draw around.")
        named = [clean_name(name) for name in names]
        return rebuild(Subgraph, self._get("subgraph", name=named, hops=hops, limit=limit))

    def working_memory(self, topic: str, *, budget: int = BUDGET_TOKENS) -> WorkingSet:
        """What to have in mind when working on a topic, within a budget of tokens."""
        clean_number(budget, "budget", least=BUDGET_TOKENS_AT_LEAST)
        return rebuild(WorkingSet, self._get("working-memory", clean_name(topic), budget=budget))
