"""Calls: what every request carries, and how it is brought to the memory and back.

`Reads` and `Writes` are what a handler asks for. Each is given a function of the memory;
its result is turned into JSON in the thread that ran it, so that the loop stays free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Path, Query, Request
from starlette.responses import Response

from hades.domain.plain import plain
from hades.memory import Memory
from hades.serve.auth.caller import Caller, Role, caller_of
from hades.serve.executor.executor import Executor
from hades.serve.rest.words import KEY_CHARACTERS_AT_MOST, NAME, TIME
from hades.serve.wire import JSON, to_json
from hades.store.records import Progress
from hades.view import View

Result = TypeVar("Result")

SpaceName = Annotated[
    str, NAME, Path(description="The space, percent-encoded.", examples=["default"])
]
AsOfTime = Annotated[
    str | None,
    Query(description="The memory as the world was then, by all we know.", examples=["2024-03"]),
    TIME,
]
KnownTime = Annotated[
    str | None,
    Query(description="The memory as it was known then.", examples=["2024-03-01T12:00:00Z"]),
    TIME,
]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Sent again with the same request, it gives the first answer again.",
        min_length=1,
        max_length=KEY_CHARACTERS_AT_MOST,
        examples=["7d8f3a52-note-17"],
    ),
]


@dataclass(frozen=True, slots=True)
class Made:
    """What a write gave, with the status and headers it is answered with."""

    value: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Asked:
    """One request: who asks, and the executor that serves it."""

    def __init__(self, request: Request) -> None:
        self.request = request

    @property
    def executor(self) -> Executor:
        """What runs the call."""
        executor: Executor = self.request.app.state.executor
        return executor

    @property
    def caller(self) -> Caller:
        """Who asks."""
        return caller_of(self.request)


class Reading(Asked):
    """A request that reads one space."""

    def __init__(self, request: Request, space: str) -> None:
        super().__init__(request)
        self.space = space
        self.as_of: str | None = None
        self.known_at: str | None = None

    def at(self, as_of: str | None, known_at: str | None) -> Reading:
        """The same request, asked of another moment."""
        self.as_of, self.known_at = as_of, known_at
        return self

    async def __call__(
        self, call: Callable[[View], Result], *, fresh: bool = False, patient: bool = False
    ) -> Result:
        """What a function makes of the memory as of the time asked for."""
        return await self.executor.read(
            self.caller,
            self.space,
            call,
            valid=self.as_of,
            known=self.known_at,
            fresh=fresh,
            patient=patient,
        )

    async def answer(self, call: Callable[[View], Any], *, fresh: bool = False) -> Response:
        """The same, as JSON."""
        return json_response(await self(lambda view: to_json(call(view)), fresh=fresh))

    async def listed(
        self, call: Callable[[View], Sequence[Any]], *, fresh: bool = False
    ) -> Response:
        """The same, of a list that comes whole."""
        return await self.answer(lambda view: {"items": call(view), "next": None}, fresh=fresh)


class Writing(Asked):
    """A request that writes to one space."""

    def __init__(self, request: Request, space: str, key: str | None = None) -> None:
        super().__init__(request)
        self.space: str | None = space
        self.key = key

    async def answer(
        self, call: Callable[[Memory], Any], *, status: int = 200, role: Role = Role.WRITER
    ) -> Response:
        """What a function writes, as JSON; with an idempotency key, only the first time."""
        asked = "" if self.key is None else await self._told()

        def run(memory: Memory) -> tuple[Any, bool]:
            if self.key is None:
                return _answered(call(memory), status), False
            kept: tuple[Any, bool] = memory.once(
                self.key, asked, lambda: _answered(call(memory), status)
            )
            return kept

        made, again = await self.executor.write(self.caller, self.space, run, role=role)
        headers = {**made["headers"], **({"Idempotent-Replayed": "true"} if again else {})}
        return json_response(to_json(made["body"]), made["status"], headers)

    async def done(self, call: Callable[[Memory], None], told: Any) -> Response:
        """The same, of a function that gives nothing; what was asked is told again."""

        def write(memory: Memory) -> Any:
            call(memory)
            return told

        return await self.answer(write)

    async def work(self, call: Callable[[Memory, Progress], Result]) -> Result:
        """What a long function does beside other calls."""
        return await self.executor.work(self.caller, self.space, call, lambda *_: None)

    async def require(self, role: Role = Role.WRITER) -> None:
        """NotFound or Denied now, rather than after much was sent."""
        await self.executor.read(self.caller, self.space, lambda view: view.space, role=role)

    async def _told(self) -> str:
        """Everything that makes this request the one it is."""
        parts = [self.request.method, self.request.url.path, self.request.url.query]
        parts += [self.request.headers.get(name, "") for name in ("if-match", "if-none-match")]
        return "\n".join(parts) + "\n" + (await self.request.body()).decode("utf-8", "replace")


def _answered(made: Any, status: int) -> dict[str, Any]:
    if not isinstance(made, Made):
        made = Made(made, status)
    return {"status": made.status, "headers": dict(made.headers), "body": plain(made.value)}


def json_response(
    body: bytes, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A response of JSON that is made already."""
    return Response(body, status, headers, JSON)


class WritingAnywhere(Writing):
    """A request that writes to no space in particular."""

    def __init__(self, request: Request, key: str | None = None) -> None:
        super().__init__(request, "", key)
        self.space = None


# Coroutines, though they wait for nothing: what is none, FastAPI runs in a thread of its own,
# which would cost more than all the rest of a short call.


async def _asked(request: Request) -> Asked:
    return Asked(request)


async def _asking(request: Request, space: SpaceName) -> Reading:
    return Reading(request, space)


async def _reading(
    request: Request,
    space: SpaceName,
    as_of: AsOfTime = None,
    known_at: KnownTime = None,
) -> Reading:
    return Reading(request, space).at(as_of, known_at)


async def _writing(request: Request, space: SpaceName, key: IdempotencyKey = None) -> Writing:
    return Writing(request, space, key)


async def _writing_anywhere(request: Request, key: IdempotencyKey = None) -> WritingAnywhere:
    return WritingAnywhere(request, key)


Asks = Annotated[Reading, Depends(_asking)]
"""For questions: the time is in the body."""
Reads = Annotated[Reading, Depends(_reading)]
Writes = Annotated[Writing, Depends(_writing)]
WritesAnywhere = Annotated[WritingAnywhere, Depends(_writing_anywhere)]
AnyRequest = Annotated[Asked, Depends(_asked)]
