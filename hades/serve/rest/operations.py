"""The routes of the operations: one for each declaration in `hades/operations/`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, cast, get_args, get_origin

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field, create_model
from starlette.responses import Response

from hades.errors import Denied
from hades.operations.declare import OPERATIONS, Operation, Parameter
from hades.serve.rest.calls import (
    Asked,
    AsOfTime,
    IdempotencyKey,
    KnownTime,
    Reading,
    SpaceName,
    Writing,
    json_response,
)
from hades.serve.rest.models import Body, Number, Page, to_json, whole
from hades.serve.rest.paging import PAGE, Cursor, Limit, after_of, page
from hades.serve.rest.routes import routes
from hades.serve.wire import wire_type

_TIMES = {"as_of": AsOfTime, "known_at": KnownTime}


def operation_router() -> APIRouter:
    """A router with a route for every operation that has no code of its own for it."""
    return _router_of(tuple(OPERATIONS))


@cache
def _router_of(names: tuple[str, ...]) -> APIRouter:
    router = routes("/v1/spaces/{space:name}", None)
    for operation in map(OPERATIONS.__getitem__, names):
        if not operation.own_route and not operation.job:
            add_route(router, operation)
    return router


def add_route(router: APIRouter, operation: Operation) -> None:
    """Give an operation its route."""
    router.add_api_route(
        route_path(operation),
        _endpoint(operation),
        methods=[operation.verb],
        summary=operation.summary.rstrip("."),
        description=inspect.getdoc(operation.function),
        response_model=_response_model(operation.returns),
        operation_id=operation.name,
        tags=[operation.function.__module__.rpartition(".")[2]],
    )


def route_path(operation: Operation) -> str:
    """The path with its convertors: numbers, and names that may have slashes."""
    path = operation.path
    for one in operation.parameters:
        kind = "number" if one.type is int else "topic"
        path = path.replace(f"{{{one.name}}}", f"{{{one.name}:{kind}}}")
    return path


def run(operation: Operation, memory: Any, given: Mapping[str, Any]) -> Any:
    """Do an operation with named values."""
    args, named = operation.arguments(given)
    return operation.function(memory, *args, **named)


def body_model(operation: Operation) -> type[BaseModel] | None:
    """The body an operation takes; None where it takes none."""
    if not operation.has_body:
        return None
    own = [
        one
        for one in operation.parameters
        if one.name not in operation.in_path and not one.about.local
    ]
    fields = {one.name: field_of(one) for one in own}
    if operation.timed:
        fields |= {name: (kind, None) for name, kind in _TIMES.items()}
    example = {one.name: one.about.example for one in own if one.about.example is not None}
    name = "".join(part.title() for part in operation.name.split("_"))
    model = create_model(f"{name}Request", __base__=Body, __doc__=operation.summary, **fields)
    model.model_config = ConfigDict(**Body.model_config, json_schema_extra={"examples": [example]})
    model.model_rebuild(force=True)
    return model


def field_of(parameter: Parameter) -> Any:
    """A parameter as a field of a pydantic model."""
    if parameter.is_list:
        return wire_type(parameter), []  # the memory says what is missing
    return wire_type(parameter), Field() if parameter.required else parameter.default


def _endpoint(operation: Operation) -> Any:
    """The handler of an operation, with a signature FastAPI reads."""
    model = body_model(operation)
    keyword = inspect.Parameter.KEYWORD_ONLY
    shown = [
        inspect.Parameter("request", keyword, annotation=Request),
        inspect.Parameter("space", keyword, annotation=SpaceName),
    ]
    for one in operation.parameters:
        if one.name in operation.in_path:
            place = Path(description=one.about.help, examples=[one.about.example])
            kind = cast(Any, Annotated)[wire_type(one), place]
            shown.append(inspect.Parameter(one.name, keyword, annotation=kind))
        elif model is None and not (operation.cursor and one.name in ("after", "limit")):
            examples = None if one.about.example is None else [one.about.example]
            kind = Annotated[wire_type(one), Query(examples=examples)]
            default = [] if one.is_list else one.default
            shown.append(inspect.Parameter(one.name, keyword, annotation=kind, default=default))
    if model is not None:
        may_lack = not any(field.is_required() for field in model.model_fields.values())
        kind = model | None if may_lack else model
        default = None if may_lack else inspect.Parameter.empty
        shown.append(inspect.Parameter("body", keyword, annotation=kind, default=default))
    elif operation.timed:
        shown += [
            inspect.Parameter(name, keyword, annotation=kind, default=None)
            for name, kind in _TIMES.items()
        ]
    if operation.cursor:
        shown += [
            inspect.Parameter("cursor", keyword, annotation=Cursor, default=None),
            inspect.Parameter("limit", keyword, annotation=Limit, default=PAGE),
        ]
    if operation.writes:
        shown.append(inspect.Parameter("key", keyword, annotation=IdempotencyKey, default=None))
    answer = _write if operation.writes else _read

    async def endpoint(*, request: Request, space: str, **given: Any) -> Response:
        body = given.pop("body", None)
        if body is not None:
            given |= {name: getattr(body, name) for name in body.model_fields_set}
        return await answer(operation, request, space, given)

    endpoint.__name__ = operation.name
    endpoint.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return endpoint


async def _read(
    operation: Operation, request: Request, space: str, given: dict[str, Any]
) -> Response:
    reading = Reading(request, space, given.pop("as_of", None), given.pop("known_at", None))
    require(operation, reading)
    if operation.cursor is not None:
        limit, after = given.pop("limit"), after_of(operation, given.pop("cursor"))
        asked = {**given, "limit": limit + 1} | ({} if after is None else {"after": after})
        key = operation.cursor
        return await reading.answer(
            lambda view: page(run(operation, view, asked), limit, key), fresh=operation.asks
        )
    return await reading.answer(
        lambda view: shown(operation, reading.executor.told(run(operation, view, given))),
        fresh=operation.asks,
        patient=operation.long,
        model=operation.calls_model(given),
    )


async def _write(
    operation: Operation, request: Request, space: str, given: dict[str, Any]
) -> Response:
    # Long work makes many commits, and nobody waits for a model inside one: both can be sent again.
    key = given.pop("key", None)
    writing = Writing(request, space, None if operation.long or given.get("model") else key)
    require(operation, writing)
    if operation.long:
        made = await writing.executor.work(
            writing.caller,
            space,
            lambda memory, told: run(operation, memory, {**given, "on_progress": told}),
            lambda *_: None,
            role=operation.role,
        )
        return json_response(to_json(shown(operation, made)))
    return await writing.answer(
        lambda memory: shown(operation, run(operation, memory, given)), role=operation.role
    )


def require(operation: Operation, asked: Asked) -> None:
    """Denied where an operation concerns all spaces and the caller may use only some."""
    if operation.whole_memory and asked.caller.spaces is not None:
        raise Denied("This concerns all spaces: it needs a key for all spaces.")


def shown(operation: Operation, value: Any) -> Any:
    """A result as it is answered: lists as pages, numbers as values."""
    if isinstance(value, list):
        return whole(value)
    return {"value": value} if operation.returns is int else value


def _response_model(returns: Any) -> Any:
    if get_origin(returns) is list:
        return Page[get_args(returns)[0]]  # type: ignore[misc]
    return Number if returns is int else returns
