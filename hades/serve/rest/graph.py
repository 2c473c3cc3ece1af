"""Graph: paths between things, and what stands around one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from hades.domain.answer import Neighbour, Path
from hades.recall.plan import HOPS_AT_MOST
from hades.serve.rest.calls import Reads
from hades.serve.rest.states import TopicName
from hades.serve.rest.words import NAME
from hades.serve.wire import Page

router = APIRouter(prefix="/v1/spaces/{space:name}", tags=["graph"])

PATHS_AT_MOST = 100
NEIGHBOURS_AT_MOST = 1_000
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
