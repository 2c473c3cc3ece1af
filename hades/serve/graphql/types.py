"""GraphQL types made from dataclasses.

`graphql_type(Edge)` is a type with a field for every field and property of `Edge`. Resolvers
return the dataclasses themselves, so nothing is copied. A function marked with `@field_of` is
a further field of a type; its signature is the field's signature.
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
from hades.domain.question import Question
from hades.domain.topics import Space, Topic

Item = TypeVar("Item")
Resolver = TypeVar("Resolver", bound=Callable[..., Any])

NAMES: dict[type, str] = {Space: "SpaceListed"}
"""Types that are not named after their dataclass. In GraphQL, `Space` is `schema.SpaceAt`."""
HIDDEN = {
    Topic: {"versions"},
    Entity: {"edges"},
    Question: {"terms", "topical", "signs", "relations", "pairs"},
}
"""Fields that are hidden: `versions` is unknown for a topic found by name, `edges` of an entity is
called `degree` in GraphQL, and those of a question are details of the search."""


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Item]):
    """One page of a long list."""

    items: Sequence[Item]
    next: str | None
    """`after` of the next page; null: this is the last page."""


NAMES[ListPage] = "Page"
_resolvers: dict[type, dict[str, Callable[..., Any]]] = defaultdict(dict)
_objects: dict[Any, type] = {}


def field_of(kind: type, name: str | None = None) -> Callable[[Resolver], Resolver]:
    """Return a decorator that adds a function, as field `name`, to the type of a dataclass."""

    def add(function: Resolver) -> Resolver:
        _resolvers[kind][name or function.__name__] = function
        return function

    return add


def page_of(item: Any) -> Any:
    """Return `ListPage[item]`, for a type that is known only at run time."""
    page: Any = ListPage
    return page[item]


def graphql_type(annotation: Any) -> Any:
    """Return the GraphQL type for an annotation."""
    origin = get_origin(annotation)
    inner = get_args(annotation)
    if origin in (Union, UnionType):
        (known,) = (choice for choice in inner if choice is not NoneType)
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
    """Return the type for a dataclass, made once; `item` is the item type of a `ListPage`."""
    if (kind, item) not in _objects:
        name = NAMES.get(kind, kind.__name__)
        made = type(name if item is None else f"{item.__name__}{name}", (), {"__annotations__": {}})
        # Registered before its fields, which may refer back to it.
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
            if "info" in hints:  # it reads the memory and may fail, without failing its object
                shown = shown | None
            resolved = strawberry.field(
                resolver=function, graphql_type=shown, description=inspect.getdoc(function)
            )
            setattr(made, field, resolved)
        strawberry.type(made, description=inspect.getdoc(kind))
    return _objects[kind, item]


def _shown_fields(kind: Any) -> dict[str, Any]:
    """Return the annotations of a dataclass's shown fields and properties, by name."""
    annotations = {
        name: get_type_hints(member.fget)["return"]
        for name, member in vars(kind).items()
        if isinstance(member, property)
    }
    hints = get_type_hints(kind)
    annotations |= {field.name: hints[field.name] for field in fields(kind)}
    hidden = HIDDEN.get(kind, set())
    return {
        name: shown
        for name, shown in annotations.items()
        if name not in hidden and not name.startswith("_")
    }


def _field_sentences(kind: type) -> dict[str, str]:
    """Return the docstrings of a dataclass's fields and properties, by name."""
    sentences = {
        name: inspect.cleandoc(member.__doc__ or "")
        for name, member in vars(kind).items()
        if isinstance(member, property)
    }
    with suppress(OSError):  # installed without its source
        (source,) = ast.parse(inspect.getsource(kind)).body
        assert isinstance(source, ast.ClassDef)
        for field, below in pairwise(source.body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                assert isinstance(field.target, ast.Name)
                sentences[field.target.id] = inspect.cleandoc(str(ast.literal_eval(below.value)))
    return sentences
