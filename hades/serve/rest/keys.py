"""Keys and the audit log, at the admin socket only."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi import Path as PathParameter
from pydantic import BaseModel, Field
from starlette.responses import Response

from hades.errors import Unavailable
from hades.serve.auth.audit import Audit, AuditEntry
from hades.serve.auth.keys import Keys, role_named
from hades.serve.rest.admin import only_here
from hades.serve.rest.calls import json_response
from hades.serve.rest.models import NAME, Body, Hint, Name, Page, example, to_json, whole
from hades.serve.rest.routes import routes

router = routes("/v1/admin", "admin", dependencies=[Depends(only_here)])

SPACES_AT_MOST = 1_000
AUDIT_AT_MOST = 10_000


class NewKey(Body):
    """A key to make."""

    model_config = example(name="laptop", role="writer", spaces=["default"])

    name: Name
    role: Annotated[str, Hint(enum=["reader", "writer", "admin"])]
    spaces: Annotated[list[Name], Field(max_length=SPACES_AT_MOST)] | None = None


class ShownKey(BaseModel):
    """What may be told of a key."""

    id: str
    name: str
    role: str
    spaces: list[str] | None
    made_at: datetime
    used_at: datetime | None


class MadeKey(ShownKey):
    """A new key, with the words that are it: they are shown this once."""

    key: str


async def _keys(request: Request) -> Keys:
    keys: Keys | None = request.app.state.keys
    if keys is None:
        raise Unavailable("This server has no keys: it listens at sockets only.")
    return keys


async def _audit(request: Request) -> Audit:
    audit: Audit | None = request.app.state.audit
    if audit is None:
        raise Unavailable("This server writes no audit log.")
    return audit


TheKeys = Annotated[Keys, Depends(_keys)]
TheAudit = Annotated[Audit, Depends(_audit)]


@router.get("/keys", summary="List keys", response_model=Page[ShownKey])
async def listed(keys: TheKeys) -> Response:
    """Every key, oldest first; never the words that are it."""
    found = await asyncio.to_thread(keys.listed)
    return json_response(to_json(whole([key.shown() for key in found])))


@router.post("/keys", summary="Make a key", status_code=201, response_model=MadeKey)
async def create(keys: TheKeys, body: NewKey) -> Response:
    """A new key with a role and the spaces it may use; its words are shown this once."""
    role = role_named(body.role)
    key, words = await asyncio.to_thread(keys.create, body.name, role, body.spaces)
    return json_response(to_json({**key.shown(), "key": words}), 201)


@router.delete("/keys/{name:topic}", summary="Revoke a key", response_model=ShownKey)
async def revoke(
    keys: TheKeys, name: Annotated[str, NAME, PathParameter(examples=["laptop"])]
) -> Response:
    """Let a key, by name or id, be good for nothing from now on."""
    gone = await asyncio.to_thread(keys.revoke, name)
    return json_response(to_json(gone.shown()))


@router.get("/audit", summary="Read the audit log", response_model=Page[AuditEntry])
async def audit(
    log: TheAudit, limit: Annotated[int, Query(ge=0, le=AUDIT_AT_MOST)] = 100
) -> Response:
    """The last calls, newest first: who called what, where, and what came of it."""
    found: list[dict[str, Any]] = await asyncio.to_thread(log.tail, limit)
    return json_response(to_json(whole(found)))
