"""Fields made from the operations of a view.

A field has the arguments of its operation. `limit` is named `first` and is bounded; `after` is a
cursor. A list is read in pages, with one item more than the page to know if there is another.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from strawberry.types import Info

from hades.domain.answer import WorkingMemory
from hades.errors import InvalidInput
from hades.operations.declare import KEYWORD, Operation, Parameter, types_of
from hades.serve.graphql.query import RunningQuery
from hades.serve.graphql.types import ListPage, field_of, page_of
from hades.serve.rest.paging import after_of, page

FIRST = 20
FIRST_AT_MOST = 200
HOPS_AT_MOST = 4
NAMES_AT_MOST = 50
LEFT_OUT = {"plan", "on_progress", "model", "keep_unsupported", "dry_run", "whole"}
"""Arguments that GraphQL does not offer. A query's time is too short to call a model, and it names
the fields that it wants."""


def add_field(
    kind: type, operation: Operation, name: str = "", of: Callable[[Any], str] | None = None
) -> None:
    """Add an operation to a type as a field.

    `name` is the field's name if it is not the operation's. `of` computes the operation's first
    argument from the object that has the field.
    """
    parameters = operation.parameters[0 if of is None else 1 :]
    arguments = [_argument(given, operation) for given in parameters if given.name not in LEFT_OUT]

    def resolve(root: Any, info: Info[RunningQuery, None], **given: Any) -> Any:
        return _answer(operation, [] if of is None else [of(root)], info, given)

    root = inspect.Parameter("root", KEYWORD)
    info = inspect.Parameter("info", KEYWORD, annotation=Info)
    resolve.__signature__ = inspect.Signature([root, info, *arguments])  # type: ignore[attr-defined]
    returns = operation.returns
    if operation.cursor is not None:
        returns = page_of(get_args(returns)[0])
    resolve.__annotations__ = {"info": Info, "return": returns}
    resolve.__doc__ = operation.summary
    field_of(kind, name or operation.name)(resolve)


def _answer(
    operation: Operation, names: list[str], info: Info[RunningQuery, None], given: dict[str, Any]
) -> Any:
    query = info.context
    view = query.indexed_view(info) if operation.asks else query.view(info)
    if "names" in given:
        names += given.pop("names")
        check("number of names", len(names), NAMES_AT_MOST)
    if "hops" in given:
        check("hops", given["hops"], HOPS_AT_MOST)
    first = given.pop("first", None)
    if first is not None:
        check("first", first, FIRST_AT_MOST)
        given["limit"] = first
    if operation.cursor is None:
        return counted(query, query.executor.observed(operation.of(view, *names, **given)))
    given["limit"] += 1
    if (after := after_of(operation, given.pop("after"))) is not None:
        given["after"] = after
    shown = page(operation.of(view, *names, **given), first, operation.cursor)
    return ListPage(counted(query, shown["items"]), shown["next"])


def counted(query: RunningQuery, result: Any) -> Any:
    """Count a result against the query's budget and return it; raise InvalidInput if too large."""
    items = len(result) if isinstance(result, list) else 1
    query.take(items=items, characters=_characters(result))
    return result


def _characters(result: Any) -> int:
    if isinstance(result, list):
        return sum(map(_characters, result))
    texts = [getattr(result, name, "") for name in ("content", "text", "context")]
    if isinstance(result, WorkingMemory):
        texts += [item.state.content for item in result.items]
    return sum(map(len, texts))


def check(name: str, number: int, most: int) -> None:
    """Raise InvalidInput unless a query's number is from 1 to `most`."""
    if not 1 <= number <= most:
        raise InvalidInput(f"`{name}` is a whole number from 1 to {most}, not {number}.")


def _argument(parameter: Parameter, operation: Operation) -> inspect.Parameter:
    """Return a parameter of an operation as an argument of a field."""
    name = parameter.name
    default = parameter.default
    kind = list[str] if parameter.is_list else _argument_type(parameter.type)
    if name == "limit":
        name = "first"
        kind = int
        default = FIRST if default is None else default
    if name == "after" and operation.cursor is not None:
        kind = str | None
        default = None
    return inspect.Parameter(name, KEYWORD, default=default, annotation=kind)


def _argument_type(hint: Any) -> Any:
    choices = set(types_of(hint))
    known: Any
    if any(get_origin(choice) is Iterable for choice in choices):
        known = list[str]
    elif str in choices or any(get_origin(choice) is Literal for choice in choices):
        known = str
    else:
        known = next(iter(choices - {NoneType}))
    return known | None if NoneType in choices else known
