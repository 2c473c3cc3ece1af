"""Routes: what every route of REST has.

Names in a path are percent-encoded, and an encoded slash is part of a name. A query parameter
that is not known is refused, and a body of too many values is not read.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hades.errors import InvalidInput
from hades.serve.problems import ANY, TooLarge, is_json

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

SHORT_BYTES = 64 * 1024
VALUES_AT_MOST = 20_000
"""More than any call of ours sends. Each wrong one is an error that FastAPI builds."""
BATCH_VALUES_AT_MOST = 200_000
"""Read in 0.13 s at worst (a million lists: 0.65 s)."""
KEY = HTTPBearer(
    scheme_name="key",
    description="An API key, made by `hades keys create`. None over a unix socket.",
    auto_error=False,
)
"""For the description only: the middleware checks keys."""

# To the end where a string has none: what follows it must not be looked at again and again.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)


class CheckedRoute(APIRoute):
    """A route that looks at a request before FastAPI reads it."""

    def get_route_handler(self) -> Handler:
        """The function that answers a request."""
        answering = super().get_route_handler()
        known = set(_query_names(self.dependant))
        has_body = self.body_field is not None
        most = BATCH_VALUES_AT_MOST if self.path.endswith("/batch") else VALUES_AT_MOST

        async def handler(request: Request) -> Response:
            # A misspelt time would give today's answer to a question about the past.
            for name in request.query_params:
                if name not in known:
                    there = f": {', '.join(sorted(known))}" if known else ""
                    raise InvalidInput(f"There is no parameter {name[:100]!r} here{there}.")
            if has_body and is_json(request):
                raw = await request.body()
                if len(raw) > SHORT_BYTES:
                    await asyncio.to_thread(check_values, raw, most)
            return await answering(request)

        return handler


def routes(prefix: str, tag: str | None, dependencies: Sequence[Any] = ()) -> APIRouter:
    """A router of such routes."""
    return APIRouter(
        prefix=prefix,
        tags=None if tag is None else [tag],
        dependencies=[Depends(KEY), *dependencies],
        route_class=CheckedRoute,
        responses=ANY,
    )


def check_values(raw: bytes, most: int) -> None:
    """TooLarge when JSON has more values than are parsed at once.

    A parser keeps the interpreter until it is done, and takes long for many values: 30 MB of
    text in 0.1 s, 30 MB of empty lists in 14 s.
    """
    if _values(raw, 0, len(raw)) <= most:
        return
    # Most may be marks inside of strings, where they mean nothing.
    at = found = 0
    for string in _STRING.finditer(raw):
        found += _values(raw, at, string.start())
        at = string.end()
        if found > most:
            break
    if found + _values(raw, at, len(raw)) > most:
        raise TooLarge(f"A request has at most {most:,} values: send it in parts.")


def _values(raw: bytes, start: int, end: int) -> int:
    """How many values may begin there: first in a list or an object, or after a comma."""
    return sum(raw.count(mark, start, end) for mark in (b",", b"[", b"{"))


def _query_names(dependant: Any) -> Iterator[str]:
    for field in dependant.query_params:
        model = field.field_info.annotation
        fields = getattr(model, "model_fields", None)
        yield from (field.alias,) if fields is None else fields
    for inner in dependant.dependencies:
        yield from _query_names(inner)


class UndecodedPath:
    """Routes by the path as it was sent, so that an encoded slash stays part of a name."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its path undecoded."""
        if scope["type"] == "http" and (raw := scope.get("raw_path")):
            # In the same scope: the audit log names the route that is found inside.
            scope["path"] = raw.partition(b"?")[0].decode("ascii", "replace")
        await self._app(scope, receive, send)


class NameConvertor(Convertor[str]):
    """A name in one part of a path, percent-encoded."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """The name itself."""
        try:
            return unquote(value, errors="strict")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"The address is not UTF-8: {value[:100]}.") from error

    def to_string(self, value: str) -> str:
        """Addresses are not made by the server."""
        raise NotImplementedError


class TopicConvertor(NameConvertor):
    """A name in all the rest of a path: its slashes need no encoding."""

    regex = ".+"


class NumberConvertor(Convertor[int]):
    """A number as the store has it."""

    regex = "[0-9]{1,18}"

    def convert(self, value: str) -> int:
        """The number itself."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Addresses are not made by the server."""
        raise NotImplementedError


register_url_convertor("number", NumberConvertor())
register_url_convertor("name", NameConvertor())
register_url_convertor("topic", TopicConvertor())
