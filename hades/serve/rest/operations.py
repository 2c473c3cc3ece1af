"""The routes of the operations: one for each declaration in `hades/operations/`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, cast, get_args, get_origin

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from starlette.responses import Response

from hades.errors import InvalidInput
from hades.memory import Memory
from hades.operations.declare import KEYWORD, OPERATIONS, Operation, Parameter
from hades.serve.jobs import JobKey, JobStatus, Kind
from hades.serve.rest.calls import (
    AsOfTime,
    IdempotencyKey,
    KnownTime,
    Reading,
    RestCall,
    SpaceName,
    Writing,
    json_response,
)
from hades.serve.rest.jobs import begun_response
from hades.serve.rest.models import Body, Number, Page, to_json, whole
from hades.serve.rest.paging import PAGE, Cursor, Limit, after_of, page
from hades.serve.rest.routes import routes
from hades.serve.wire import wire_type
from hades.store.records import Progress

_TIMES = {"as_of": AsOfTime, "known_at": KnownTime}


@cache
def operation_router(names: tuple[str, ...]) -> APIRouter:
    """Return a router with a route for each of these operations that has no hand-written one."""
    router = routes("/v1/spaces/{space:name}", None)
    for operation in map(OPERATIONS.__getitem__, names):
        if operation.own_route:
            continue
        module = operation.function.__module__.rpartition(".")[2]
        router.add_api_route(
            route_path(operation),
            _endpoint(operation),
            methods=[operation.verb],
            status_code=202 if operation.job else 200,
            summary=operation.summary.rstrip("."),
            description=inspect.getdoc(operation.function),
            response_model=_response_model(operation),
            operation_id=operation.name,
            tags=["jobs" if operation.job else module],
        )
    return router


def route_path(operation: Operation) -> str:
    """Return the path with its convertors: numbers, and names that may contain slashes."""
    path = operation.path
    for parameter in operation.parameters:
        kind = "number" if parameter.type is int else "topic"
        path = path.replace(f"{{{parameter.name}}}", f"{{{parameter.name}:{kind}}}")
    return path


def run(operation: Operation, memory: Any, given: Mapping[str, Any]) -> Any:
    """Run an operation on a view or memory, with arguments by name; return its result."""
    args, named = operation.arguments(given)
    return operation.of(memory, *args, **named)


def body_model(operation: Operation) -> type[BaseModel] | None:
    """Return the model of an operation's body; None if it has no body."""
    if not operation.has_body:
        return None
    own = [
        parameter
        for parameter in operation.parameters
        if parameter.name not in operation.in_path and not parameter.about.local
    ]
    fields = {parameter.name: field_of(parameter) for parameter in own}
    if operation.timed:
        fields |= {name: (kind, None) for name, kind in _TIMES.items()}
    examples = {parameter.name: parameter.about.example for parameter in own}
    example = {name: value for name, value in examples.items() if value is not None}
    name = "".join(part.title() for part in operation.name.split("_"))
    model = create_model(f"{name}Request", __base__=Body, __doc__=operation.summary, **fields)
    model.model_config = ConfigDict(**Body.model_config, json_schema_extra={"examples": [example]})
    model.model_rebuild(force=True)
    return model


def field_of(parameter: Parameter) -> Any:
    """Return a parameter as a field of a pydantic model: its type and default."""
    if parameter.is_list:
        return wire_type(parameter), []  # the memory reports an empty list itself
    return wire_type(parameter), Field() if parameter.required else parameter.default


@cache
def arguments_model(operation: Operation) -> type[BaseModel]:
    """Return a model of an operation's arguments, with those of its path, without local ones."""
    fields = {item.name: field_of(item) for item in operation.parameters if not item.about.local}
    return create_model(f"{operation.name}_arguments", __base__=Body, **fields)


def checked(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call; raise InvalidInput if REST would refuse them."""
    try:
        model = arguments_model(operation)(**given)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise InvalidInput(f"{where}: {str(fault['msg']).rstrip('.')}."[:500]) from error
    return {name: getattr(model, name) for name in model.model_fields_set}


def _endpoint(operation: Operation) -> Any:
    """Return the handler of an operation, with a signature for FastAPI."""
    model = body_model(operation)
    shown = [
        inspect.Parameter("request", KEYWORD, annotation=Request),
        inspect.Parameter("space", KEYWORD, annotation=SpaceName),
    ]
    for parameter in operation.parameters:
        name = parameter.name
        about = parameter.about
        if name in operation.in_path:
            place = Path(description=about.help, examples=[about.example])
            kind = cast(Any, Annotated)[wire_type(parameter), place]
            shown.append(inspect.Parameter(name, KEYWORD, annotation=kind))
        elif model is None and not (operation.cursor and name in ("after", "limit")):
            examples = None if about.example is None else [about.example]
            kind = Annotated[wire_type(parameter), Query(examples=examples)]
            default = [] if parameter.is_list else parameter.default
            shown.append(inspect.Parameter(name, KEYWORD, annotation=kind, default=default))
    if model is not None:
        may_lack = not any(field.is_required() for field in model.model_fields.values())
        kind = model | None if may_lack else model
        default = None if may_lack else inspect.Parameter.empty
        shown.append(inspect.Parameter("body", KEYWORD, annotation=kind, default=default))
    elif operation.timed:
        shown += [
            inspect.Parameter(name, KEYWORD, annotation=kind, default=None)
            for name, kind in _TIMES.items()
        ]
    if operation.cursor:
        shown += [
            inspect.Parameter("cursor", KEYWORD, annotation=Cursor, default=None),
            inspect.Parameter("limit", KEYWORD, annotation=Limit, default=PAGE),
        ]
    if operation.writes:
        shown.append(inspect.Parameter("key", KEYWORD, annotation=IdempotencyKey, default=None))
    answer = _begin if operation.job else _write if operation.writes else _answer_read

    async def endpoint(*, request: Request, space: str, **given: Any) -> Response:
        body = given.pop("body", None)
        if body is not None:
            given |= {name: getattr(body, name) for name in body.model_fields_set}
        return await answer(operation, request, space, given)

    endpoint.__name__ = operation.name
    endpoint.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return endpoint


async def _answer_read(
    operation: Operation, request: Request, space: str, given: dict[str, Any]
) -> Response:
    reading = Reading(request, space, given.pop("as_of", None), given.pop("known_at", None))
    require(operation, reading)
    if operation.cursor is not None:
        limit = given.pop("limit")
        after = after_of(operation, given.pop("cursor"))
        arguments = {**given, "limit": limit + 1} | ({} if after is None else {"after": after})
        key = operation.cursor
        return await reading.answer(
            lambda view: page(run(operation, view, arguments), limit, key), fresh=operation.asks
        )
    return await reading.answer(
        lambda view: shown(
            operation,
            operation.short(reading.executor.observed(run(operation, view, given)), given),
        ),
        fresh=operation.asks,
        patient=operation.long,
        model=operation.calls_model(given),
    )


async def _begin(
    operation: Operation, request: Request, space: str, given: dict[str, Any]
) -> Response:
    """Start a job and answer with it, or with the one that the idempotency key started before."""
    call = RestCall(request, space)
    key = JobKey.of(given.pop("key"), operation.name, given)
    await call.require(operation.role)
    operation.check_rules((), given)  # refuse the request at once, instead of a job that fails

    def work(memory: Memory, report: Progress) -> Any:
        return getattr(memory, operation.name)(**given, on_progress=report)

    job = call.jobs.begun_with(key, call.caller, space)
    return begun_response(
        job
        or call.jobs.start(
            call.caller, space, cast(Kind, operation.name), work, key=key, role=operation.role
        )
    )


async def _write(
    operation: Operation, request: Request, space: str, given: dict[str, Any]
) -> Response:
    # A key works within one commit. Long work makes many, and a model must not be called inside
    # one, so both ignore the key; repeating them is harmless.
    key = given.pop("key", None)
    writing = Writing(request, space, None if operation.long or given.get("model") else key)
    require(operation, writing)
    if operation.long:
        result = await writing.executor.work(
            writing.caller,
            space,
            lambda memory, report: run(operation, memory, {**given, "on_progress": report}),
            lambda *_: None,
            role=operation.role,
        )
        return json_response(to_json(shown(operation, result)))
    return await writing.answer(
        lambda memory: shown(operation, run(operation, memory, given)), role=operation.role
    )


def require(operation: Operation, call: RestCall) -> None:
    """Raise Denied if an operation concerns all spaces and the caller may use only some."""
    if operation.whole_memory:
        call.caller.require_all_spaces()


def shown(operation: Operation, value: Any) -> Any:
    """Return a result in its JSON form: a list as a page, a number as `{"value": …}`."""
    if isinstance(value, list):
        return whole(value)
    return {"value": value} if operation.returns is int else value


def _response_model(operation: Operation) -> Any:
    if operation.job:
        return JobStatus
    if get_origin(operation.returns) is list:
        return Page[get_args(operation.returns)[0]]  # type: ignore[misc]
    return Number if operation.returns is int else operation.returns
