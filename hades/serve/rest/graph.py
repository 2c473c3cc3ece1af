"""Graph: paths between things, and what stands around one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from hades.domain.answer import Neighbour, Path, Subgraph, WorkingSet
from hades.exploring import BUDGET_TOKENS
from hades.recall.plan import HOPS_AT_MOST, TOKENS_AT_MOST
from hades.serve.rest.calls import Reads
from hades.serve.rest.routes import routes
from hades.serve.rest.states import TopicName
from hades.serve.rest.words import NAME, Hint, Name
from hades.serve.wire import Page

router = routes("/v1/spaces/{space:name}", "graph")

PATHS_AT_MOST = 100
NEIGHBOURS_AT_MOST = 1_000
NAMES_AT_MOST = 50
Hops = Annotated[int, Query(ge=1, le=HOPS_AT_MOST, description="How far.")]


@router.get("/paths", summary="Find paths", response_model=Page[Path])
async def paths(
    reads: Reads,
    source: Annotated[str, NAME, Query(examples=["design/approach_x"])],
    target: Annotated[str, NAME, Query(examples=["bugs/bug_y"])],
    limit: Annotated[int, Query(ge=1, le=PATHS_AT_MOST)] = 5,
    hops: Hops = 3,
) -> Response:
    """The best paths between two topics or entities, best first."""
    return await reads.listed(lambda view: view.paths(source, target, limit, hops=hops), fresh=True)


@router.get("/neighbours/{name:topic}", summary="Find neighbours", response_model=Page[Neighbour])
async def neighbours(
    reads: Reads,
    name: TopicName,
    limit: Annotated[int, Query(ge=1, le=NEIGHBOURS_AT_MOST)] = 20,
    hops: Hops = 1,
) -> Response:
    """What a topic or entity is joined with in the graph, nearest first."""
    return await reads.listed(lambda view: view.neighbours(name, limit, hops=hops), fresh=True)


@router.get("/subgraph", summary="Draw a part of the graph", response_model=Subgraph)
async def subgraph(
    reads: Reads,
    name: Annotated[list[Name], Query(max_length=NAMES_AT_MOST, examples=[["design/approach_x"]])],
    hops: Annotated[int, Query(ge=0, le=HOPS_AT_MOST, description="How far.")] = 1,
    limit: Annotated[int, Query(ge=1, le=NEIGHBOURS_AT_MOST)] = 100,
) -> Response:
    """The nodes around some topics or entities, nearest first, with every edge among them."""
    return await reads.answer(lambda view: view.subgraph(*name, hops=hops, limit=limit), fresh=True)


@router.get(
    "/working-memory/{topic:topic}", summary="Gather a working memory", response_model=WorkingSet
)
async def working_memory(
    reads: Reads,
    topic: TopicName,
    budget: Annotated[int, Query(le=TOKENS_AT_MOST), Hint(minimum=50)] = BUDGET_TOKENS,
) -> Response:
    """What to have in mind when working on a topic, within a budget of tokens."""
    return await reads.answer(lambda view: view.working_memory(topic, budget=budget), fresh=True)
