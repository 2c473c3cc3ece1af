"""Exploring: the methods of a view that go from a name into the graph around it.

A part of `View`, kept in its own file.
"""

from __future__ import annotations

from hades.asking import Asking
from hades.domain.answer import Neighbour, Path, Subgraph, WorkingSet
from hades.domain.rules import clean_name, clean_number
from hades.errors import InvalidInput

BUDGET_TOKENS = 2_000
BUDGET_TOKENS_AT_LEAST = 50


class Exploring(Asking):
    """What is joined with what, in one space as of one moment."""

    def paths(self, source: str, target: str, limit: int = 5, *, hops: int = 3) -> list[Path]:
        """The best paths between two topics or entities, best first."""
        clean_number(limit, "limit", least=1)
        clean_number(hops, "hops", least=1)
        self._bring_up_to_date(None)
        ends = self._named_node(source), self._named_node(target)
        return self._engine.paths(self._where(), *ends, limit=limit, hops=hops)

    def neighbours(self, name: str, limit: int = 20, *, hops: int = 1) -> list[Neighbour]:
        """What a topic or entity is joined with in the graph, nearest first."""
        clean_number(limit, "limit", least=1)
        clean_number(hops, "hops", least=1)
        self._bring_up_to_date(None)
        node = self._named_node(name)
        return self._engine.neighbours(self._where(), node, limit=limit, hops=hops)

    def subgraph(self, *names: str, hops: int = 1, limit: int = 100) -> Subgraph:
        """The part of the graph around some topics or entities, to be drawn.

        At most `limit` nodes, nearest first, with every edge among them.
        """
        clean_number(limit, "limit", least=1)
        clean_number(hops, "hops")
        if not names:
            raise InvalidInput("Name at least one topic or entity to draw around.")
        self._bring_up_to_date(None)
        nodes = [self._named_node(name) for name in names]
        return self._engine.subgraph(self._where(), nodes, limit=limit, hops=hops)

    def working_memory(self, topic: str, *, budget: int = BUDGET_TOKENS) -> WorkingSet:
        """What to have in mind when working on a topic, within a budget of tokens.

        Its latest state, those before it, those that were important, and the topics the
        graph joins it with (seed 003, §7). What had to stay out is in `reasons`.
        """
        clean_name(topic)
        clean_number(budget, "budget", least=BUDGET_TOKENS_AT_LEAST)
        self._bring_up_to_date(None)
        from hades.recall.working import RELATED_AT_MOST, gather

        where = self._where()
        near = self._engine.related_topics(where, self._named_node(topic), limit=RELATED_AT_MOST)
        with self._store.snapshot():
            return gather(self._store, where, topic, near, budget)
