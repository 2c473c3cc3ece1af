"""Holds: a batch or a snapshot that lasts over several calls, each with `Hades-Hold`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path as PathParameter
from pydantic import ConfigDict
from starlette.responses import Response

from hades.serve.executor.holds import Kind
from hades.serve.rest.calls import AnyRequest, SpaceName, json_response
from hades.serve.rest.routes import routes
from hades.serve.rest.words import Body
from hades.serve.wire import to_json

router = routes("/v1/spaces/{space:name}/holds", "holds")

HoldId = Annotated[str, PathParameter(max_length=200, examples=["q8ZbV0m3kXw1-_Ra"])]


class NewHold(Body):
    """What to hold: a `batch` to write in, or a `snapshot` to read from."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"kind": "snapshot"}]})

    kind: Kind


class Held(Body):
    """A hold, and after how long without a call it ends by itself."""

    hold: str
    expires_s: float


class Ended(Body):
    """A hold that ended, and whether what was written in it stays."""

    hold: str
    committed: bool


@router.post("", summary="Begin a batch or snapshot", status_code=201, response_model=Held)
async def begin(asked: AnyRequest, space: SpaceName, body: NewHold) -> Response:
    """Begin a hold; calls that carry its id in `Hades-Hold` are made inside it."""
    hold = await asked.desk.hold(asked.caller, space, body.kind)
    told = {"hold": hold, "expires_s": asked.desk.holds.silence_s}
    return json_response(to_json(told), 201)


@router.post("/{hold}/commit", summary="Commit a batch", response_model=Ended)
async def commit(asked: AnyRequest, space: SpaceName, hold: HoldId) -> Response:
    """End a hold; what was written in a batch is on disk."""
    return await _released(asked, space, hold, commit=True)


@router.delete("/{hold}", summary="Undo a batch, end a snapshot", response_model=Ended)
async def undo(asked: AnyRequest, space: SpaceName, hold: HoldId) -> Response:
    """End a hold; what was written in a batch is undone."""
    return await _released(asked, space, hold, commit=False)


async def _released(asked: AnyRequest, space: str, hold: str, *, commit: bool) -> Response:
    asked.caller.require(asked.caller.role, space)
    await asked.desk.release(asked.caller, hold, commit=commit)
    return json_response(to_json({"hold": hold, "committed": commit}))
