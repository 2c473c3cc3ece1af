"""The application for /graphql: strawberry's own, with a whole query in one reading thread.

A query sees one moment (a snapshot) until it comes to a question: search, recall, paths and
the like use indexes, which move on their own. From there each field sees the memory as it is
when its turn comes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import strawberry
from graphql import (
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    Visitor,
    visit,
)
from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.extensions import (
    AddValidationRules,
    MaxAliasesLimiter,
    MaxTokensLimiter,
    ParserCache,
    QueryDepthLimiter,
    SchemaExtension,
    ValidationCache,
)
from strawberry.http import GraphQLHTTPResponse
from strawberry.scalars import JSON
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext, ExecutionResult

from hades.domain.plain import plain
from hades.domain.times import iso
from hades.errors import HadesError, InvalidInput
from hades.memory import View
from hades.serve.auth.caller import Caller, caller_of
from hades.serve.executor import Executor
from hades.serve.graphql.query import RunningQuery
from hades.serve.graphql.schema import Query
from hades.serve.graphql.types import graphql_type
from hades.serve.problems import FAILED_INSIDE, code_of

BODY_BYTES_AT_MOST = 200_000
TOKENS_AT_MOST = 1_000
"""Validation compares fields pair by pair: a query of so many tokens takes it some 0.3 s."""
DEPTH_AT_MOST = 16
"""Fields in fields: five steps from node to node, three fields each."""
ALIASES_AT_MOST = 30
SPREADS_AT_MOST = 20
"""How often fragments are named, which bounds what they come to when written out: some 1,500."""
ERRORS_AT_MOST = 20
STATUS = {"InvalidInput": 400, "Denied": 403, "NotFound": 404, "Unavailable": 503}

_log = logging.getLogger("hades.serve")


@dataclass(frozen=True, slots=True)
class QueryCall:
    """A request: who asks, and the headers and status of the answer."""

    executor: Executor
    caller: Caller
    response: Response


class FragmentLimiter(SchemaExtension):
    """Refuses a query that names fragments too often, or one that is not there.

    The limiters for depth and aliases walk a fragment wherever it is named: 35 fragments that
    each name the next one twice would take them years.
    """

    def on_validate(self) -> Iterator[None]:
        """Count before the limiters walk."""
        document = self.execution_context.graphql_document
        assert document is not None
        found = _Fragments()
        visit(document, found)
        if len(found.named) > SPREADS_AT_MOST:
            raise InvalidInput(f"A query may use fragments {SPREADS_AT_MOST} times: use fewer.")
        for missing in set(found.named) - found.defined:
            raise InvalidInput(f"There is no fragment {missing!r:.60} in the query.")
        yield


class _Fragments(Visitor):
    """The names of the fragments in a query."""

    def __init__(self) -> None:
        super().__init__()
        self.named: list[str] = []
        self.defined: set[str] = set()

    def enter_fragment_spread(self, node: FragmentSpreadNode, *_: Any) -> None:
        self.named.append(node.name.value)

    def enter_fragment_definition(self, node: FragmentDefinitionNode, *_: Any) -> None:
        self.defined.add(node.name.value)


class HadesSchema(strawberry.Schema):
    """A schema whose queries run in a reading thread of the executor."""

    async def execute(self, *given: Any, **named: Any) -> ExecutionResult:
        """Run a query."""
        call: QueryCall = named["context_value"]

        def in_thread(memory: View) -> ExecutionResult:
            with ExitStack() as snapshot:
                snapshot.enter_context(memory.snapshot())
                running = RunningQuery(call.executor, call.caller, memory, snapshot)
                return self.execute_sync(*given, **{**named, "context_value": running})

        result = await call.executor.read(call.caller, None, in_thread)
        if result.errors and not any((result.data or {}).values()):
            # Nothing of it was answered.
            call.response.status_code = STATUS.get(_code(result.errors[0]), 500)
        return result

    def process_errors(
        self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None
    ) -> None:
        """Log what is not the query's own fault."""
        for error in errors:
            if _is_hidden(error):
                _log.error("A field of a query failed: %s", error.path, exc_info=error)


class GraphQLApp(GraphQL[QueryCall, None]):
    """Strawberry's app: the caller comes in, errors go out with their code."""

    def __init__(self, executor: Executor) -> None:
        super().__init__(
            SCHEMA, graphql_ide=None, allow_queries_via_get=False, subscription_protocols=()
        )
        self._executor = executor

    async def get_context(
        self, request: Request | WebSocket, response: Response | WebSocket
    ) -> QueryCall:
        """Who asks; Denied without one."""
        assert isinstance(response, Response)
        return QueryCall(self._executor, caller_of(request), response)

    def decode_json(self, data: str | bytes) -> object:
        """The body as a JSON object; InvalidInput when it is none."""
        if len(data) > BODY_BYTES_AT_MOST:
            raise InvalidInput(f"A query's body has at most {BODY_BYTES_AT_MOST:,} bytes.")
        try:
            said = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise InvalidInput("The body is not JSON.") from error
        if not isinstance(said, dict):
            raise InvalidInput('Send a JSON object such as {"query": "{ spaces { name } }"}.')
        return said

    async def process_result(
        self, request: Request, result: ExecutionResult
    ) -> GraphQLHTTPResponse:
        """The answer: errors first, so that nobody overlooks them."""
        told = [_shown(error) for error in (result.errors or ())[:ERRORS_AT_MOST]]
        answered: GraphQLHTTPResponse = {"errors": list(told)} if told else {}
        if result.data is not None:
            answered["data"] = result.data
        return answered


def _shown(error: GraphQLError) -> dict[str, Any]:
    shown: dict[str, Any] = {**error.formatted, "extensions": {"code": _code(error)}}
    return {**shown, "message": FAILED_INSIDE} if _is_hidden(error) else shown


def _is_hidden(error: GraphQLError) -> bool:
    """Whether an error is no fault of the query: what it says is for the log alone."""
    cause = error.original_error
    return cause is not None and not isinstance(cause, GraphQLError | HadesError)


def _code(error: GraphQLError) -> str:
    """The name of the error's class in the tree of `hades.errors`."""
    cause = error.original_error
    if cause is None or isinstance(cause, GraphQLError):
        return "InvalidInput"
    return code_of(cause)


_RULES = [
    *QueryDepthLimiter(DEPTH_AT_MOST).validation_rules,
    *MaxAliasesLimiter(ALIASES_AT_MOST).validation_rules,
]
"""Made once: the validation cache knows a query again by its rules."""

SCHEMA = HadesSchema(
    graphql_type(Query),
    extensions=[
        lambda: MaxTokensLimiter(TOKENS_AT_MOST),
        lambda: AddValidationRules(_RULES),
        FragmentLimiter,
        ParserCache,
        ValidationCache,
    ],
    config=StrawberryConfig(
        scalar_map={
            datetime: strawberry.scalar(
                name="DateTime", description="A moment: `2024-02-20T00:00:00Z`.", serialize=iso
            ),
            JSON: strawberry.scalar(
                name="JSON", description="An object whose names vary.", serialize=plain
            ),
        }
    ),
)
