"""The graph around a name: paths, neighbours, subgraphs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from hades.domain.answer import FoundPaths, Neighbour, Path, Subgraph
from hades.domain.rules import clean_name, clean_share
from hades.errors import InvalidInput
from hades.operations.declare import Param, operation
from hades.operations.hierarchy import hierarchy
from hades.operations.indexing import catch_up, ready
from hades.operations.inside import Inside
from hades.operations.parameters import (
    HOPS_AT_MOST,
    Hops,
    LeastWeight,
    Limit,
    Name,
    Question,
    Relations,
    WhichWay,
    whole_number,
)
from hades.store.records import Direction

if TYPE_CHECKING:
    from hades.recall.paths.edge_walk import EdgeChoice

Boosts = Annotated[
    Iterable[str] | None,
    Param("Multiply the weight of a relation: cites=0.6.", "--boost", characters=300),
]


@operation("GET", "/paths", command="paths", asks=True)
def paths(
    inside: Inside,
    source: Annotated[str, Param("Where to start from.", example="design/approach_x")],
    target: Annotated[str, Param("What to reach.", example="bugs/bug_y")],
    limit: Limit = 5,
    *,
    hops: Hops = 3,
    decay_rate: Annotated[
        float, Param("The factor by which each edge multiplies a path's score.", "--decay-rate")
    ] = 0.85,
    pruning_threshold: Annotated[
        float, Param("The lowest score a path may have.", "--pruning-threshold")
    ] = 0.01,
    length_correction: Annotated[
        float,
        Param("How much of the penalty for a path's length is forgiven.", "--length-correction"),
    ] = 0.0,
    hub_demotion: Annotated[
        float, Param("How strongly names with many edges are demoted.", "--hub-demotion")
    ] = 0.005,
    boost: Boosts = None,
) -> list[Path]:
    """Find the best paths between two topics or entities.

    `PathScoring` explains the score, from 0 to 1. A relation that a person or a text states
    counts more than being mentioned together.
    """
    from hades.domain.weights import PathScoring
    from hades.recall.paths import neighbourhood

    scoring = PathScoring(
        decay_rate,
        pruning_threshold,
        length_correction,
        hub_demotion,
        boosts=dict(map(_boost, boost or ())),
    )
    catch_up(inside, None)
    ends = inside.meant_node(source), inside.meant_node(target)
    with inside.query_context(nodes=ends) as query:
        best, left_out = neighbourhood.paths(query, *ends, scoring, limit=limit, hops=hops)
    if not best and left_out:
        searched = f"No path between {source!r} and {target!r} was found among the nodes searched"
        raise InvalidInput(f"{searched}, and {left_out:,} were left out: ask with fewer hops.")
    return best


@operation("GET", "/query-paths", command="query-paths", asks=True)
def query_paths(
    inside: Inside,
    question: Question,
    limit: Annotated[
        int, whole_number("How many paths to show.", "limit", least=1, most=20, flag="--limit/-n")
    ] = 6,
    *,
    longest: Annotated[
        int, whole_number("The most edges of a path.", "longest", least=2, most=5, flag="--longest")
    ] = 5,
    boost: Boosts = None,
) -> FoundPaths:
    """Find the best paths for a question, starting from its passages.

    The hierarchy narrows the graph to the clusters nearest to the question. Without a hierarchy
    the nearest passages of the whole space are used, and `reasons` says so. A path may end at a
    passage, topic or entity; relations that a text states count more than mentions.
    """
    from hades.context.text.paths import cluster_summary, format_path_prompt
    from hades.recall.paths.hierarchy_paths import Narrowing, best_paths, descend, path_scoring

    ready(inside, question, None)
    scoring = path_scoring(dict(map(_boost, boost or ())))
    vector = inside.finder.encoder.encode([question])[0]
    with inside.query_context(question=question) as query:
        candidates = descend(query, vector, Narrowing())
        best = best_paths(query, candidates, scoring, limit, longest)
    names = [name for name, _ in candidates.clusters]
    summary = cluster_summary(names, hierarchy(inside).clusters) if names else ""
    prompt = format_path_prompt(best, summary)
    return FoundPaths(question, summary, tuple(best), prompt, candidates.reasons)


@operation("GET", "/neighbours/{name}", command="neighbours", asks=True)
def neighbours(
    inside: Inside,
    name: Name,
    limit: Limit = 20,
    *,
    hops: Hops = 1,
    relation: Relations = None,
    direction: WhichWay = "both",
    least_weight: LeastWeight = 0.0,
) -> list[Neighbour]:
    """List what a name is linked to, nearest first.

    By default all edges and mentions in texts are followed. With `relation` (one or several),
    `direction` (of each edge) or `least_weight`, only edges that match are, and no mentions.
    """
    chosen = _choice(relation, direction, least_weight)
    from hades.recall.paths import edge_walk, neighbourhood

    catch_up(inside, None)
    node = inside.meant_node(name)
    with inside.query_context(nodes=[node]) as query:
        if chosen is not None:
            return edge_walk.neighbours(query, node, chosen, limit=limit, hops=hops)
        return neighbourhood.neighbours(query, node, limit=limit, hops=hops)


@operation("GET", "/subgraph", command="subgraph", asks=True)
def subgraph(
    inside: Inside,
    *names: Annotated[str, Param("The topics or entities.", example=["design/approach_x"])],
    hops: Annotated[
        int, whole_number("How many edges away at most.", "hops", most=HOPS_AT_MOST, flag="--hops")
    ] = 1,
    limit: Limit = 100,
    relation: Relations = None,
    direction: WhichWay = "both",
    least_weight: LeastWeight = 0.0,
) -> Subgraph:
    """Return the graph around some names, for drawing.

    At most `limit` nodes, nearest first, with the strongest edges among them, about 4 per node.
    `relation`, `direction` and `least_weight` choose edges as for `neighbours`; then all are drawn.
    Without names, the most linked ones of the space are drawn, with the passages that join them.
    """
    chosen = _choice(relation, direction, least_weight)
    if chosen is not None and not names:
        raise InvalidInput("Name at least one topic or entity whose edges are chosen.")
    from hades.recall.paths import edge_walk, neighbourhood

    catch_up(inside, None)
    nodes = [inside.meant_node(name) for name in names]
    with inside.query_context(nodes=nodes) as query:
        if chosen is not None:
            return edge_walk.subgraph(query, nodes, chosen, limit=limit, hops=hops)
        return neighbourhood.subgraph(query, nodes, limit=limit, hops=hops)


def _boost(given: str) -> tuple[str, float]:
    relation, _, factor = given.rpartition("=")
    try:
        number = float(factor)
    except ValueError as error:
        raise InvalidInput(f"Write a boost like cites=0.6, not {given!r}.") from error
    return clean_name(relation, "relation"), number


def _choice(
    relation: Iterable[str] | None, direction: Direction, least_weight: float
) -> EdgeChoice | None:
    """Return the filter for the edges to follow; None for all edges and mentions."""
    from hades.recall.paths.edge_walk import EdgeChoice

    least = clean_share(least_weight, "least weight") or 0.0
    several = [relation] if isinstance(relation, str) else relation or ()
    if not isinstance(several, Iterable):
        raise InvalidInput(f"The relation is a name or a list of names, not {relation!r}.")
    relations = tuple(dict.fromkeys(clean_name(name, "relation") for name in several))
    chosen = EdgeChoice(relations, direction, least)
    return None if chosen == EdgeChoice() else chosen
