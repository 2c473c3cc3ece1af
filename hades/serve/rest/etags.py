"""Etags: a name for one state of a topic, and writes that hold only for it.

`"v3-5be1…"` is the version and a hash of the state as it is shown. The version makes a
write a conflict when somebody else wrote first; the hash tells a topic that was purged
and made anew from the one before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

from hades.domain.topics import State
from hades.errors import Conflict, InvalidInput
from hades.serve.problems import PreconditionFailed
from hades.serve.wire import to_json

_HASH_BYTES = 8


def etag_of(state: State, shown: bytes | None = None) -> str:
    """The name of this state; `shown` is its JSON, where that is made already."""
    mark = blake2b(shown or to_json(state), digest_size=_HASH_BYTES).hexdigest()
    return f'"v{state.version}-{mark}"'


def is_named_in(header: str | None, etag: str) -> bool:
    """Whether a header names this state: its etag among others, or `*`."""
    if header is None:
        return False
    named = [one.strip().removeprefix("W/") for one in header.split(",")]
    return "*" in named or etag in named


@contextmanager
def expected_version(
    current: State | None, wanted: int | None, if_match: str | None, if_none_match: str | None
) -> Iterator[int | None]:
    """The version a write expects; PreconditionFailed when a header says otherwise."""
    if if_match is None and if_none_match is None:
        yield wanted
        return
    etag = etag_of(current) if current else ""
    if if_match is not None and not (current and is_named_in(if_match, etag)):
        raise PreconditionFailed(
            "The topic is not in the state that If-Match names: read it again."
        )
    if current and is_named_in(if_none_match, etag):
        raise PreconditionFailed("The topic is in the state that If-None-Match names.")
    version = current.version if current else None
    if wanted is not None and version is not None and wanted != version:
        raise InvalidInput("If-Match and expect_version name two versions: leave one out.")
    try:
        yield version if if_match is not None else wanted
    except Conflict as error:
        raise PreconditionFailed(str(error)) from error
