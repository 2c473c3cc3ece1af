"""The graph around a name: paths, neighbours, a part to be drawn, what to have in mind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from hades.domain.answer import Neighbour, Path, Subgraph, WorkingSet
from hades.domain.rules import clean_name, clean_number
from hades.errors import InvalidInput
from hades.operations.declare import Param, operation
from hades.operations.parameters import HOPS_AT_MOST, TOKENS_AT_MOST, Hops, Limit, Name, TopicName

if TYPE_CHECKING:
    from hades.memory import View

BUDGET_TOKENS = 2_000
BUDGET_TOKENS_AT_LEAST = 50


@operation("GET", "/paths", command="paths", asks=True)
def paths(
    view: View,
    source: Annotated[str, Param("Where to start from.", example="design/approach_x")],
    target: Annotated[str, Param("What to reach.", example="bugs/bug_y")],
    limit: Limit = 5,
    *,
    hops: Hops = 3,
) -> list[Path]:
    """The best paths between two topics or entities, best first."""
    clean_number(limit, "limit", least=1)
    clean_number(hops, "hops", least=1)
    from hades.recall import neighbourhood

    view._bring_up_to_date(None)
    ends = view._named_node(source), view._named_node(target)
    with view._engine.query_context(view._where()) as query:
        return neighbourhood.paths(query, *ends, limit=limit, hops=hops)


@operation("GET", "/neighbours/{name}", command="neighbours", asks=True)
def neighbours(view: View, name: Name, limit: Limit = 20, *, hops: Hops = 1) -> list[Neighbour]:
    """What a topic or entity is joined with in the graph, nearest first."""
    clean_number(limit, "limit", least=1)
    clean_number(hops, "hops", least=1)
    from hades.recall import neighbourhood

    view._bring_up_to_date(None)
    node = view._named_node(name)
    with view._engine.query_context(view._where()) as query:
        return neighbourhood.neighbours(query, node, limit=limit, hops=hops)


@operation("GET", "/subgraph", command="subgraph", asks=True)
def subgraph(
    view: View,
    *names: Annotated[str, Param("The topics or entities.", example=["design/approach_x"])],
    hops: Annotated[
        int, Param("So many edges away at most.", flag="--hops", least=0, most=HOPS_AT_MOST)
    ] = 1,
    limit: Limit = 100,
) -> Subgraph:
    """The part of the graph around some topics or entities, to be drawn.

    At most `limit` nodes, nearest first, with every edge among them.
    """
    clean_number(limit, "limit", least=1)
    clean_number(hops, "hops")
    if not names:
        raise InvalidInput("Name at least one topic or entity to draw around.")
    from hades.recall import neighbourhood

    view._bring_up_to_date(None)
    nodes = [view._named_node(name) for name in names]
    with view._engine.query_context(view._where()) as query:
        return neighbourhood.subgraph(query, nodes, limit=limit, hops=hops)


@operation("GET", "/working-memory/{topic}", command="working-memory", asks=True)
def working_memory(
    view: View,
    topic: TopicName,
    *,
    budget: Annotated[
        int,
        Param(
            "Tokens at most.",
            flag="--budget/-b",
            least=BUDGET_TOKENS_AT_LEAST,
            most=TOKENS_AT_MOST,
        ),
    ] = BUDGET_TOKENS,
) -> WorkingSet:
    """What to have in mind when working on a topic, within a budget of tokens.

    Its latest state, those before it, those that were important, and the topics the
    graph joins it with. What had to stay out is in `reasons`.
    """
    clean_name(topic)
    clean_number(budget, "budget", least=BUDGET_TOKENS_AT_LEAST)
    view._bring_up_to_date(None)
    from hades.recall import neighbourhood
    from hades.recall.working import RELATED_AT_MOST, gather

    where, node = view._where(), view._named_node(topic)
    with view._engine.query_context(where) as query:
        near = neighbourhood.related_topics(query, node, limit=RELATED_AT_MOST)
    with view._store.snapshot():
        return gather(view._store, where, topic, near, budget)
