"""How an operation is declared: once, beside its function.

    @operation("GET", "/history/{topic}", command="history", timed=True)
    def history(view: View, topic: TopicName) -> list[State]: ...

The signature says the rest: the types and, by `Param`, what each parameter means and how large
it may be. REST, the client and the command line read `OPERATIONS` and need no code of their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
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
    calls_model: bool = False
    """Where it is given, a language model is called: that takes long and may cost money."""
    local: bool = False
    """A server does not take it from its callers: it names a place on the server's machine."""


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
    """What a memory can do, and how it is called from outside; as a decorator it declares it."""

    verb: Verb
    path: str
    """Below `/v1/spaces/{space}`."""
    role: Role = Role.READER
    command: str | None = None
    """The command line's name for it; None: it has none, or one with code of its own."""
    timed: bool = False
    """It is asked as of a time: `as_of` and `known_at`, `--at` and `--known`."""
    asks: bool = False
    """It needs the indexes: what was written since is indexed first. It is timed too."""
    cursor: Callable[[Any], Iterable[Any]] | None = None
    """Of a list that comes in pages by `after` and `limit`: the `after` that follows an item."""
    own_route: bool = False
    """REST has a route with code of its own for it."""
    whole_memory: bool = False
    """It concerns all spaces: a key bound to some of them may not."""
    creates: bool = False
    """Its command makes the memory where there is none."""
    confirm: str | None = None
    """What its command asks before it goes on."""
    long: bool = False
    """It may take minutes: nobody gives up on it."""
    job: bool = False
    """It takes long, and a server does it as a job, which the client follows."""
    function: Callable[..., Any] = lambda: None

    def __call__(self, function: Function) -> Function:
        """Declare a function as this operation."""
        if self.asks:
            function = _mended(function)
        OPERATIONS[function.__name__] = replace(
            self,
            function=function,
            timed=self.timed or self.asks,
            long=self.long or self.job,
        )
        return function

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
            hint = self._hints[parameter.name]
            if get_origin(hint) is not Annotated:
                raise TypeError(f"{self.name}: say what {parameter.name} means, with Param(...).")
            kind, about, *_ = get_args(hint)
            found.append(Parameter(parameter.name, kind, about, parameter.default, parameter.kind))
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

    def calls_model(self, given: Mapping[str, Any]) -> bool:
        """Whether a call with these values calls a language model."""
        return any(given.get(one.name) for one in self.parameters if one.about.calls_model)

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
        names = [one.name for one in self.parameters]
        for place, one in enumerate(self.parameters):
            if one.is_list:
                before = [named.pop(name) for name in names[:place]]
                return [*before, *named.pop(one.name, ())], named
        return [], named


_LATER: dict[str, Any] = {"View": object, "Memory": object, "Plan": dict}
"""Names that the modules of operations know only while types are checked."""

OPERATIONS: dict[str, Operation] = {}
"""Every operation by its name, in the order of declaration."""


operation = Operation


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
