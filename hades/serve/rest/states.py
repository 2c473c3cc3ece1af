"""States: what is remembered of a topic, its versions, and the list of topics."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Query
from fastapi import Path as PathParameter
from pydantic import ConfigDict, Field
from starlette.responses import Response

from hades.domain.trace import Chunk, Diff, State, Topic
from hades.errors import NotFound
from hades.memory import Memory
from hades.serve.auth.caller import Role
from hades.serve.problems import documented
from hades.serve.rest.calls import Made, Reads, Writes, json_response
from hades.serve.rest.etags import etag_of, expected_version, is_named_in
from hades.serve.rest.paging import PAGE, Cursor, Limit, decode, page
from hades.serve.rest.routes import routes
from hades.serve.rest.words import (
    NAME,
    TAGS_AT_MOST,
    TIME,
    Body,
    Content,
    Count,
    Name,
    Share,
    Time,
)
from hades.serve.wire import Page, to_json
from hades.view import View

router = routes("/v1/spaces/{space:name}", "states")

TopicName = Annotated[
    str,
    NAME,
    PathParameter(
        description="The topic, percent-encoded; slashes may stand as they are.",
        examples=["design/approach_x"],
    ),
]
Version = Annotated[int | None, Query(ge=1, le=2**62, description="One version of it.")]
IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match", description="Only if this is the current state.", examples=['"v1-9a3f"']
    ),
]
IfNoneMatch = Annotated[
    str | None,
    Header(alias="If-None-Match", description="Only if it is another state.", examples=["*"]),
]
_ETAG = {"ETag": {"schema": {"type": "string"}, "description": "Names this state of the topic."}}


class Remember(Body):
    """A new state of a topic; what is left out carries over from the one before."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "content": "Considered approach X but rejected due to Bug Y.",
                    "tags": ["decision"],
                    "valid_from": "2024-01-10",
                }
            ]
        }
    )

    content: Content
    tags: Annotated[list[Name], Field(max_length=TAGS_AT_MOST)] | None = None
    metadata: dict[str, Any] | None = None
    confidence: Share | None = None
    importance: Share | None = None
    valid_from: Time | None = None
    expect_version: Count | None = None


@router.get("/topics", summary="List topics", response_model=Page[Topic])
async def topics(
    reads: Reads,
    glob: Annotated[str | None, NAME, Query(examples=["design/*"])] = None,
    tag: Annotated[str | None, NAME, Query(examples=["decision"])] = None,
    since: Annotated[str | None, TIME, Query(examples=["2024-01"])] = None,
    until: Annotated[str | None, TIME, Query(examples=["2024-02"])] = None,
    after: Annotated[str | None, NAME, Query(description="Only names after this one.")] = None,
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> Response:
    """The topics there are, by name, as of a time."""
    seen = decode(cursor, str)

    def read(view: View) -> dict[str, Any]:
        found = view.topics(
            glob,
            tag=tag,
            since=since,
            until=until,
            after=seen[0] if seen else after,
            limit=limit + 1,
        )
        return page(found, limit, lambda topic: [topic.name])

    return await reads.answer(read)


@router.get(
    "/states/{topic:topic}",
    summary="Read a state",
    response_model=State,
    responses={200: {"headers": _ETAG}, 304: {"description": "It is the state named."}},
)
async def state(
    reads: Reads, topic: TopicName, version: Version = None, if_none_match: IfNoneMatch = None
) -> Response:
    """The state of a topic: current, as of a time, or one version."""

    def read(view: View) -> tuple[bytes, str]:
        found = view.get(topic, version)
        shown = to_json(found)
        return shown, etag_of(found, shown)

    body, etag = await reads(read)
    if is_named_in(if_none_match, etag):
        return Response(status_code=304, headers={"ETag": etag})
    return json_response(body, headers={"ETag": etag})


@router.put(
    "/states/{topic:topic}",
    summary="Remember a state",
    response_model=State,
    responses={
        200: {"description": "The topic was there; the state says its version.", "headers": _ETAG},
        201: {"description": "The topic is new.", "model": State, "headers": _ETAG},
        **documented(412),
    },
)
async def remember(
    writes: Writes,
    topic: TopicName,
    body: Remember,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Write what is known of a topic now: a new state, unless nothing changed."""

    def write(memory: Memory) -> Made:
        current = _current(memory, topic)
        expected = expected_version(current, body.expect_version, if_match, if_none_match)
        with expected as version:
            made = memory.remember(
                topic, **{**body.model_dump(exclude_unset=True), "expect_version": version}
            )
        return Made(made, 200 if current else 201, {"ETag": etag_of(made)})

    return await writes.answer(write)


@router.delete(
    "/states/{topic:topic}",
    summary="Forget or purge a topic",
    response_model=State | dict[str, int],
    responses=documented(412),
)
async def forget(
    writes: Writes,
    topic: TopicName,
    purge: Annotated[
        bool, Query(description="Erase it with its history; needs the role admin.")
    ] = False,
    if_match: IfMatch = None,
) -> Response:
    """Let a topic be gone from now on; its history is kept unless it is purged."""

    def write(memory: Memory) -> Any:
        with expected_version(_current(memory, topic), None, if_match, None):
            return memory.purge(topic) if purge else memory.forget(topic)

    return await writes.answer(write, role=Role.ADMIN if purge else Role.WRITER)


@router.get("/history/{topic:topic}", summary="Read a topic's history", response_model=Page[State])
async def history(reads: Reads, topic: TopicName) -> Response:
    """Every state of a topic in the order they were recorded, forgetting included."""
    return await reads.listed(lambda view: view.history(topic))


@router.get("/diff/{topic:topic}", summary="Compare two versions", response_model=Diff)
async def diff(
    reads: Reads, topic: TopicName, before: Version = None, after: Version = None
) -> Response:
    """What changed between two versions; by default the last change."""
    return await reads.answer(lambda view: view.diff(topic, before, after))


@router.get("/chunks/{topic:topic}", summary="Read a topic's chunks", response_model=Page[Chunk])
async def chunks(reads: Reads, topic: TopicName, version: Version = None) -> Response:
    """The passages of a topic's state, once it is indexed."""
    return await reads.listed(lambda view: view.chunks(topic, version))


def _current(memory: Memory, topic: str) -> State | None:
    try:
        return memory.get(topic)
    except NotFound:
        return None
