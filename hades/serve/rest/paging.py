"""Paging: long lists in pages. A cursor names the last item of a page, not a position, so that
writes between two pages neither repeat nor skip an item.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, TypeVar, get_args, get_origin

from fastapi import Query

from hades.client.connection import encode_cursor
from hades.errors import InvalidInput
from hades.operations.declare import Operation, types_of
from hades.operations.parameters import PAGE_AT_MOST

Item = TypeVar("Item")

NUMBER_BELOW = 1 << 62
"""Numbers in a cursor must be below this; all numbers of the store are."""
PAGE = 100

Cursor = Annotated[
    str | None,
    Query(
        description="`next` of the previous page.",
        max_length=20_000,
        pattern="^[A-Za-z0-9_-]*$",
    ),
]
Limit = Annotated[int, Query(ge=1, le=PAGE_AT_MOST, description="Most items of a page.")]


def decode(cursor: str, *kinds: type) -> list[Any]:
    """Return the key in a cursor; raise InvalidInput unless its parts have these types."""
    try:
        key = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True))
        json.dumps(key, ensure_ascii=False).encode()  # refuses lone surrogates
    except (binascii.Error, ValueError, RecursionError) as error:
        raise InvalidInput(
            "That is not a cursor of this list: give `next` of the previous page."
        ) from error
    if not isinstance(key, list) or [type(part) for part in key] != list(kinds):
        raise InvalidInput("That is the cursor of another list: start again without one.")
    if any(isinstance(part, int) and abs(part) >= NUMBER_BELOW for part in key):
        raise InvalidInput("That is not a cursor of this list: give `next` of the previous page.")
    return key


def after_of(operation: Operation, cursor: str | None) -> Any:
    """Return an operation's argument `after` for a cursor; None: from the start."""
    if cursor is None:
        return None
    kind = types_of(operation.parameter("after").type)[0]
    if get_origin(kind) is tuple:
        return tuple(decode(cursor, *get_args(kind)))
    return decode(cursor, kind)[0]


def page(items: Sequence[Item], limit: int, key: Callable[[Item], Iterable[Any]]) -> dict[str, Any]:
    """Return a page of `limit` items. The list was read with one more, to know if any follow."""
    more = len(items) > limit
    shown = items[:limit]
    return {"items": shown, "next": encode_cursor(list(key(shown[-1]))) if more else None}
