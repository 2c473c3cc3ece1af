"""How an operation is declared: once, beside its function.

    @operation("GET", "/history/{topic}", command="history", timed=True)
    def history(inside: Inside, topic: TopicName) -> list[State]: ...

The signature has the rest: types and, as `Param`, the meaning and bounds of each parameter. REST,
the client and the command line are made from `OPERATIONS`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property, wraps
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from hades.domain.plain import plain_without
from hades.errors import HadesError, InvalidInput

if TYPE_CHECKING:
    from hades.operations.inside import Inside

Function = TypeVar("Function", bound=Callable[..., Any])
Verb = Literal["GET", "POST", "PUT", "DELETE"]
KEYWORD = inspect.Parameter.KEYWORD_ONLY


class Role(IntEnum):
    """The rights of a caller. Each role includes the rights of the roles before it."""

    READER = 1
    WRITER = 2
    ADMIN = 3


@dataclass(frozen=True, slots=True)
class Param:
    """The help text of a parameter, and its bounds for callers from outside."""

    help: str
    flag: str | None = None
    """The option on the command line, such as `--limit/-n`; needed for a keyword-only parameter."""
    example: Any = None
    least: float | None = None
    most: float | None = None
    characters: int | None = None
    """The most characters of a text, or of each text in a list."""
    choices: tuple[str, ...] = ()
    json: bool = False
    """Whether the command line takes the value as JSON."""
    calls_model: bool = False
    """Whether a value for it calls a language model, which takes long and may cost money."""
    local: bool = False
    """Whether a server refuses the value, because it names a path of the server's machine."""
    default: Any = None
    """The default value of a key of `**filters`; other parameters have theirs in the signature."""
    rule: Callable[[Any], object] | None = None
    """A function that raises InvalidInput for a value that the memory refuses. It is called before
    the operation, in the library as well as for servers and commands."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation, as callers from outside see it."""

    name: str
    type: Any
    """The type, without the `Param`."""
    about: Param
    default: Any
    """The default value; `inspect.Parameter.empty` if the parameter is required."""
    kind: Any

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def is_list(self) -> bool:
        """Whether it takes any number of values, as `*names` does."""
        return self.kind is inspect.Parameter.VAR_POSITIONAL


WHOLE = Parameter(
    name="whole",
    type=bool,
    about=Param("Also return everything that was found.", flag="--whole"),
    default=False,
    kind=KEYWORD,
)
"""The parameter of operations with a `detail`, for callers from outside."""


@dataclass(frozen=True)
class Operation:
    """One thing that a memory can do, and how callers from outside reach it; a decorator."""

    verb: Verb
    path: str
    """The path of the REST route below `/v1/spaces/{space}`."""
    role: Role = Role.READER
    command: str | None = None
    """The name of the command that is made from it, if any."""
    timed: bool = False
    """Whether it takes a time to look back to: `as_of` and `known_at`, `--at` and `--known`."""
    asks: bool = False
    """Whether it needs the indexes, so that new states are indexed first. Implies `timed`."""
    cursor: Callable[[Any], Iterable[Any]] | None = None
    """For a list in pages: returns the `after` of the page that follows an item."""
    own_route: bool = False
    """Whether its REST route is written by hand."""
    whole_memory: bool = False
    """Whether it concerns all spaces, so that a key limited to some spaces may not call it."""
    creates: bool = False
    """Whether its command creates the memory if there is none."""
    confirm: str | None = None
    """The question that its command asks before it continues."""
    long: bool = False
    """Whether it may take minutes, so that it has no time limit."""
    needs_space: bool = False
    """Whether its check raises NotFound if the space was dropped, before the operation runs."""
    job: bool = False
    """Whether a server runs it as a job, which the client follows. Implies `long`."""
    detail: str = ""
    """A large field of the result, which callers from outside get only if they ask for the WHOLE.
    In Python it is always there."""
    function: Callable[..., Any] = lambda: None

    def __call__(self, function: Function) -> Function:
        name = function.__name__
        inner = _mended(function) if self.asks else function

        @wraps(function)
        def checked(inside: Inside, *args: Any, **named: Any) -> Any:
            OPERATIONS[name].check(inside, args, named)
            return inside.do(inner, args, named)

        _unpack_filters(checked)
        OPERATIONS[name] = replace(
            self,
            function=checked,
            timed=self.timed or self.asks,
            long=self.long or self.job,
        )
        return cast(Function, checked)

    def check(self, inside: Inside, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """Raise InvalidInput if an argument breaks its rule, or if a job is inside a batch.

        Raise NotFound if the operation needs its space and the space was dropped.
        """
        self.check_rules(args, named)
        if self.job and inside.store.in_transaction:
            does = self.name.capitalize()
            raise InvalidInput(f"{does} before or after a batch or snapshot, not inside it.")
        if self.needs_space:
            inside.require_space()

    def check_rules(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """Raise InvalidInput if an argument breaks its rule."""
        for place, name, default, rule in self._rules:
            value = args[place] if place < len(args) else named.get(name, default)
            if value is not default:
                rule(value)

    def of(self, view: Any, *args: Any, **named: Any) -> Any:
        """Do the operation on a `View` or `Memory`, through its method or property of the same
        name."""
        member = getattr(view, self.name)
        return member(*args, **named) if callable(member) else member

    @property
    def name(self) -> str:
        """The name of the method of `View` or `Memory`."""
        return self.function.__name__

    @property
    def writes(self) -> bool:
        return self.role > Role.READER

    @property
    def summary(self) -> str:
        """The first paragraph of its docstring, on one line."""
        return (inspect.getdoc(self.function) or "").split("\n\n")[0].replace("\n", " ")

    @property
    def in_path(self) -> tuple[str, ...]:
        """The names of the parameters in the path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @cached_property
    def returns(self) -> Any:
        return self._hints["return"]

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters for callers from outside: all but `on_progress`."""
        parameters = []
        for parameter in list(self.signature.parameters.values())[1:]:
            if parameter.name == "on_progress":
                continue
            hint = self._hints[parameter.name]
            if get_origin(hint) is not Annotated:
                raise TypeError(f"{self.name}: say what {parameter.name} means, with Param(...).")
            type_, about, *_ = get_args(hint)
            given = parameter.name, type_, about, parameter.default, parameter.kind
            parameters.append(Parameter(*given))
        return tuple(parameters + [WHOLE] * bool(self.detail))

    def parameter(self, name: str) -> Parameter:
        """Return the parameter of this name."""
        return next(item for item in self.parameters if item.name == name)

    @property
    def has_body(self) -> bool:
        """Whether its arguments are sent in the body of a request, not in the address."""
        names = {item.name for item in self.parameters}
        return self.verb in ("POST", "PUT") and not names <= set(self.in_path)

    def calls_model(self, given: Mapping[str, Any]) -> bool:
        """Return whether a call with these values calls a language model."""
        return any(given.get(item.name) for item in self.parameters if item.about.calls_model)

    @property
    def tells_progress(self) -> bool:
        return "on_progress" in self.signature.parameters

    @cached_property
    def _rules(self) -> list[tuple[int, str, Any, Callable[[Any], object]]]:
        """Place, name, default and rule of each parameter with a rule.

        The place of a keyword-only parameter is larger than the number of arguments of any call.
        """
        return [
            (
                sys.maxsize if item.kind is KEYWORD else place,
                item.name,
                item.default,
                item.about.rule,
            )
            for place, item in enumerate(self.parameters)
            if item.about.rule is not None
        ]

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.function, localns=_LATER, include_extras=True)

    def short(self, result: Any, given: Mapping[str, Any]) -> Any:
        """Return a result for a caller from outside: without its `detail` unless asked for."""
        left_out = self.detail and not given.get(WHOLE.name)
        return plain_without(result, self.detail) if left_out else result

    def arguments(self, given: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return named values as positional and named arguments; a list becomes `*names`."""
        named = {name: value for name, value in given.items() if name != WHOLE.name}
        before = list[str]()
        for parameter in self.parameters:
            if parameter.is_list:
                values = named.pop(parameter.name, ())
                return [*map(named.pop, before), *values], named
            before.append(parameter.name)
        return [], named


_LATER: dict[str, Any] = {"Plan": dict}
"""A type that `questions` imports only for type checking."""

OPERATIONS: dict[str, Operation] = {}
"""Every operation by its name, in the order of declaration."""

operation = Operation


def _unpack_filters(function: Any) -> None:
    """Give a function with `**filters: Unpack[...]` a signature with the keys as parameters."""
    signature = inspect.signature(function)
    *own, last = signature.parameters.values()
    if last.kind is inspect.Parameter.VAR_KEYWORD:
        hints = get_type_hints(function, localns=_LATER, include_extras=True)
        (filters,) = get_args(hints[last.name])
        keys = get_type_hints(filters, include_extras=True)
        own += [
            inspect.Parameter(
                name,
                KEYWORD,
                default=get_args(hint)[1].default,
                annotation=filters.__annotations__[name].__forward_arg__,
            )
            for name, hint in keys.items()
        ]
        function.__signature__ = signature.replace(parameters=own)
        function.__annotations__ |= keys


def _mended(function: Function) -> Function:
    """Wrap a function: if it fails and an index proves damaged, call it again with a new index."""

    @wraps(function)
    def mended(inside: Inside, *args: Any, **named: Any) -> Any:
        from hades.index.array_store import late_damage

        folder = inside.store.index_folder
        before = late_damage(folder)
        try:
            return function(inside, *args, **named)
        except (HadesError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a panic of the word index is not an Exception
            if late_damage(folder, wait=True) == before:
                raise
        return function(inside, *args, **named)

    return cast(Function, mended)


def types_of(annotation: Any) -> tuple[Any, ...]:
    """Return the types of a union; for any other type, the type itself."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
