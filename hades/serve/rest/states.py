"""States of topics: the routes that take part in HTTP's own conditions (ETag, If-Match).

An ETag `"v3-5be1…"` is the version and a hash of the state as it is shown. The version makes a
write a conflict when somebody else wrote first; the hash tells a topic that was purged and made
anew from the one before.
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
        return shown, _etag_of(found, shown)

    body, etag = await reads(read)
    if _is_named_in(if_none_match, etag):
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

    def write(memory: Memory) -> WriteAnswer:
        with memory.batch():  # nobody else writes between the condition and the write
            current = _current(memory, topic)
            _require(current, body.expect_version, if_match, if_none_match)
            made = memory.remember(topic, **body.model_dump(exclude_unset=True))
        return WriteAnswer(made, 200 if current else 201, {"ETag": _etag_of(made)})

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
        with memory.batch():
            if if_match is not None:
                _require(_current(memory, topic), None, if_match, None)
            return memory.forget(topic)

    return await writes.answer(write)


def _current(memory: Memory, topic: str) -> State | None:
    try:
        return memory.get(topic)
    except NotFound:
        return None


def _etag_of(state: State, shown: bytes | None = None) -> str:
    """The name of this state; `shown` is its JSON, where that is made already."""
    mark = blake2b(shown or to_json(state), digest_size=8).hexdigest()
    return f'"v{state.version}-{mark}"'


def _is_named_in(header: str | None, etag: str) -> bool:
    """Whether a header names this state: its etag among others, or `*`."""
    if header is None:
        return False
    named = [one.strip().removeprefix("W/") for one in header.split(",")]
    return "*" in named or etag in named


def _require(
    current: State | None, wanted: int | None, if_match: str | None, if_none_match: str | None
) -> None:
    """PreconditionFailed when a header says that this is not to be written; inside the write."""
    etag = _etag_of(current) if current else ""
    if if_match is not None and not (current and _is_named_in(if_match, etag)):
        raise PreconditionFailed(
            "The topic is not in the state that If-Match names: read it again."
        )
    if current and _is_named_in(if_none_match, etag):
        raise PreconditionFailed("The topic is in the state that If-None-Match names.")
    if if_match is not None and current and wanted not in (None, current.version):
        raise InvalidInput("If-Match and expect_version name two versions: leave one out.")
