"""Shared parts of the adapters: imports of frameworks, safe topic names, writing, deleting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from urllib.parse import quote, unquote

from hades.domain.rules import clean_name
from hades.domain.topics import State
from hades.errors import Denied, InvalidInput, NotFound, Unavailable
from hades.memory import Memory, View

EMPTY = "%"
"""Stands for an empty part of a name. An encoded part is never a lone percent sign."""
DELETED_AT_ONCE = 1_000
_KEPT = frozenset(" _-:.~")


@contextmanager
def framework(requirement: str) -> Iterator[None]:
    """Raise Unavailable, naming the package to install, if an import inside the block fails."""
    try:
        yield
    except ImportError as error:
        raise Unavailable(f"{error}: pip install '{requirement}'.") from error


def topic_name(*parts: str) -> str:
    """Join parts to a topic name from which `name_parts` reads them again.

    Letters and digits of any script stay readable; other characters, among them slashes and the
    signs of patterns, are percent-encoded. Raise InvalidInput if the name becomes too long.
    """
    return clean_name("/".join(_encoded(part) for part in parts))


def name_parts(name: str) -> tuple[str, ...]:
    """Return the parts that `topic_name` joined."""
    return tuple("" if part == EMPTY else unquote(part) for part in name.split("/"))


def _encoded(part: str) -> str:
    if not isinstance(part, str):
        raise InvalidInput(f"A part of a name is a string, not {type(part).__name__}.")
    try:
        part.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"A name is not valid Unicode: {error}.") from error
    kept = "".join(c if c.isalnum() or c in _KEPT else quote(c, safe="") for c in part)
    return kept or EMPTY


def current(memory: View, topic: str) -> State | None:
    """Return the state of a topic; None if there is none."""
    try:
        return memory.get(topic)
    except NotFound:
        return None


def writable(memory: View) -> Memory:
    """Return a memory to write to; raise Denied if it is a view of the past."""
    if not isinstance(memory, Memory):
        raise Denied("A view of another time is read-only: give the adapter the memory itself.")
    return memory


def delete(memory: View, topics: Sequence[str], *, erase: bool) -> None:
    """Delete topics, which may be gone already.

    They are forgotten: questions do not find them, but history and time travel still show them.
    With `erase` they are purged, with their history.
    """
    target = writable(memory)
    remove = target.purge if erase else target.forget
    for start in range(0, len(topics), DELETED_AT_ONCE):
        some = topics[start : start + DELETED_AT_ONCE]
        try:
            with target.batch():
                for topic in some:
                    remove(topic)
        except NotFound:  # another process deleted some of them
            for topic in some:
                with suppress(NotFound):
                    remove(topic)
