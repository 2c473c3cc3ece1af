"""Decorators that make functions and operations tools of the SDK.

A client sends the list of tools to its model in every conversation, so it is kept short:
arguments that several tools share are described only in `recall`. An empty text means that the
argument is left out.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any, TypeVar, cast, get_args

from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

from hades.errors import InvalidInput
from hades.operations.declare import KEYWORD, OPERATIONS, WHOLE, Operation, Parameter
from hades.serve.mcp.call import AgentCall, Ctx
from hades.serve.wire import wire_type
from hades.store.records import Progress

NAME_CHARACTERS_AT_MOST = 2_000

Question = Annotated[str, Field(min_length=1, max_length=8_000)]
Name = Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS_AT_MOST)]
OptionalName = Annotated[str, Field(max_length=NAME_CHARACTERS_AT_MOST)]
Time = Annotated[str, Field(max_length=100)]
NoteText = Annotated[str, Field(max_length=100_000)]
LongText = Annotated[str, Field(max_length=1_000_000)]
Tags = Annotated[list[Name], Field(max_length=50)]
Share = Annotated[float, Field(ge=0, le=1)]

SHARED_ARGUMENTS = {
    "as_of": Annotated[
        Time, Field(description="The world as of this time: 2024-03-01, 2024-03, 3 weeks ago.")
    ],
    "known_at": Annotated[Time, Field(description="Only what the memory knew at this time.")],
    "space": Annotated[OptionalName, Field(description="Leave it out for the usual space.")],
}
DESCRIBED_IN = "recall"
_NOT_SHOWN = frozenset(
    {"title", "default", "maxLength", "minLength", "maxItems", "minimum", "maximum"}
)
"""Keywords of a schema that are checked but not shown: models do not need them."""

TOOLS: dict[str, Tool] = {}
CORE: set[str] = set()
"""Tools that are listed by default."""
MEMGPT: set[str] = set()
"""Tools that `--tools memgpt` lists."""

Function = TypeVar("Function", bound=Callable[..., Awaitable[CallToolResult]])
Answer = CallToolResult | Awaitable[CallToolResult]
Answering = TypeVar("Answering", bound=Callable[[AgentCall, Any], Answer])


def tool(
    *shared: str,
    core: bool = False,
    memgpt: bool = False,
    writes: bool = False,
    destroys: bool = False,
) -> Callable[[Function], Function]:
    """Return a decorator that registers a function as a tool. Its docstring is for models.

    The function gets an `AgentCall`, which has the shared arguments, and its own arguments. `core`
    and `memgpt` add it to these sets; `writes` hides it from readers; `destroys` warns clients.
    """

    def declare(function: Function) -> Function:
        name = function.__name__
        declared = Tool.from_function(
            _with_context(function, shared),
            name=name,
            description=inspect.getdoc(function),
            annotations=ToolAnnotations(
                read_only_hint=not writes, destructive_hint=destroys if writes else None
            ),
        )
        schema = _short(declared.parameters)
        if name != DESCRIBED_IN:
            for argument in shared:
                del schema["properties"][argument]["description"]
        TOOLS[name] = declared.model_copy(update={"parameters": schema})
        if core:
            CORE.add(name)
        if memgpt:
            MEMGPT.add(name)
        return function

    return declare


def chosen_tools(names: str) -> set[str]:
    """Return the tools of a list of sets and names: `core,pathrag_retrieve`; `all` is every tool.

    Raise InvalidInput for a name that is neither.
    """
    chosen: set[str] = set()
    for name in (part.strip() for part in names.split(",")):
        tools = {"core": CORE, "memgpt": MEMGPT, "all": TOOLS.keys()}.get(name, {name})
        if not tools <= TOOLS.keys():
            raise InvalidInput(
                f"There is no tool {name!r}: use core, memgpt, all, or names of tools."
            )
        chosen |= tools
    return chosen


def operation_tool(
    names: str = "",
    *,
    operation: str = "",
    core: bool = False,
    destroys: bool = False,
    **described: Any,
) -> Callable[[Answering], Answering]:
    """Return a decorator for the function that turns an operation's result into a tool's answer.

    The tool has those arguments of the operation that are in `described`, with a description for
    models (or None, or a type and a default), and in `names`, without one. The function has the
    name of the tool, by default that of its `operation`; its docstring is for models.
    """

    def declare(answer: Answering) -> Answering:
        declared = OPERATIONS[operation or answer.__name__]
        shown = {**described, **dict.fromkeys(names.split())}

        async def run(call: AgentCall, **arguments: Any) -> CallToolResult:
            ctx = arguments.pop("ctx", None)
            call = replace(call, whole=arguments.pop(WHOLE.name, False))
            required = {name for name in shown if declared.parameter(name).required}
            options = {name: arguments[name] for name in required} | given(**arguments)
            answered = answer(call, await _called(declared, call, options, ctx))
            return await answered if inspect.isawaitable(answered) else answered

        run.__name__ = answer.__name__
        run.__doc__ = answer.__doc__
        own = [_argument(declared.parameter(name), about) for name, about in shown.items()]
        if declared.job:
            own.append(inspect.Parameter("ctx", KEYWORD, annotation=Ctx))
        run.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
        shared = ("as_of", "known_at", "space") if declared.timed else ("space",)
        tool(*shared, core=core, writes=declared.writes, destroys=destroys)(run)
        return answer

    return declare


async def _called(
    operation: Operation, call: AgentCall, options: dict[str, Any], ctx: Ctx | None
) -> Any:
    """Call an operation as its declaration says: as a write, a question, long work or a read."""

    def do(memory: Any, **progress: Progress) -> Any:
        return getattr(memory, operation.name)(**options, **progress)

    if operation.job and ctx is not None:
        return await call.work(lambda memory, report: do(memory, on_progress=report), ctx)
    if operation.writes:
        return await call.write(do)
    if not operation.asks:
        return await call.read(do)
    return await call.ask(do, model=operation.calls_model(options))


def _argument(parameter: Parameter, about: Any) -> inspect.Parameter:
    """Return an operation's parameter as a tool's; `about` is as in `operation_tool`."""
    kind, *bounds = get_args(wire_type(parameter))[:-1]  # without the declared description
    if bounds:
        kind = cast(Any, Annotated)[(kind, *bounds)]
    default = parameter.default
    if isinstance(about, str):
        kind = Annotated[kind, Field(description=about)]
    elif about is not None:
        kind, default = about
    return inspect.Parameter(parameter.name, KEYWORD, default=default, annotation=kind)


def _with_context(
    function: Callable[..., Awaitable[CallToolResult]], shared: tuple[str, ...]
) -> Callable[..., Awaitable[CallToolResult]]:
    """Wrap a function for the SDK, which passes its context and the shared arguments."""

    async def run(ctx: Ctx, **arguments: Any) -> CallToolResult:
        common = {name: arguments.pop(name) for name in shared}
        call = AgentCall.of(ctx, **common)
        if takes_context:
            arguments["ctx"] = ctx
        return await function(call, **arguments)

    own = inspect.signature(function, eval_str=True).parameters
    takes_context = "ctx" in own
    parameters = [
        inspect.Parameter("ctx", KEYWORD, annotation=Ctx),
        *(own[name].replace(kind=KEYWORD) for name in own if name not in ("call", "ctx")),
        *(
            inspect.Parameter(name, KEYWORD, default="", annotation=SHARED_ARGUMENTS[name])
            for name in shared
        ),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {"ctx": Ctx}
    return run


def given(**options: Any) -> dict[str, Any]:
    """Return the options that are neither None nor an empty text."""
    return {name: value for name, value in options.items() if value is not None and value != ""}


def _short(schema: Any) -> Any:
    """Return a JSON schema without the keywords in `_NOT_SHOWN`, and without null."""
    if isinstance(schema, list):
        return [_short(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    short: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            short[key] = {name: _short(property) for name, property in value.items()}
        elif key not in _NOT_SHOWN:
            short[key] = _short(value)
    options = [option for option in short.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:  # null is the same as leaving the argument out
        del short["anyOf"]
        short |= options[0]
    return short
