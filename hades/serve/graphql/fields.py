"""Fields made from the methods of a view.

A field takes the arguments of its method. `limit` is called `first` and is bounded; `after` is
a cursor, so that a list comes in pages and never reads more than one item beyond its page.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import Parameter
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from strawberry.types import Info

from hades.domain.answer import Answer, Recall, WorkingSet
from hades.errors import InvalidInput
from hades.serve.graphql.query import RunningQuery
from hades.serve.graphql.types import ListPage, field_of, page_of
from hades.serve.rest.paging import decode, page

FIRST = 20
FIRST_AT_MOST = 200
HOPS_AT_MOST = 4
NAMES_AT_MOST = 50
LEFT_OUT = {"plan", "on_progress"}
"""Arguments that are for callers in Python and REST."""
_LATER = dict.fromkeys(("Plan", "View", "Memory"), Any)
"""Names that some modules know only while types are checked."""


@dataclass(frozen=True, slots=True)
class Reads:
    """A field that calls a method of the view."""

    kind: type
    """The type that has the field."""
    method: Callable[..., Any]
    name: str = ""
    """The name of the field; else that of the method."""
    of: Callable[[Any], str] | None = None
    """The method's first argument, taken from what has the field."""
    asks: bool = False
    """Whether it uses the indexes."""
    cursor: Callable[[Any], Sequence[Any]] | None = None
    """Of a list in pages: what tells where an item stands, as the method's `after`."""

    def add(self) -> None:
        """Make it a field."""
        hints = get_type_hints(self.method, localns=_LATER)
        skipped = 1 if self.of is None else 2
        arguments = [
            _argument(one, hints[one.name], paged=self.cursor is not None)
            for one in list(inspect.signature(self.method).parameters.values())[skipped:]
            if one.name not in LEFT_OUT
        ]
        returns = hints["return"]
        if self.cursor is not None:
            returns = page_of(get_args(returns)[0])
            cursor_types = _cursor_types(hints["after"])

        def resolve(root: Any, info: Info[RunningQuery, None], **given: Any) -> Any:
            if self.cursor is not None:
                after = decode(given.pop("after"), *cursor_types)
                if after is not None:
                    given["after"] = after[0] if len(after) == 1 else tuple(after)
            return self._read(root, info, given)

        root = Parameter("root", Parameter.KEYWORD_ONLY)
        info = Parameter("info", Parameter.KEYWORD_ONLY, annotation=Info)
        signature = inspect.Signature([root, info, *arguments])
        resolve.__signature__ = signature  # type: ignore[attr-defined]
        resolve.__annotations__ = {"info": Info, "return": returns}
        resolve.__doc__ = (inspect.getdoc(self.method) or "").split("\n\n")[0]
        field_of(self.kind, self.name or self.method.__name__)(resolve)

    def _read(self, parent: Any, info: Info[RunningQuery, None], given: dict[str, Any]) -> Any:
        reading = info.context
        view = reading.indexed_view(info) if self.asks else reading.view(info)
        names = [] if self.of is None else [self.of(parent)]
        if "names" in given:
            names += given.pop("names")
            check("number of names", len(names), NAMES_AT_MOST)
        if "hops" in given:
            check("hops", given["hops"], HOPS_AT_MOST)
        if "first" in given:
            given["limit"] = first = given.pop("first")
            check("first", first, FIRST_AT_MOST)
        if self.cursor is not None:
            given["limit"] += 1
        found = getattr(view, self.method.__name__)(*names, **given)
        if isinstance(found, Recall | Answer):
            reading.on_recall(found)
        if self.cursor is None:
            return counted(reading, found)
        shown = page(found, first, self.cursor)
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


def _argument(parameter: Parameter, hint: Any, *, paged: bool) -> Parameter:
    """A parameter of a method as an argument of a field."""
    name, kind, default = parameter.name, _argument_type(hint), parameter.default
    if parameter.kind is Parameter.VAR_POSITIONAL:
        kind = list[str]
    if name == "limit":
        name, kind, default = "first", int, FIRST if default is None else default
    if name == "after" and paged:
        kind, default = str | None, None
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _argument_type(hint: Any) -> Any:
    choices = _choices(hint)
    known: Any
    if any(get_origin(one) is Iterable for one in choices):
        known = list[str]
    elif str in choices or any(get_origin(one) is Literal for one in choices):
        known = str
    else:
        (known,) = choices - {NoneType}
    return known | None if NoneType in choices else known


def _cursor_types(hint: Any) -> tuple[Any, ...]:
    (known,) = _choices(hint) - {NoneType}
    return get_args(known) or (known,)


def _choices(hint: Any) -> set[Any]:
    return set(get_args(hint)) if get_origin(hint) in (Union, UnionType) else {hint}
