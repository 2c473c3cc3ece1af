"""GraphQL types made from dataclasses.

`graphql_type(Edge)` is a type with a field for every field and property of `Edge`. Resolvers
return the dataclasses themselves, so nothing is copied. What a type can do beyond its own
fields is a function marked with `@field_of`; its signature is the field's signature.
"""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

import strawberry
from strawberry.scalars import JSON

from hades.domain.graph import Entity
from hades.domain.topics import Space, Topic

Item = TypeVar("Item")
Resolver = TypeVar("Resolver", bound=Callable[..., Any])

NAMES: dict[type, str] = {Space: "SpaceListed"}
"""Types with another name than their dataclass; `Space` is the one to navigate in."""
HIDDEN = {Topic: {"versions"}, Entity: {"edges"}}
"""Fields that are not shown: a topic found by name does not know them, or they are renamed."""


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Item]):
    """One page of a long list."""

    items: Sequence[Item]
    next: str | None
    """`after` of the page that follows; null: this is the last."""


NAMES[ListPage] = "Page"
_resolvers: dict[type, dict[str, Callable[..., Any]]] = defaultdict(dict)
_objects: dict[Any, type] = {}


def field_of(kind: type, name: str | None = None) -> Callable[[Resolver], Resolver]:
    """Make a function a field of the type made from this dataclass."""

    def added(function: Resolver) -> Resolver:
        _resolvers[kind][name or function.__name__] = function
        return function

    return added


def page_of(item: Any) -> Any:
    """`ListPage[item]`, for a type that is known only now."""
    page: Any = ListPage
    return page[item]


def graphql_type(annotation: Any) -> Any:
    """The GraphQL type for what a field or function is annotated with."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        (known,) = (one for one in inner if one is not NoneType)
        return graphql_type(known) | None
    if origin in (list, tuple, Sequence):
        return list[graphql_type(inner[0])]  # type: ignore[misc]
    if origin in (dict, Mapping):
        return JSON
    if origin is ListPage:
        return _object_type(ListPage, inner[0])
    if is_dataclass(annotation):
        return _object_type(annotation)
    return str if issubclass(annotation, StrEnum) else annotation


def _object_type(kind: Any, item: Any = None) -> type:
    """The type for a dataclass; for `ListPage`, of this kind of items."""
    if (kind, item) not in _objects:
        name = NAMES.get(kind, kind.__name__)
        made = type(name if item is None else f"{item.__name__}{name}", (), {"__annotations__": {}})
        # Known before its fields are: those may lead back to it.
        _objects[kind, item] = made
        sentences = _field_sentences(kind)
        for field, shown in _shown_fields(kind).items():
            made.__annotations__[field] = graphql_type(
                Sequence[item] if shown == Sequence[Item] else shown  # type: ignore[valid-type]
            )
            setattr(made, field, strawberry.field(description=sentences.get(field)))
        for field, function in _resolvers[kind].items():
            hints = get_type_hints(function)
            shown = graphql_type(hints["return"])
            if "info" in hints:  # it reads the memory and may fail: the other fields stay
                shown = shown | None
            resolved = strawberry.field(
                resolver=function, graphql_type=shown, description=inspect.getdoc(function)
            )
            setattr(made, field, resolved)
        strawberry.type(made, description=inspect.getdoc(kind))
    return _objects[kind, item]


def _shown_fields(kind: Any) -> dict[str, Any]:
    """The fields and properties of a dataclass, and what they are annotated with."""
    found = {
        name: get_type_hints(member.fget)["return"]
        for name, member in vars(kind).items()
        if isinstance(member, property)
    }
    hints = get_type_hints(kind)
    found |= {field.name: hints[field.name] for field in fields(kind)}
    hidden = HIDDEN.get(kind, set())
    return {
        name: shown
        for name, shown in found.items()
        if name not in hidden and not name.startswith("_")
    }


def _field_sentences(kind: type) -> dict[str, str]:
    """What is written below the fields of a dataclass and in its properties."""
    told = {
        name: inspect.cleandoc(member.__doc__ or "")
        for name, member in vars(kind).items()
        if isinstance(member, property)
    }
    with suppress(OSError):  # installed without its source
        (written,) = ast.parse(inspect.getsource(kind)).body
        assert isinstance(written, ast.ClassDef)
        for field, below in pairwise(written.body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                assert isinstance(field.target, ast.Name)
                told[field.target.id] = inspect.cleandoc(str(ast.literal_eval(below.value)))
    return told
