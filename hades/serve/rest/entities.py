"""Entities: named things, the names they go by, and where they are mentioned."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import ConfigDict, Field
from starlette.responses import Response

from hades.domain.graph import Entity, Mentioned, Related
from hades.serve.rest.calls import Reads, Writes
from hades.serve.rest.paging import PAGE, Cursor, Limit, decode, page
from hades.serve.rest.routes import routes
from hades.serve.rest.states import TopicName
from hades.serve.rest.words import LIMIT_AT_MOST, NAME, Body, Hint, Name
from hades.serve.wire import Page
from hades.view import View

router = routes("/v1/spaces/{space:name}", "entities")

OTHERS_AT_MOST = 1_000
ENTITY_KEY = (str, int)
"""A name and a number: the store keeps apart by keys, not by how names are written."""
Most = Annotated[int, Query(ge=0, le=LIMIT_AT_MOST, description="The most items.")]


class Alias(Body):
    """Another name of an entity."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "Tim Burton", "alias": "Timothy Walter Burton"}]}
    )

    name: Name
    alias: Name


class KindOf(Body):
    """What kind of thing an entity is."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "Tim Burton", "kind": "person"}]}
    )

    name: Name
    kind: Name


class Merge(Body):
    """Entities that are one from now on."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"keep": "Tim Burton", "others": ["T. Burton"]}]}
    )

    keep: Name
    others: Annotated[list[Name], Field(max_length=OTHERS_AT_MOST), Hint(minItems=1)]


class Split(Body):
    """An entity, or alias, that stands for itself again."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "T. Burton"}]})

    name: Name


@router.get("/entities", summary="List entities", response_model=Page[Entity])
async def entities(
    reads: Reads,
    glob: Annotated[str | None, NAME, Query(examples=["Tim*"])] = None,
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> Response:
    """The entities there are, by name, with their aliases and what was merged into them."""
    name, number = decode(cursor, *ENTITY_KEY) or ("", 0)

    def read(view: View) -> dict[str, Any]:
        found = view.entities(glob, after=(name, number), limit=limit + 1)
        return page(found, limit, lambda one: [one.name, one.id])

    return await reads.answer(read)


@router.get("/entity/{name:topic}", summary="Read an entity", response_model=Entity)
async def entity(reads: Reads, name: TopicName) -> Response:
    """One entity, by any of its names."""
    return await reads.answer(lambda view: view.entity(name))


@router.get("/mentions/{name:topic}", summary="Find mentions", response_model=Page[Mentioned])
async def mentions(reads: Reads, name: TopicName, limit: Most = 100) -> Response:
    """The passages that mention an entity by any of its names, and where they do."""
    return await reads.listed(lambda view: view.mentions(name, limit), fresh=True)


@router.get("/related/{name:topic}", summary="Find related names", response_model=Page[Related])
async def related(reads: Reads, name: TopicName, limit: Most = 20) -> Response:
    """What is mentioned together with an entity, most often first."""
    return await reads.listed(lambda view: view.related(name, limit), fresh=True)


@router.post("/entities/alias", summary="Add an alias", response_model=Alias)
async def add_alias(writes: Writes, body: Alias) -> Response:
    """Let an entity be found under another name too."""
    return await writes.done(
        lambda memory: memory.add_alias(body.name, body.alias), body.model_dump()
    )


@router.post("/entities/kind", summary="Say what an entity is", response_model=KindOf)
async def set_kind(writes: Writes, body: KindOf) -> Response:
    """Say what kind of thing an entity is: person, method, place …"""
    return await writes.done(
        lambda memory: memory.set_kind(body.name, body.kind), body.model_dump()
    )


@router.post("/entities/merge", summary="Merge entities", response_model=Merge)
async def merge(writes: Writes, body: Merge) -> Response:
    """From now on the others are `keep`; splitting takes any of them out again."""
    return await writes.done(
        lambda memory: memory.merge(body.keep, *body.others), body.model_dump()
    )


@router.post("/entities/split", summary="Split an entity", response_model=Split)
async def split(writes: Writes, body: Split) -> Response:
    """Undo a merge, or make an alias an entity of its own."""
    return await writes.done(lambda m: m.split(body.name), body.model_dump())
