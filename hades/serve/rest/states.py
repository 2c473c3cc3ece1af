"""States of topics: the routes that take part in HTTP's own conditions (ETag, If-Match)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Query
from fastapi import Path as PathParameter
from starlette.responses import Response

from hades.domain.topics import State
from hades.errors import NotFound
from hades.memory import Memory, View
from hades.operations.declare import OPERATIONS
from hades.serve.problems import documented
from hades.serve.rest.calls import Made, Reads, Writes, json_response
from hades.serve.rest.etags import etag_of, expected_version, is_named_in
from hades.serve.rest.operations import body_model
from hades.serve.rest.routes import routes
from hades.serve.rest.words import NAME
from hades.serve.wire import to_json

router = routes("/v1/spaces/{space:name}", "states")

TopicName = Annotated[
    str,
    NAME,
    PathParameter(
        description="The topic, percent-encoded; slashes may stand as they are.",
        examples=["design/approach_x"],
    ),
]
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
Remember: Any = body_model(OPERATIONS["remember"])
_ETAG = {"ETag": {"schema": {"type": "string"}, "description": "Names this state of the topic."}}


@router.get(
    "/states/{topic:topic}",
    summary="Read a state",
    response_model=State,
    responses={200: {"headers": _ETAG}, 304: {"description": "It is the state named."}},
)
async def state(
    reads: Reads,
    topic: TopicName,
    version: Annotated[int | None, Query(ge=1, le=2**62, description="One version of it.")] = None,
    if_none_match: IfNoneMatch = None,
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
    summary="Forget a topic",
    response_model=State,
    responses=documented(412),
)
async def forget(writes: Writes, topic: TopicName, if_match: IfMatch = None) -> Response:
    """Let a topic be gone from now on, with its edges; its history is kept."""

    def write(memory: Memory) -> State:
        with expected_version(_current(memory, topic), None, if_match, None):
            return memory.forget(topic)

    return await writes.answer(write)


def _current(memory: Memory, topic: str) -> State | None:
    try:
        return memory.get(topic)
    except NotFound:
        return None
