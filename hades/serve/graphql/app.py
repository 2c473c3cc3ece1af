"""The application for /graphql: Strawberry's, with each query in one reading thread.

A query reads from one snapshot until its first question (search, recall, paths and the like).
Questions use indexes, which are not part of the snapshot: from there on, each field reads the
memory as it is at that moment.
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
"""The most tokens of a query. Validation compares fields pairwise, which takes 0.3 s for this
many."""
DEPTH_AT_MOST = 16
"""The deepest nesting of fields: enough for five steps from node to node with three fields each."""
ALIASES_AT_MOST = 30
SPREADS_AT_MOST = 20
"""How often a query may name fragments. Expanded, they are then at most about 1,500 fields."""
ERRORS_AT_MOST = 20
STATUS = {"InvalidInput": 400, "Denied": 403, "NotFound": 404, "Unavailable": 503}

_log = logging.getLogger("hades.serve")


@dataclass(frozen=True, slots=True)
class QueryCall:
    """A request: its caller, and the response whose status it sets."""

    executor: Executor
    caller: Caller
    response: Response


class FragmentLimiter(SchemaExtension):
    """Refuses a query that names fragments too often, or an undefined one.

    The limiters for depth and aliases visit a fragment each time it is named: 35 fragments that
    each name the next one twice would take them years.
    """

    def on_validate(self) -> Iterator[None]:
        """Count the fragments before the other limiters run."""
        document = self.execution_context.graphql_document
        assert document is not None
        fragments = _Fragments()
        visit(document, fragments)
        if len(fragments.named) > SPREADS_AT_MOST:
            raise InvalidInput(f"A query may use fragments {SPREADS_AT_MOST} times: use fewer.")
        for missing in set(fragments.named) - fragments.defined:
            raise InvalidInput(f"There is no fragment {missing!r:.60} in the query.")
        yield


class _Fragments(Visitor):
    """Collects the names of a query's fragments."""

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
        call: QueryCall = named["context_value"]

        def in_thread(memory: View) -> ExecutionResult:
            with ExitStack() as snapshot:
                snapshot.enter_context(memory.snapshot())
                running = RunningQuery(call.executor, call.caller, memory, snapshot)
                return self.execute_sync(*given, **{**named, "context_value": running})

        result = await call.executor.read(call.caller, None, in_thread)
        if result.errors and not any((result.data or {}).values()):
            call.response.status_code = STATUS.get(_code(result.errors[0]), 500)
        return result

    def process_errors(
        self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None
    ) -> None:
        """Log the errors that the query did not cause."""
        for error in errors:
            if _is_hidden(error):
                _log.error("A field of a query failed: %s", error.path, exc_info=error)


class GraphQLApp(GraphQL[QueryCall, None]):
    """Strawberry's app, with our callers and error codes."""

    def __init__(self, executor: Executor) -> None:
        super().__init__(
            SCHEMA, graphql_ide=None, allow_queries_via_get=False, subscription_protocols=()
        )
        self._executor = executor

    async def get_context(
        self, request: Request | WebSocket, response: Response | WebSocket
    ) -> QueryCall:
        """Return the call with its caller; raise Denied without one."""
        assert isinstance(response, Response)
        return QueryCall(self._executor, caller_of(request), response)

    def decode_json(self, data: str | bytes) -> object:
        """Parse the body; raise InvalidInput unless it is a JSON object."""
        if len(data) > BODY_BYTES_AT_MOST:
            raise InvalidInput(f"A query's body has at most {BODY_BYTES_AT_MOST:,} bytes.")
        try:
            body = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise InvalidInput("The body is not JSON.") from error
        if not isinstance(body, dict):
            raise InvalidInput('Send a JSON object such as {"query": "{ spaces { name } }"}.')
        return body

    async def process_result(
        self, request: Request, result: ExecutionResult
    ) -> GraphQLHTTPResponse:
        """Return the answer, with the errors before the data."""
        errors: list[Any] = [_json_of(error) for error in (result.errors or ())[:ERRORS_AT_MOST]]
        answer: GraphQLHTTPResponse = {"errors": errors} if errors else {}
        if result.data is not None:
            answer["data"] = result.data
        return answer


def _json_of(error: GraphQLError) -> dict[str, Any]:
    shown: dict[str, Any] = {**error.formatted, "extensions": {"code": _code(error)}}
    return {**shown, "message": FAILED_INSIDE} if _is_hidden(error) else shown


def _is_hidden(error: GraphQLError) -> bool:
    """Whether the server caused an error: its message goes to the log, not to the caller."""
    cause = error.original_error
    return cause is not None and not isinstance(cause, GraphQLError | HadesError)


def _code(error: GraphQLError) -> str:
    """Return the error's class in `hades.errors`; InvalidInput if the query itself is faulty."""
    cause = error.original_error
    if cause is None or isinstance(cause, GraphQLError):
        return "InvalidInput"
    return code_of(cause)


_RULES = [
    *QueryDepthLimiter(DEPTH_AT_MOST).validation_rules,
    *MaxAliasesLimiter(ALIASES_AT_MOST).validation_rules,
]
"""Created once, since the validation cache compares rules by identity."""

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
