"""Paging: long lists in parts. A cursor names the last item given, not a position, so
that what others write meanwhile makes nothing come twice or not at all.
"""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Query

from hades.domain.graph import Edge
from hades.errors import InvalidInput
from hades.store.edge_pages import edge_place

Item = TypeVar("Item")

NUMBER_BELOW = 1 << 62
"""What a number in a cursor may be: the store's own are smaller."""
PAGE = 100
PAGE_AT_MOST = 1_000

Cursor = Annotated[
    str | None,
    Query(
        description="`next` of the page before.",
        max_length=20_000,
        pattern="^[A-Za-z0-9_-]*$",
    ),
]
Limit = Annotated[int, Query(ge=1, le=PAGE_AT_MOST, description="The most items of a page.")]


def encode(key: Sequence[Any]) -> str:
    """A cursor that stands after the item of this key."""
    told = json.dumps(key, separators=(",", ":"), ensure_ascii=False).encode()
    return base64.urlsafe_b64encode(told).rstrip(b"=").decode()


def decode(cursor: str | None, *kinds: type) -> list[Any] | None:
    """The key in a cursor, of these kinds; None stays: from the start."""
    if cursor is None:
        return None
    try:
        told = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        key = json.loads(told)
        json.dumps(key, ensure_ascii=False).encode()
    except (binascii.Error, ValueError, RecursionError) as error:
        raise InvalidInput("That is no cursor of ours: give `next` of the page before.") from error
    if not isinstance(key, list) or [type(part) for part in key] != list(kinds):
        raise InvalidInput("That is the cursor of another list: start again without one.")
    if any(isinstance(part, int) and abs(part) >= NUMBER_BELOW for part in key):
        raise InvalidInput("That is no cursor of ours: give `next` of the page before.")
    return key


def page(items: Sequence[Item], limit: int, key: Callable[[Item], Sequence[Any]]) -> dict[str, Any]:
    """A page of a list that was read one item further than it is shown."""
    more = len(items) > limit
    shown = items[:limit]
    return {"items": shown, "next": encode(key(shown[-1])) if more else None}


def cut(
    items: Sequence[Item],
    limit: int,
    key: Callable[[Item], list[Any]],
    after: list[Any] | None,
) -> dict[str, Any]:
    """A page of a list that can only be read whole."""
    ordered = sorted(items, key=key)
    first = 0 if after is None else bisect_right(ordered, after, key=key)
    return page(ordered[first : first + limit + 1], limit, key)


EDGE_KEY = (int, int, str)


def edge_key(edge: Edge) -> list[Any]:
    """The place of an edge in the list."""
    return list(edge_place(edge))
