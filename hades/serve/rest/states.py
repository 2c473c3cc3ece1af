"""States of topics: the routes with HTTP conditions (ETag, If-Match, If-None-Match).

An ETag `"v3-5be1…"` is the version and a hash of the state's JSON. The version detects that
another caller wrote first; the hash distinguishes a topic that was purged and created again.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Annotated, Any

from fastapi import Header, Query
from fastapi import Path as PathParameter
from starlette.responses import Response

from hades.domain.topics import State
from hades.errors import InvalidInput, NotFound
from hades.memory import Memory, View
from hades.operations.declare import OPERATIONS
from hades.serve.problems import PreconditionFailed, documented
from hades.serve.rest.calls import Reads, WriteAnswer, Writes, json_response
from hades.serve.rest.models import to_json
from hades.serve.rest.operations import body_model
from hades.serve.rest.routes import routes
from hades.serve.wire import NAME

router = routes("/v1/spaces/{space:name}", "states")

TopicName = Annotated[
    str,
    NAME,
    PathParameter(
        description="The topic, percent-encoded; slashes need not be encoded.",
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
_ETAG = {"ETag": {"schema": {"type": "string"}, "description": "The id of this state."}}


@router.get(
    "/states/{topic:topic}",
    summary="Read a state",
    response_model=State,
    responses={200: {"headers": _ETAG}, 304: {"description": "You have this state already."}},
)
async def state(
    reads: Reads,
    topic: TopicName,
    version: Annotated[int | None, Query(ge=1, le=2**62, description="Its version.")] = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Return the state of a topic: current, as of a time, or one version."""

    def read(view: View) -> tuple[bytes, str]:
        state = view.get(topic, version)
        shown = to_json(state)
        return shown, _etag_of(state, shown)

    body, etag = await reads(read)
    if _is_named_in(if_none_match, etag):
        return Response(status_code=304, headers={"ETag": etag})
    return json_response(body, headers={"ETag": etag})


@router.put(
    "/states/{topic:topic}",
    summary="Remember a state",
    response_model=State,
    responses={
        200: {"description": "The topic existed; the state has its version.", "headers": _ETAG},
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
    """Write the current state of a topic: a new version, unless nothing changed."""

    def write(memory: Memory) -> WriteAnswer:
        # Nobody else writes between the condition and the write.
        with memory.inside.store.transaction():
            current = _current(memory, topic)
            _require(current, body.expect_version, if_match, if_none_match)
            state = memory.remember(topic, **body.model_dump(exclude_unset=True))
        return WriteAnswer(state, 200 if current else 201, {"ETag": _etag_of(state)})

    return await writes.answer(write)


@router.delete(
    "/states/{topic:topic}",
    summary="Forget a topic",
    response_model=State,
    responses=documented(412),
)
async def forget(writes: Writes, topic: TopicName, if_match: IfMatch = None) -> Response:
    """Mark a topic and its edges as forgotten from now on; its history stays."""

    def write(memory: Memory) -> State:
        with memory.inside.store.transaction():
            if if_match is not None:
                _require(_current(memory, topic), None, if_match, None)
            return memory.forget(topic)

    return await writes.answer(write)


def _current(memory: Memory, topic: str) -> State | None:
    try:
        state = memory.get(topic)
    except NotFound:
        return None
    return state if state.topic == topic else None  # `get` also finds a file by its name's end


def _etag_of(state: State, shown: bytes | None = None) -> str:
    """Return the ETag of a state; pass its JSON as `shown` to avoid encoding it again."""
    mark = blake2b(shown or to_json(state), digest_size=8).hexdigest()
    return f'"v{state.version}-{mark}"'


def _is_named_in(header: str | None, etag: str) -> bool:
    """Whether a header lists this ETag, or is `*`."""
    if header is None:
        return False
    etags = [part.strip().removeprefix("W/") for part in header.split(",")]
    return "*" in etags or etag in etags


def _require(
    current: State | None, wanted: int | None, if_match: str | None, if_none_match: str | None
) -> None:
    """Raise PreconditionFailed unless the conditions hold; call it inside the write's batch."""
    etag = _etag_of(current) if current else ""
    if if_match is not None and not (current and _is_named_in(if_match, etag)):
        raise PreconditionFailed(
            "The topic is not in the state that If-Match names: read it again."
        )
    if current and _is_named_in(if_none_match, etag):
        raise PreconditionFailed("The topic is in the state that If-None-Match names.")
    if if_match is not None and current and wanted not in (None, current.version):
        raise InvalidInput("If-Match and expect_version name two versions: leave one out.")
