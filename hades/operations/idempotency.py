"""Idempotency: a write that is sent twice is done once."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any

from hades.domain.rules import clean_content, clean_name
from hades.domain.times import DAY_MICROSECONDS
from hades.errors import Conflict, InvalidInput, NotFound
from hades.operations.inside import Inside

ANSWERS_KEPT_DAYS = 7


def once(inside: Inside, key: str, request: str, do: Callable[[], Any]) -> tuple[Any, bool]:
    """Do a write once for a key; return its answer, and whether it had been done before.

    `do` writes through this memory and returns plain JSON, which is stored in the same commit for
    7 days, for this actor in this space. The same key with another `request` raises Conflict. As
    in a batch, `do` cannot search.
    """
    clean_name(key, "key")
    digest = sha256(clean_content(request).encode()).digest()
    kept = inside.store.idempotency
    space = inside.space_id
    actor = inside.actor
    with inside.store.transaction():
        inside.require_space()
        oldest = inside.store.now() - ANSWERS_KEPT_DAYS * DAY_MICROSECONDS
        earlier = kept.get(space, actor, key, oldest)
        if earlier is not None:
            if earlier[0] != digest:
                raise Conflict(
                    f"The key {key!r} was used for a different request: choose a new key."
                )
            return json.loads(earlier[1]), True
        answer = _json(do())
        kept.drop(oldest)
        with suppress(NotFound):  # `do` may have dropped this space
            inside.require_space()
            kept.put(space, actor, key, digest, answer, inside.store.now())
    return json.loads(answer), False


def _json(answer: Any) -> str:
    try:
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"The answer of `once` must be plain JSON: {error}.") from error
    return text
