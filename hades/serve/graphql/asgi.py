"""The address of GraphQL: a query comes in as JSON, its answer goes out as JSON.

A query that is refused as a whole is answered by 400 and one error; one that was executed
by 200, whatever some of its fields ran into. Every error says its `code`: the name of the
error's class in `hades.errors`.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from graphql import DocumentNode, ExecutionResult, GraphQLError, execute_sync, validate
from pydantic_core import to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hades import errors
from hades.errors import HadesError, InvalidInput, Unavailable
from hades.serve.auth.caller import Caller, caller_of
from hades.serve.executor.executor import Executor
from hades.serve.graphql import limits
from hades.serve.graphql.reading import Reading
from hades.serve.graphql.schema import CORE
from hades.view import View

BODY_BYTES_AT_MOST = 200_000
ERRORS_AT_MOST = 20
QUERIES_KEPT = 100
"""Queries that were read and found valid: programs send the same few again and again."""
KEPT_CHARACTERS_AT_MOST = 4_000
"""Longer ones are read anew: all that are kept together stay within some 20 MB."""
MEDIA_TYPES = ("application/graphql-response+json", "application/json")
INSIDE = "Something went wrong inside; the server's log says what."

_log = logging.getLogger("hades.serve")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for."""

    query: str
    variables: Mapping[str, Any]
    operation: str | None


def mounted(desk: Executor, *, introspection: bool = True, graphiql: bool = False) -> ASGIApp:
    """The application for /graphql.

    The schema may be asked for by everybody who may read; it is in the documentation too.
    GraphiQL is a page for people that loads its parts from elsewhere, hence off.
    """
    return _GraphQL(desk, introspection, graphiql)


class _GraphQL:
    def __init__(self, desk: Executor, introspection: bool, graphiql: bool) -> None:
        self._desk = desk
        self._introspection = introspection
        self._graphiql = graphiql

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if self._graphiql and request.method in ("GET", "HEAD"):
            return HTMLResponse(_page())
        if request.method != "POST":
            told = _refusal(InvalidInput("Send the query by POST, as application/json."))
            return _reply(request, 405, told, {"Allow": "POST"})
        try:
            caller = caller_of(request)
            asked = await _asked(request)
            done = await self._done(caller, asked)
        except HadesError as error:
            return _reply(request, _status(error), _refusal(error), _retry(error))
        return _reply(request, 200, done)

    async def _done(self, caller: Caller, asked: Asked) -> dict[str, Any]:
        document = _documents.get(asked.query)
        if document is None:
            # In a thread: a long query takes a while to be found valid.
            document = await self._desk.read(caller, None, lambda _: _valid(asked.query))
        operation = limits.chosen_operation(document, asked.operation)
        scale = limits.Scale(CORE, document, operation, asked.variables)
        weight = scale.weigh()
        if weight.introspects and not self._introspection:
            raise InvalidInput("The schema is not told here: see docs/reference/schema.graphql.")
        limits.check(weight)
        spaces = scale.spaces()
        space = next(iter(spaces)) if len(spaces) == 1 else None
        if weight.asks and space is None:
            for name in sorted(one for one in spaces if caller.sees(one)):
                # What was written is indexed first; what cannot be is told by its field.
                await self._desk.read(caller, name, lambda _: None, fresh=True)

        def run(memory: View) -> ExecutionResult:
            with nullcontext() if weight.asks else memory.snapshot():
                return execute_sync(
                    CORE,
                    document,
                    context_value=Reading(caller, memory, self._desk.told),
                    variable_values=dict(asked.variables),
                    operation_name=asked.operation,
                )

        return _told(await self._desk.read(caller, space, run, fresh=weight.asks))


async def _asked(request: Request) -> Asked:
    """What the body says; InvalidInput when it is no query."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise InvalidInput("Send the query as application/json.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BODY_BYTES_AT_MOST:
            raise InvalidInput(f"A query's body has at most {BODY_BYTES_AT_MOST:,} bytes.")
    try:
        said = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("The body is not JSON.") from error
    if not isinstance(said, dict) or not isinstance(said.get("query"), str):
        raise InvalidInput('The body is a JSON object such as {"query": "{ spaces { name } }"}.')
    variables, operation = said.get("variables") or {}, said.get("operationName")
    if not isinstance(variables, dict) or not isinstance(operation, str | None):
        raise InvalidInput("`variables` is an object and `operationName` a string.")
    return Asked(said["query"], variables, operation)


def _valid(query: str) -> DocumentNode:
    """A query as a tree that fits the schema."""
    try:
        document = limits.read_query(query)
    except GraphQLError as error:
        raise InvalidInput(limits.sentence(error)) from error
    if wrong := validate(CORE, document, max_errors=1):
        raise InvalidInput(limits.sentence(wrong[0]))
    if len(query) <= KEPT_CHARACTERS_AT_MOST:
        with _keeping:
            _documents[query] = document
            while len(_documents) > QUERIES_KEPT:
                del _documents[next(iter(_documents))]
    return document


_documents: dict[str, DocumentNode] = {}
_keeping = threading.Lock()


def _told(result: ExecutionResult) -> dict[str, Any]:
    """A result as it is sent: errors first, so that nobody overlooks them."""
    told: dict[str, Any] = {}
    if result.data is None and result.errors and not any(one.path for one in result.errors):
        # No field was looked at: a variable does not fit.
        raise InvalidInput(limits.sentence(result.errors[0]))
    if result.errors:
        told["errors"] = [_error(one) for one in result.errors[:ERRORS_AT_MOST]]
    return {**told, "data": result.data}


def _error(error: GraphQLError) -> dict[str, Any]:
    cause = None if isinstance(error.original_error, GraphQLError) else error.original_error
    told: dict[str, Any] = {"message": limits.sentence(error) if cause is None else str(cause)}
    code = "InvalidInput" if cause is None else _code(cause)
    if cause is not None and not isinstance(cause, HadesError):
        _log.error("A field of a query failed: %s", error.path, exc_info=cause)
        told["message"] = INSIDE
    if error.path:
        told["path"] = error.path
    return {**told, "extensions": {"code": code}}


def _refusal(error: HadesError) -> dict[str, Sequence[Mapping[str, Any]]]:
    return {"errors": [{"message": str(error), "extensions": {"code": _code(error)}}]}


def _code(error: BaseException) -> str:
    """The name of the error's class in the tree of `hades.errors`."""
    known = (kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return next(known, HadesError).__name__


def _status(error: HadesError) -> int:
    known = {"InvalidInput": 400, "Denied": 403, "NotFound": 404, "Unavailable": 503}
    return int(getattr(error, "status", known.get(_code(error), 500)))


def _retry(error: HadesError) -> dict[str, str]:
    if not isinstance(error, Unavailable):
        return {}
    return {"Retry-After": str(getattr(error, "retry_after_s", 1))}


def _reply(
    request: Request, status: int, told: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> Response:
    accepted = request.headers.get("accept", "")
    kind = MEDIA_TYPES[0] if MEDIA_TYPES[0] in accepted else MEDIA_TYPES[1]
    return Response(to_json(told), status, headers, kind)


@lru_cache(maxsize=1)
def _page() -> str:
    from strawberry.http.ides import get_graphql_ide_html

    return get_graphql_ide_html(graphql_ide="graphiql")
