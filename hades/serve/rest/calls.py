"""Calls: the common parameters of requests, and how handlers call the memory.

A handler declares a parameter of type `Reads` or `Writes`, and passes it a function of the
memory. The result becomes JSON in the function's thread, not in the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Header, Path, Query, Request
from starlette.responses import Response

from hades.domain.plain import plain
from hades.memory import Memory, View
from hades.serve.auth.caller import Caller, Role, caller_of
from hades.serve.executor import Executor
from hades.serve.jobs import Jobs
from hades.serve.rest.models import JSON, TIME, to_json
from hades.serve.wire import NAME

Result = TypeVar("Result")

SpaceName = Annotated[
    str, NAME, Path(description="The space, percent-encoded.", examples=["default"])
]
AsOfTime = Annotated[
    str | None,
    Query(description="The world as of this time, by what is known today.", examples=["2024-03"]),
    TIME,
]
KnownTime = Annotated[
    str | None,
    Query(description="Only what the memory knew at this time.", examples=["2024-03-01T12:00:00Z"]),
    TIME,
]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="If the same request is sent again with it, the first answer is repeated.",
        min_length=1,
        max_length=200,
        examples=["7d8f3a52-note-17"],
    ),
]


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """The result of a write, with the status and headers of its answer."""

    value: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RestCall:
    """One request, its space (`""`: the whole memory) and its caller."""

    request: Request
    space: str

    @property
    def executor(self) -> Executor:
        return cast(Executor, self.request.app.state.executor)

    @property
    def jobs(self) -> Jobs:
        return cast(Jobs, self.request.app.state.jobs)

    @property
    def caller(self) -> Caller:
        return caller_of(self.request)

    async def require(self, role: Role) -> None:
        """Raise Denied unless the caller has this role in the space, NotFound if it is missing.

        Handlers call it before they receive a large body.
        """
        await self.executor.read(self.caller, self.space, lambda view: view.space, role=role)


@dataclass(frozen=True, slots=True)
class Reading(RestCall):
    """A request that reads one space as of a moment."""

    as_of: str | None = None
    known_at: str | None = None

    async def __call__(self, call: Callable[[View], Result], **how: Any) -> Result:
        """Run a function of the memory; the options are those of `Executor.read`."""
        how |= {"valid": self.as_of, "known": self.known_at}
        return await self.executor.read(self.caller, self.space, call, **how)

    async def answer(self, call: Callable[[View], Any], **how: bool) -> Response:
        """Run a function of the memory and answer with its result as JSON."""
        body = await self(lambda view: to_json(call(view)), **how)
        return json_response(body)


@dataclass(frozen=True, slots=True)
class Writing(RestCall):
    """A request that writes."""

    key: str | None = None
    """The idempotency key that the caller sent."""

    async def answer(
        self, call: Callable[[Memory], Any], *, status: int = 200, role: Role = Role.WRITER
    ) -> Response:
        """Run a function that writes and answer with its result as JSON.

        If the idempotency key was used before, repeat the first answer instead.
        """
        request = "" if self.key is None else await self._whole_request()

        def run(memory: Memory) -> tuple[Any, bool]:
            if self.key is None:
                return _answered(call(memory), status), False
            kept: tuple[Any, bool] = memory.once(
                self.key, request, lambda: _answered(call(memory), status)
            )
            return kept

        answer, again = await self.executor.write(self.caller, self.space or None, run, role=role)
        headers = {**answer["headers"], **({"Idempotent-Replayed": "true"} if again else {})}
        return json_response(to_json(answer["body"]), answer["status"], headers)

    async def _whole_request(self) -> str:
        """Return the method, URL, conditions and body, to compare requests with the same key."""
        parts = [self.request.method, self.request.url.path, self.request.url.query]
        parts += [self.request.headers.get(name, "") for name in ("if-match", "if-none-match")]
        return "\n".join(parts) + "\n" + (await self.request.body()).decode("utf-8", "replace")


def _answered(result: Any, status: int) -> dict[str, Any]:
    answer = result if isinstance(result, WriteAnswer) else WriteAnswer(result, status)
    return {"status": answer.status, "headers": dict(answer.headers), "body": plain(answer.value)}


def json_response(
    body: bytes, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a response with a body that is JSON already."""
    return Response(body, status, headers, JSON)


# These are coroutines although they wait for nothing: FastAPI runs plain functions in a thread,
# which would cost more than the rest of a short call.


async def _in_memory(request: Request) -> RestCall:
    return RestCall(request, "")


async def _in_space(request: Request, space: SpaceName) -> RestCall:
    return RestCall(request, space)


async def _reading(
    request: Request, space: SpaceName, as_of: AsOfTime = None, known_at: KnownTime = None
) -> Reading:
    return Reading(request, space, as_of, known_at)


async def _writing(request: Request, space: SpaceName, key: IdempotencyKey = None) -> Writing:
    return Writing(request, space, key)


async def _writing_anywhere(request: Request, key: IdempotencyKey = None) -> Writing:
    return Writing(request, "", key)


InMemory = Annotated[RestCall, Depends(_in_memory)]
InSpace = Annotated[RestCall, Depends(_in_space)]
Reads = Annotated[Reading, Depends(_reading)]
Writes = Annotated[Writing, Depends(_writing)]
WritesAnywhere = Annotated[Writing, Depends(_writing_anywhere)]
"""For writes that concern the memory rather than one space."""
