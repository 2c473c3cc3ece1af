"""Paging: long lists in parts. A cursor names the last item given, not a position, so
that what others write meanwhile makes nothing come twice or not at all.
"""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Annotated, Any, TypeVar

from fastapi import Query

from hades.domain.graph import Edge
from hades.domain.times import iso
from hades.errors import InvalidInput

Item = TypeVar("Item")

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
    except (binascii.Error, ValueError, RecursionError) as error:
        raise InvalidInput("That is no cursor of ours: give `next` of the page before.") from error
    if not isinstance(key, list) or [type(part) for part in key] != list(kinds):
        raise InvalidInput("That is the cursor of another list: start again without one.")
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
_MARK_BYTES = 12


def edge_key(edge: Edge) -> list[Any]:
    """The place of an edge in the list: told ones by number, then stated ones."""
    # A number may stand for several: what follows from mentions has none.
    ends = (edge.source.name, edge.relation, edge.target.name)
    told = json.dumps([*ends, iso(edge.valid_from), iso(edge.recorded_at)]).encode()
    mark = blake2b(told, digest_size=_MARK_BYTES).hexdigest()
    return [int(edge.id <= 0), abs(edge.id), mark]
