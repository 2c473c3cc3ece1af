"""Edges: relations between topics and entities, and the facts they state."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path as PathParameter
from fastapi import Query
from pydantic import ConfigDict
from starlette.responses import Response

from hades.domain.graph import Edge, FactChange, Turn
from hades.errors import Denied, InvalidInput
from hades.memory import Memory
from hades.serve.rest.calls import Reads, Writes
from hades.serve.rest.paging import EDGE_KEY, PAGE, Cursor, Limit, decode, edge_key, page
from hades.serve.rest.routes import routes
from hades.serve.rest.states import TopicName
from hades.serve.rest.words import NAME, Body, Content, Evidence, Name, Share, Time
from hades.serve.wire import Page
from hades.store.edge_pages import FIRST

router = routes("/v1/spaces/{space:name}", "edges")

Relation = Annotated[str, NAME]


class Relate(Body):
    """A relation between two things, from now or `valid_from` on."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "source": "design/approach_x",
                    "relation": "rejected_because",
                    "target": "bugs/bug_y",
                    "evidence": "Approach X rejected because it triggers Bug Y",
                }
            ]
        }
    )

    source: Name
    relation: Name
    target: Name
    weight: Share | None = None
    evidence: Evidence = ""
    valid_from: Time | None = None
    valid_to: Time | None = None
    exclusive: bool = False
    metadata: dict[str, Any] | None = None
    kind: Name = "concept"


class EndEdge(Body):
    """Which edges end: those between two things, or one by its number."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"source": "design/approach_x", "relation": "rejected_because"}]
        }
    )

    source: Name | None = None
    relation: Name | None = None
    target: Name | None = None
    edge: int | None = None
    at: Time | None = None
    mistake: bool = False


class ChangeFact(Body):
    """A fact that changed: what ends, and what begins instead."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "subject": "design/approach_x",
                    "relation": "rejected_because",
                    "to": "refactoring/q1",
                    "new_relation": "viable_after_fix",
                    "content": "Approach X is viable after the fix of Bug Y.",
                }
            ]
        }
    )

    subject: Name
    relation: Name
    target: Name | None = None
    to: Name | None = None
    new_relation: Name | None = None
    content: Content | None = None
    evidence: Evidence = ""
    at: Time | None = None


class Inverse(Body):
    """The relation that takes over when a fact changes."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"inverse": "viable_after_fix"}]})

    inverse: Name


@router.get("/edges", summary="List edges", response_model=Page[Edge])
async def edges(
    reads: Reads,
    name: Annotated[str | None, NAME, Query(examples=["design/approach_x"])] = None,
    relation: Annotated[str | None, NAME, Query(examples=["rejected_because"])] = None,
    direction: Literal["out", "in", "both"] = "both",
    all: Annotated[bool, Query(description="Also those that no longer hold.")] = False,
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> Response:
    """The edges that hold at a time: first those that were told, then those texts state."""
    told, number, mark = decode(cursor, *EDGE_KEY) or FIRST
    after = (told, number, mark)
    return await reads.answer(
        lambda view: page(
            view.edges(
                name,
                relation=relation,
                direction=direction,
                all=all,
                after=after,
                limit=limit + 1,
            ),
            limit,
            edge_key,
        )
    )


@router.get(
    "/edges/{edge:number}", summary="Read what was believed of an edge", response_model=Page[Edge]
)
async def edge(
    reads: Reads, edge: Annotated[int, PathParameter(ge=0, lt=10**18, examples=[1])]
) -> Response:
    """Everything believed about one edge up to a time, oldest first."""
    return await reads.listed(lambda view: view.edge(edge))


@router.post("/edges", summary="Relate two things", response_model=Edge)
async def relate(writes: Writes, body: Relate) -> Response:
    """Say that one thing stands in a relation to another; names that are new become entities."""
    return await writes.answer(lambda memory: memory.relate(**body.model_dump()))


@router.post("/edges/end", summary="End edges", response_model=Page[Edge])
async def unrelate(writes: Writes, body: EndEdge) -> Response:
    """End the edges between two things, or one by its number; or say it was never true."""

    def write(memory: Memory) -> dict[str, Any]:
        if (body.edge is None) == (body.source is None):
            raise InvalidInput("Say which edges end: give either `source` or `edge`.")
        which = body.source if body.edge is None else body.edge
        assert which is not None
        ended = memory.unrelate(which, body.relation, body.target, at=body.at, mistake=body.mistake)
        return {"items": ended, "next": None}

    return await writes.answer(write)


@router.post("/edges/change", summary="Change a fact", response_model=FactChange)
async def change_fact(writes: Writes, body: ChangeFact) -> Response:
    """Close what no longer holds and open what holds instead, in one write."""
    return await writes.answer(lambda memory: memory.change_fact(**body.model_dump()))


@router.get("/when-changed/{name:topic}", summary="Find when a fact changed", response_model=Turn)
async def when_changed(
    reads: Reads,
    name: TopicName,
    before: Annotated[str, NAME, Query(examples=["rejected_because"])],
    after: Annotated[str | None, NAME, Query(examples=["viable_after_fix"])] = None,
) -> Response:
    """When one relation of a topic or entity gave way to another, most recently."""
    return await reads.answer(lambda view: view.when_changed(name, before, after))


@router.get("/inverses", summary="List inverse relations", response_model=dict[str, str])
async def inverses(reads: Reads) -> Response:
    """Which relation takes over when a fact changes; the same in all spaces."""
    return await reads.answer(lambda view: view.inverses())


@router.put(
    "/inverses/{relation:topic}", summary="Set an inverse relation", response_model=dict[str, str]
)
async def set_inverse(
    writes: Writes,
    relation: Annotated[str, NAME, PathParameter(examples=["rejected_because"])],
    body: Inverse,
) -> Response:
    """Say which relation takes over when a fact of this relation changes, in all spaces."""
    if writes.caller.spaces is not None:
        raise Denied("Inverses hold in all spaces: this needs a key that is not bound to some.")
    told = {relation: body.inverse}
    return await writes.done(lambda memory: memory.set_inverse(relation, body.inverse), told)
