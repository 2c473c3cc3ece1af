"""Fields made from the operations of a view.

A field takes the arguments of its operation. `limit` is called `first` and is bounded; `after` is
a cursor, so that a list comes in pages and never reads more than one item beyond its page.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from strawberry.types import Info

from hades.domain.answer import WorkingSet
from hades.errors import InvalidInput
from hades.operations.declare import Operation, Parameter, types_of
from hades.serve.graphql.query import RunningQuery
from hades.serve.graphql.types import ListPage, field_of, page_of
from hades.serve.rest.paging import after_of, page

FIRST = 20
FIRST_AT_MOST = 200
HOPS_AT_MOST = 4
NAMES_AT_MOST = 50
LEFT_OUT = {"plan", "on_progress"}
"""Arguments that are for callers in Python and REST."""


@dataclass(frozen=True, slots=True)
class Reads:
    """A field that reads by an operation of the view."""

    kind: type
    """The type that has the field."""
    operation: Operation
    name: str = ""
    """The name of the field; else that of the operation."""
    of: Callable[[Any], str] | None = None
    """The operation's first argument, taken from what has the field."""

    def add(self) -> None:
        """Make it a field."""
        operation = self.operation
        arguments = [
            _argument(one, paged=operation.cursor is not None)
            for one in operation.parameters[0 if self.of is None else 1 :]
            if one.name not in LEFT_OUT
        ]
        returns = operation.returns
        if operation.cursor is not None:
            returns = page_of(get_args(returns)[0])

        def resolve(root: Any, info: Info[RunningQuery, None], **given: Any) -> Any:
            if operation.cursor is not None:
                after = after_of(operation, given.pop("after"))
                given |= {} if after is None else {"after": after}
            return self._read(root, info, given)

        root = inspect.Parameter("root", inspect.Parameter.KEYWORD_ONLY)
        info = inspect.Parameter("info", inspect.Parameter.KEYWORD_ONLY, annotation=Info)
        signature = inspect.Signature([root, info, *arguments])
        resolve.__signature__ = signature  # type: ignore[attr-defined]
        resolve.__annotations__ = {"info": Info, "return": returns}
        resolve.__doc__ = operation.summary
        field_of(self.kind, self.name or operation.name)(resolve)

    def _read(self, parent: Any, info: Info[RunningQuery, None], given: dict[str, Any]) -> Any:
        reading = info.context
        view = reading.indexed_view(info) if self.operation.asks else reading.view(info)
        names = [] if self.of is None else [self.of(parent)]
        if "names" in given:
            names += given.pop("names")
            check("number of names", len(names), NAMES_AT_MOST)
        if "hops" in given:
            check("hops", given["hops"], HOPS_AT_MOST)
        if "first" in given:
            given["limit"] = first = given.pop("first")
            check("first", first, FIRST_AT_MOST)
        if self.operation.cursor is not None:
            given["limit"] += 1
        found = reading.told(self.operation.function(view, *names, **given))
        if self.operation.cursor is None:
            return counted(reading, found)
        shown = page(found, first, self.operation.cursor)
        return ListPage(counted(reading, shown["items"]), shown["next"])


def counted(reading: RunningQuery, found: Any) -> Any:
    """What was found, if the query's budget allows for it."""
    reading.take(items=len(found) if isinstance(found, list) else 1, characters=_characters(found))
    return found


def _characters(found: Any) -> int:
    if isinstance(found, list):
        return sum(map(_characters, found))
    texts = [getattr(found, name, "") for name in ("content", "text", "context")]
    if isinstance(found, WorkingSet):
        texts += [item.state.content for item in found.items]
    return sum(map(len, texts))


def check(name: str, number: int, most: int) -> None:
    """InvalidInput when a number that a query gives is out of bounds."""
    if not 1 <= number <= most:
        raise InvalidInput(f"`{name}` is a whole number from 1 to {most}, not {number}.")


def _argument(parameter: Parameter, *, paged: bool) -> inspect.Parameter:
    """A parameter of an operation as an argument of a field."""
    name, kind, default = parameter.name, _argument_type(parameter.type), parameter.default
    if parameter.is_list:
        kind = list[str]
    if name == "limit":
        name, kind, default = "first", int, FIRST if default is None else default
    if name == "after" and paged:
        kind, default = str | None, None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _argument_type(hint: Any) -> Any:
    choices = set(types_of(hint))
    known: Any
    if any(get_origin(one) is Iterable for one in choices):
        known = list[str]
    elif str in choices or any(get_origin(one) is Literal for one in choices):
        known = str
    else:
        known = next(iter(choices - {NoneType}))
    return known | None if NoneType in choices else known
