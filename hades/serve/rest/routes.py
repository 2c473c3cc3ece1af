"""Routes that know what their handlers need, so that a request that fits is read in no time.

FastAPI finds out anew with every request what its handler needs, which takes longer than
reading a state does. Here that is found out once. The values are judged by the same fields;
whatever does not fit, or is not simple, is left to FastAPI, which then says what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any, get_origin

from fastapi import APIRouter, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.params import Body
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import Response

from hades.errors import InvalidInput
from hades.serve.problems import ANY, ERRORS_AT_MOST, is_json
from hades.serve.rest import bodies
from hades.serve.wire import JSON

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class _Unfit(Exception):
    """Not for us: FastAPI shall look at it."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A value in a request: where it stands, and who judges it."""

    name: str
    alias: str
    validate: Callable[..., tuple[Any, Any]]
    required: bool
    default: Any

    def read(self, given: Mapping[str, str]) -> Any:
        value = given.get(self.alias)
        if value is None:
            if self.required:
                raise _Unfit
            return self.default
        read, wrong = self.validate(value)
        if wrong:
            raise _Unfit
        return read


@dataclass(frozen=True, slots=True)
class _Needs:
    """What one function is called with."""

    path: tuple[_Field, ...]
    query: tuple[_Field, ...]
    headers: tuple[_Field, ...]
    request: str | None

    def read(self, request: Request) -> dict[str, Any]:
        values = {field.name: field.read(request.path_params) for field in self.path}
        if self.query:
            asked = request.query_params if request.scope["query_string"] else _NOTHING
            values |= {field.name: field.read(asked) for field in self.query}
        if self.headers:
            told = request.headers
            values |= {field.name: field.read(told) for field in self.headers}
        if self.request is not None:
            values[self.request] = request
        return values


_NOTHING: Mapping[str, str] = {}


class ReadyRoute(APIRoute):
    """A route that reads simple requests itself."""

    def get_route_handler(self) -> Handler:
        """The function that answers a request."""
        careful = super().get_route_handler()
        known = _asked(self.dependant)
        answering = self._answering(careful)

        async def handler(request: Request) -> Response:
            if request.scope["query_string"]:
                # A misspelt time would give today's answer to a question about the past.
                for name in request.query_params:
                    if name not in known:
                        there = f": {', '.join(sorted(known))}" if known else ""
                        raise InvalidInput(f"There is no parameter {name[:100]!r} here{there}.")
            return await answering(request)

        return handler

    def _answering(self, careful: Handler) -> Handler:
        endpoint: Callable[..., Any] = self.endpoint
        own, body = _needs(self.dependant), _body(self.dependant.body_params)
        subs = [(sub.name, sub.call, _needs(sub)) for sub in self.dependant.dependencies]
        simple = [(n, c, needs) for n, c, needs in subs if needs and iscoroutinefunction(c)]
        if own is None or body is _Unfit or len(simple) < len(subs):
            return careful

        async def handler(request: Request) -> Response:
            try:
                sent = None if body is None else await _sent(body, request)
                values = own.read(request)
                if body is not None:
                    values[body.name] = _judged(body, request, sent)
                made = [(name, call, needs.read(request)) for name, call, needs in simple]
            except _Unfit:
                return await careful(request)
            for name, call, given in made:
                result = await call(**given)
                if name is not None:
                    values[name] = result
            answer: Response = await endpoint(**values)
            return answer

        return handler


def routes(prefix: str, tag: str, *, dependencies: Sequence[Any] = ()) -> APIRouter:
    """A router for what stands below an address."""
    return APIRouter(
        prefix=prefix,
        tags=[tag],
        dependencies=list(dependencies),
        responses=ANY,
        route_class=ReadyRoute,
    )


def _asked(dependant: Any) -> frozenset[str]:
    """Every parameter that may stand in the query of an address."""
    own: set[str] = set()
    for field in dependant.query_params:
        kind = field.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            own |= {one.alias or name for name, one in kind.model_fields.items()}
        else:
            own.add(field.alias)
    return frozenset(own.union(*(_asked(sub) for sub in dependant.dependencies)))


def _needs(dependant: Any) -> _Needs | None:
    """What a function needs; None where that is not simple."""
    fields = [*dependant.path_params, *dependant.query_params, *dependant.header_params]
    if dependant.cookie_params or not all(_is_simple(field) for field in fields):
        return None
    strange = ("websocket", "http_connection", "response", "background_tasks", "security_scopes")
    if any(getattr(dependant, f"{name}_param_name") for name in strange):
        return None
    if dependant.name is not None and dependant.dependencies:
        return None
    return _Needs(
        path=tuple(map(_field, dependant.path_params)),
        query=tuple(map(_field, dependant.query_params)),
        headers=tuple(map(_field, dependant.header_params)),
        request=dependant.request_param_name,
    )


def _is_simple(field: Any) -> bool:
    """Whether a value is one string, rather than several or all of them."""
    kind = field.field_info.annotation
    several = get_origin(kind) in (list, tuple, set, Sequence)
    return not several and not (isinstance(kind, type) and issubclass(kind, BaseModel))


def _field(field: Any) -> _Field:
    required = field.field_info.is_required()
    default = None if required else field.get_default()
    return _Field(field.name, field.alias, field.validate, required, default)


def _body(fields: Sequence[Any]) -> Any:
    """The one field that is the whole body; None where there is none."""
    if not fields:
        return None
    info = fields[0].field_info
    whole = len(fields) == 1 and type(info) is Body and not info.embed and info.is_required()
    is_model = isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel)
    return _field(fields[0]) if whole and is_model else _Unfit


@dataclass(frozen=True, slots=True)
class _Sent:
    """A long body that was read and judged already."""

    value: Any


async def _sent(body: _Field, request: Request) -> bytes | _Sent:
    """A body as it came; a long one as what it says, for it must not be read here or again."""
    raw = await request.body()
    if len(raw) <= bodies.SHORT_BYTES:
        return raw
    if not is_json(request):
        raise HTTPException(415, "Send the body as application/json.")
    said, value = await bodies.read(raw, lambda raw: _read_long(body, raw))
    request._json = said  # where FastAPI looks for it, should the rest not fit
    return _Sent(value)


def _read_long(body: _Field, raw: bytes) -> tuple[Any, Any]:
    try:
        said = json.loads(raw)
    except (ValueError, RecursionError) as error:
        where = ("body", getattr(error, "pos", 0))
        what = {"error": getattr(error, "msg", str(error))}
        wrong = {"type": "json_invalid", "loc": where, "msg": "JSON decode error", "ctx": what}
        raise RequestValidationError([wrong]) from error
    value, unfit = body.validate(said, loc=("body",))
    if unfit:
        raise RequestValidationError(unfit[:ERRORS_AT_MOST])
    return said, value


def _judged(body: _Field, request: Request, sent: bytes | _Sent | None) -> Any:
    if isinstance(sent, _Sent):
        return sent.value
    if sent is None or request.headers.get("content-type") != JSON:
        raise _Unfit
    try:
        said = json.loads(sent)
    except (ValueError, RecursionError) as error:
        raise _Unfit from error
    read, wrong = body.validate(said)
    if wrong:
        raise _Unfit
    return read
