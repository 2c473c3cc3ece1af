"""Parity: the few pages a client needs so that it does what a memory does."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import ConfigDict
from starlette.responses import Response

from hades.serve.rest.calls import Asks, Reads
from hades.serve.rest.words import TIME, Body

router = APIRouter(prefix="/v1/spaces/{space:name}", tags=["spaces"])


class Moment(Body):
    """A time somebody wrote, as the memory's clock reads it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"time": "2024-03-01T00:00:00Z"}]})

    time: str


@router.get("/time", summary="Read a time", response_model=Moment)
async def time(
    reads: Reads,
    when: Annotated[str, TIME, Query(description="As people write it.", examples=["yesterday"])],
) -> Response:
    """The moment a time means now, by the memory's clock."""
    return await reads.answer(lambda view: {"time": view.at(when).as_of.valid})


@router.post("/warm", summary="Warm up", response_model=dict[str, float])
async def warm(asks: Asks) -> Response:
    """Do beforehand what a first question would wait for; the seconds of each part."""
    return await asks.answer(lambda view: view.warm(), fresh=True)
