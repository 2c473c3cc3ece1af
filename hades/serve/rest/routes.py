"""Routes: the rules that all REST routes share.

Names in a path are percent-encoded, and an encoded slash is part of a name. Unknown query
parameters are refused, and so are bodies with too many values.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.convertors import IntegerConvertor, StringConvertor, register_url_convertor
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hades.errors import InvalidInput
from hades.serve.problems import ANY, TooLarge, is_json

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

SHORT_BYTES = 64 * 1024
VALUES_AT_MOST = 20_000
"""The most values in a body, more than any call needs. The limit matters because FastAPI builds an
error for each wrong value."""
BATCH_VALUES_AT_MOST = 200_000
"""The most values in a batch, which take at most 0.13 s to parse."""
KEY = HTTPBearer(
    scheme_name="key",
    description="An API key, made by `hades keys create`. None over a unix socket.",
    auto_error=False,
)
"""For the description only: the middleware checks keys."""

# An unclosed string matches to the end of the input, which keeps the search linear.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)


class CheckedRoute(APIRoute):
    """A route that checks the query and the size of the body before FastAPI parses them."""

    def get_route_handler(self) -> Handler:
        """Return FastAPI's handler with the checks before it."""
        answering = super().get_route_handler()
        known = set(_query_names(self.dependant))
        has_body = self.body_field is not None
        most = BATCH_VALUES_AT_MOST if self.path.endswith("/batch") else VALUES_AT_MOST

        async def handler(request: Request) -> Response:
            # Ignoring a misspelt `as_of` would answer about today instead of the past.
            for name in request.query_params:
                if name not in known:
                    choices = f": {', '.join(sorted(known))}" if known else ""
                    raise InvalidInput(f"There is no parameter {name[:100]!r} here{choices}.")
            if has_body and is_json(request):
                raw = await request.body()
                if len(raw) > SHORT_BYTES:
                    await asyncio.to_thread(check_values, raw, most)
            return await answering(request)

        return handler


def routes(prefix: str, tag: str | None, dependencies: Sequence[Any] = ()) -> APIRouter:
    """Return a router whose routes are checked and described in the same way."""
    return APIRouter(
        prefix=prefix,
        tags=None if tag is None else [tag],
        dependencies=[Depends(KEY), *dependencies],
        route_class=CheckedRoute,
        responses=ANY,
    )


def check_values(raw: bytes, most: int) -> None:
    """Raise TooLarge if JSON has more than `most` values.

    The parser holds the interpreter's lock, and many values take long: 30 MB of empty lists take 14
    s, 30 MB of text 0.1 s.
    """
    if _values(raw, 0, len(raw)) <= most:
        return
    # Count again without strings, in which commas and brackets do not begin values.
    at = values = 0
    for string in _STRING.finditer(raw):
        values += _values(raw, at, string.start())
        at = string.end()
        if values > most:
            break
    if values + _values(raw, at, len(raw)) > most:
        raise TooLarge(f"A request has at most {most:,} values: send it in parts.")


def _values(raw: bytes, start: int, end: int) -> int:
    """Return an upper bound of the values in a range: each follows a comma or a bracket."""
    return sum(raw.count(mark, start, end) for mark in (b",", b"[", b"{"))


def _query_names(dependant: Any) -> Iterator[str]:
    for field in dependant.query_params:
        model = field.field_info.annotation
        fields = getattr(model, "model_fields", None)
        yield from (field.alias,) if fields is None else fields
    for inner in dependant.dependencies:
        yield from _query_names(inner)


@dataclass(frozen=True, slots=True)
class UndecodedPath:
    """Middleware that routes by the encoded path, so that %2F stays part of a name."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (raw := scope.get("raw_path")):
            # Change the scope itself, because the audit log reads the route from it.
            scope["path"] = raw.partition(b"?")[0].decode("ascii", "replace")
        await self.app(scope, receive, send)


class NameConvertor(StringConvertor):
    """A percent-encoded name in one part of a path."""

    def convert(self, value: str) -> str:
        try:
            return unquote(value, errors="strict")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"The address is not UTF-8: {value[:100]}.") from error


class TopicConvertor(NameConvertor):
    """A name that takes the rest of a path: its slashes need no encoding."""

    regex = ".+"


class NumberConvertor(IntegerConvertor):
    """A number of the store, of up to 18 digits."""

    regex = "[0-9]{1,18}"


register_url_convertor("number", NumberConvertor())
register_url_convertor("name", NameConvertor())
register_url_convertor("topic", TopicConvertor())
