"""Spaces: list, create and drop them; the caller's rights; written times."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path as PathParameter
from fastapi import Query
from starlette.responses import Response

import hades
from hades.domain.topics import Space
from hades.memory import Memory
from hades.serve.auth.caller import Role
from hades.serve.rest.calls import InMemory, Reads, WritesAnywhere, json_response
from hades.serve.rest.models import TIME, Body, Name, Page, example, to_json, whole
from hades.serve.rest.routes import routes
from hades.serve.wire import NAME

router = routes("/v1", "spaces")


class NewSpace(Body):
    """A space to create."""

    model_config = example(name="research")

    name: Name


class Welcome(Body):
    """The server's version, and the caller's rights."""

    hades: str
    caller: str
    role: str
    spaces: list[str]
    read_only: bool
    links: dict[str, str]


class TimeRead(Body):
    """One moment."""

    time: datetime


@router.get("", summary="Show your rights", response_model=Welcome)
async def welcome(call: InMemory) -> Response:
    """Return the version, the caller's rights, and links."""
    shown = {
        "hades": hades.__version__,
        "caller": call.caller.name,
        "role": call.caller.title,
        "spaces": [space.name for space in await call.executor.spaces(call.caller)],
        "read_only": call.executor.read_only,
        "links": {"spaces": "/v1/spaces", "openapi": "/openapi.json", "graphql": "/graphql"},
    }
    return json_response(to_json(shown))


@router.get("/spaces", summary="List spaces", response_model=Page[Space])
async def spaces(call: InMemory) -> Response:
    """List the spaces that the caller may use."""
    return json_response(to_json(whole(await call.executor.spaces(call.caller))))


@router.post("/spaces", summary="Create a space", response_model=Space, status_code=201)
async def create_space(writes: WritesAnywhere, body: NewSpace) -> Response:
    """Create an empty space; needs the role admin."""
    writes.caller.require(Role.ADMIN, body.name)
    return await writes.answer(
        lambda memory: memory.create_space(body.name), status=201, role=Role.ADMIN
    )


@router.delete("/spaces/{space:name}", summary="Drop a space", response_model=Page[Space])
async def drop_space(
    writes: WritesAnywhere, space: Annotated[str, NAME, PathParameter(examples=["research"])]
) -> Response:
    """Erase a space with everything in it; needs the role admin. Returns the other spaces."""
    writes.caller.require(Role.ADMIN, space)
    dropped = False  # stays False if an idempotency key repeats the first answer

    def write(memory: Memory) -> dict[str, Any]:
        nonlocal dropped
        memory.drop_space(space)
        dropped = True
        return whole([left for left in memory.spaces() if writes.caller.sees(left.name)])

    answer = await writes.answer(write, role=Role.ADMIN)
    if dropped:
        writes.jobs.forget(space)
    return answer


@router.get("/spaces/{space:name}/time", summary="Read a time", response_model=TimeRead)
async def time(
    reads: Reads, when: Annotated[str, TIME, Query(examples=["3 weeks ago"])]
) -> Response:
    """Resolve a written time, such as `3 weeks ago`, by the memory's clock."""
    return await reads.answer(lambda view: {"time": view.at(when).as_of.valid})
