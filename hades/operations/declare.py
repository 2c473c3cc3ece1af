"""How an operation is declared: once, beside its function.

    @operation("GET", "/history/{topic}", command="history", timed=True)
    def history(view: View, topic: TopicName) -> list[State]: ...

The signature says the rest: the types and, by `Param`, what each parameter means and how large
it may be. REST, the client and the command line read `OPERATIONS` and need no code of their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, wraps
from types import UnionType
from typing import (
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

from hades.errors import HadesError

Function = TypeVar("Function", bound=Callable[..., Any])
Verb = Literal["GET", "POST", "PUT", "DELETE"]


class Role(IntEnum):
    """What a caller may do; each role may also do what those before it may."""

    READER = 1
    WRITER = 2
    ADMIN = 3


@dataclass(frozen=True, slots=True)
class Param:
    """What a parameter means, and its bounds for callers from outside."""

    help: str
    flag: str | None = None
    """Its option on the command line, as `--limit/-n`; None: an argument where it has a place."""
    example: Any = None
    least: float | None = None
    most: float | None = None
    characters: int | None = None
    """The most characters of a text, or of each in a list."""
    choices: tuple[str, ...] = ()
    json: bool = False
    """On the command line it is written as JSON."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation, as callers from outside see it."""

    name: str
    type: Any
    """Its type, without what is said about it."""
    about: Param
    default: Any
    """`inspect.Parameter.empty` where it must be given."""
    kind: Any

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is inspect.Parameter.empty

    @property
    def is_list(self) -> bool:
        """Whether it takes any number of values: `*names`."""
        return self.kind is inspect.Parameter.VAR_POSITIONAL


@dataclass(frozen=True)
class Operation:
    """What a memory can do, and how it is called from outside."""

    function: Callable[..., Any]
    verb: Verb
    path: str
    """Below `/v1/spaces/{space}`."""
    role: Role
    command: str | None
    """The command line's name for it; None: it has none, or one with code of its own."""
    timed: bool
    """It is asked as of a time: `as_of` and `known_at`, `--at` and `--known`."""
    asks: bool
    """It needs the indexes: what was written since is indexed first."""
    cursor: Callable[[Any], Iterable[Any]] | None
    """Of a list that comes in pages by `after` and `limit`: the `after` that follows an item."""
    own_route: bool
    """REST has a route with code of its own for it."""
    whole_memory: bool
    """It concerns all spaces: a key bound to some of them may not."""
    creates: bool
    """Its command makes the memory where there is none."""
    confirm: str | None
    """What its command asks before it goes on."""
    long: bool
    """It may take minutes: nobody gives up on it."""

    @property
    def name(self) -> str:
        """The method of `View` or `Memory`."""
        return self.function.__name__

    @property
    def writes(self) -> bool:
        """Whether it changes the memory."""
        return self.role > Role.READER

    @property
    def summary(self) -> str:
        """The first sentence of its documentation."""
        return (inspect.getdoc(self.function) or "").split("\n\n")[0].replace("\n", " ")

    @property
    def in_path(self) -> tuple[str, ...]:
        """The parameters that are part of the path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of its function."""
        return inspect.signature(self.function)

    @cached_property
    def returns(self) -> Any:
        """The type of its result."""
        return self._hints["return"]

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """What callers from outside may say; progress is told in this process only."""
        found = []
        for parameter in list(self.signature.parameters.values())[1:]:
            if parameter.name == "on_progress":
                continue
            kind, *about = _parts_of(self._hints[parameter.name])
            given = next((one for one in about if isinstance(one, Param)), None)
            if given is None:
                raise TypeError(f"{self.name}: say what {parameter.name} means, with Param(...).")
            found.append(Parameter(parameter.name, kind, given, parameter.default, parameter.kind))
        return tuple(found)

    def parameter(self, name: str) -> Parameter:
        """One of its parameters."""
        return next(one for one in self.parameters if one.name == name)

    @property
    def has_body(self) -> bool:
        """Whether its arguments are sent as a body; else they are in the address."""
        return self.verb in ("POST", "PUT") and any(
            one.name not in self.in_path for one in self.parameters
        )

    @property
    def tells_progress(self) -> bool:
        """Whether it takes `on_progress`."""
        return "on_progress" in self.signature.parameters

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.function, localns=_LATER, include_extras=True)

    def arguments(self, given: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Named values as the function takes them: a list becomes `*names`."""
        named = dict(given)
        several = next((one.name for one in self.parameters if one.is_list), None)
        if several is None:
            return [], named
        before = []
        for one in self.parameters:
            if one.is_list:
                break
            before.append(named.pop(one.name))
        return [*before, *named.pop(several, ())], named


_LATER: dict[str, Any] = {"View": object, "Memory": object, "Plan": dict}
"""Names that the modules of operations know only while types are checked."""

OPERATIONS: dict[str, Operation] = {}
"""Every operation by its name, in the order of declaration."""


def operation(
    verb: Verb,
    path: str,
    *,
    role: Role = Role.READER,
    command: str | None = None,
    timed: bool = False,
    asks: bool = False,
    cursor: Callable[[Any], Iterable[Any]] | None = None,
    own_route: bool = False,
    whole_memory: bool = False,
    creates: bool = False,
    confirm: str | None = None,
    long: bool = False,
) -> Callable[[Function], Function]:
    """Declare a function as an operation; see `Operation` for what is said."""

    def declare(function: Function) -> Function:
        if asks:
            function = _mended(function)
        OPERATIONS[function.__name__] = Operation(
            function,
            verb,
            path,
            role,
            command,
            timed or asks,
            asks,
            cursor,
            own_route,
            whole_memory,
            creates,
            confirm,
            long,
        )
        return function

    return declare


def _mended(function: Function) -> Function:
    """Ask once more when it fails and an index turns out to be damaged: it is made anew."""

    @wraps(function)
    def asked(view: Any, *args: Any, **named: Any) -> Any:
        from hades.index.array_store import late_damage

        folder = view._store.index_folder
        before = late_damage(folder)
        try:
            return function(view, *args, **named)
        except (HadesError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # a panic of the word index is no Exception
            if late_damage(folder, wait=True) == before:
                raise
        return function(view, *args, **named)

    return cast(Function, asked)


def types_of(annotation: Any) -> tuple[Any, ...]:
    """The types of a union; of any other type, itself."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _parts_of(annotation: Any) -> tuple[Any, ...]:
    """A type and what is said about it, also where only a part of it carries that."""
    if get_origin(annotation) is Annotated:
        return get_args(annotation)
    about = [
        said
        for inner in get_args(annotation)
        if get_origin(inner) is Annotated
        for said in get_args(inner)[1:]
    ]
    if not about:
        return (annotation,)
    bare: Any = None
    for inner in get_args(annotation):
        one = get_args(inner)[0] if get_origin(inner) is Annotated else inner
        bare = one if bare is None else bare | one
    return (bare, *about)
