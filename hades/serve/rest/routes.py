"""Routes: what every route of REST has. A query parameter nobody knows is refused, and a body of
too many values is not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from hades.errors import InvalidInput
from hades.serve.problems import ANY, is_json
from hades.serve.rest import bodies

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class CheckedRoute(APIRoute):
    """A route that looks at a request before FastAPI reads it."""

    def get_route_handler(self) -> Handler:
        """The function that answers a request."""
        answering = super().get_route_handler()
        known = set(_query_names(self.dependant))
        has_body = self.body_field is not None

        async def handler(request: Request) -> Response:
            # A misspelt time would give today's answer to a question about the past.
            for name in request.query_params:
                if name not in known:
                    there = f": {', '.join(sorted(known))}" if known else ""
                    raise InvalidInput(f"There is no parameter {name[:100]!r} here{there}.")
            if has_body and is_json(request):
                raw = await request.body()
                if len(raw) > bodies.SHORT_BYTES:
                    await asyncio.to_thread(bodies.check_values, raw)
            return await answering(request)

        return handler


def routes(prefix: str, tag: str, dependencies: Sequence[Any] = ()) -> APIRouter:
    """A router of such routes."""
    return APIRouter(
        prefix=prefix,
        tags=[tag],
        dependencies=list(dependencies),
        route_class=CheckedRoute,
        responses=ANY,
    )


def _query_names(dependant: Any) -> Iterator[str]:
    for field in dependant.query_params:
        model = field.field_info.annotation
        fields = getattr(model, "model_fields", None)
        yield from (field.alias,) if fields is None else fields
    for inner in dependant.dependencies:
        yield from _query_names(inner)
