"""Rules for stored input: one function for each kind, which returns it or raises InvalidInput."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any, TypeVar

from hades.domain.topics import TOPIC_KINDS
from hades.errors import InvalidInput

NAME_BYTES_AT_MOST = 2_000
CONTENT_BYTES_AT_MOST = 256 * 1024 * 1024
METADATA_BYTES_AT_MOST = 1024 * 1024
METADATA_DEPTH_AT_MOST = 64
Key = TypeVar("Key")
Item = TypeVar("Item")


def clean_name(name: str, what: str = "topic") -> str:
    """Return a name unchanged; raise InvalidInput if it is blank, too long or not valid Unicode."""
    if not isinstance(name, str):
        raise InvalidInput(f"The {what}'s name is a string, not {type(name).__name__}.")
    if not name.strip():
        raise InvalidInput(f"The {what}'s name cannot be empty.")
    if "\x00" in name:
        raise InvalidInput(f"The {what}'s name cannot hold a NUL character: leave it out.")
    if _utf8_bytes(name, f"The {what}'s name") > NAME_BYTES_AT_MOST:
        raise InvalidInput(
            f"The {what}'s name is longer than {NAME_BYTES_AT_MOST:,} bytes: shorten it."
        )
    return name


def clean_source(source: str, *, is_single: bool) -> str:
    """Return a source's name unchanged; raise InvalidInput if it is a path, or for several."""
    if not is_single or PurePath(clean_name(source, "source")).is_absolute():
        raise InvalidInput("A source name is for one file or folder and must not be a path.")
    return source


def clean_number(number: int | None, what: str, least: int = 0) -> int | None:
    """Return a whole number, or None if not given; raise InvalidInput if it is below `least`."""
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidInput(f"The {what} is a whole number, not {number!r}.")
    if not least <= number < 1 << 62:
        raise InvalidInput(f"The {what} is a whole number of at least {least}, not {number}.")
    return number


def clean_content(content: str) -> str:
    """Return a content unchanged, even an empty one; raise InvalidInput if it is too large."""
    if not isinstance(content, str):
        raise InvalidInput(f"The content is a string, not {type(content).__name__}.")
    if _utf8_bytes(content, "The content") > CONTENT_BYTES_AT_MOST:
        raise InvalidInput(
            f"The content is larger than {CONTENT_BYTES_AT_MOST // 2**20} MB: split it into parts."
        )
    return content


def clean_note(content: str) -> str:
    """Return the text of a note unchanged; raise InvalidInput if it is blank or too large."""
    if not clean_content(content).strip():
        raise InvalidInput("The text is empty: write one, or end the topic with `hades forget`.")
    return content


def clean_text(text: str, what: str) -> str:
    """Check a text stored with a note, such as evidence; raise InvalidInput if it has a NUL.

    PostgreSQL cannot store it here, so a file does not either. Contents and metadata may have NULs.
    """
    if "\x00" in clean_content(text):
        raise InvalidInput(f"The {what} cannot hold a NUL character: leave it out.")
    return text


def clean_tags(tags: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return tags sorted and without duplicates, or None if not given; else raise InvalidInput."""
    if tags is None:
        return None
    if isinstance(tags, str):
        raise InvalidInput(f"Tags are a list of strings: write [{tags!r}].")
    if not isinstance(tags, Iterable):
        raise InvalidInput(f"Tags are a list of strings, not {tags!r}.")
    return tuple(sorted({clean_name(tag, "tag") for tag in tags}))


def clean_list(given: Iterable[Item], what: str) -> list[Item]:
    """Return the items of a list; raise InvalidInput for a text or a mapping.

    A text could be read letter by letter and a mapping key by key, which nobody means.
    """
    if isinstance(given, str):
        raise InvalidInput(f"`{what}` is a list: write [{given[:80]!r}].")
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise InvalidInput(f"`{what}` is a list, not {type(given).__name__}.")
    return list(given)


def clean_mapping(given: Mapping[Key, Item], what: str) -> Mapping[Key, Item]:
    """Return a mapping unchanged; raise InvalidInput for anything else."""
    if not isinstance(given, Mapping):
        raise InvalidInput(f"`{what}` is a mapping, not {type(given).__name__}.")
    return given


def clean_kind(kind: str | None) -> None:
    """Raise InvalidInput for an unknown kind of topic; None (not given) is allowed."""
    if kind is not None and kind not in TOPIC_KINDS:
        raise InvalidInput(f"There is no kind {kind!r}: use {', '.join(TOPIC_KINDS)}.")


def clean_direction(direction: str) -> None:
    """Raise InvalidInput for a direction of edges other than out, in or both."""
    if direction not in ("out", "in", "both"):
        raise InvalidInput(f"A direction is out, in or both, not {direction!r}.")


def clean_metadata(
    metadata: Mapping[str, Any] | None, bytes_at_most: int | None = METADATA_BYTES_AT_MOST
) -> dict[str, Any] | None:
    """Return metadata, or None if not given; InvalidInput if not plain JSON, deep or large."""
    if metadata is None:
        return None
    try:
        plain = json.loads(json.dumps(metadata, allow_nan=False))
        size = len(json.dumps(metadata, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"The metadata must be plain JSON: {error}.") from error
    if not isinstance(plain, dict) or plain != dict(metadata):
        raise InvalidInput(
            "The metadata must be a JSON object: strings for keys, lists rather than tuples."
        )
    if _depth(plain) > METADATA_DEPTH_AT_MOST:
        raise InvalidInput(
            f"The metadata is nested deeper than {METADATA_DEPTH_AT_MOST}: flatten it."
        )
    if bytes_at_most is not None and size > bytes_at_most:
        raise InvalidInput(
            f"The metadata is larger than {bytes_at_most // 2**20} MB of JSON: "
            "keep it in the content, or in a topic of its own."
        )
    return plain


def _depth(value: Any) -> int:
    """Return how deep objects and lists are nested."""
    depth = 0
    inside = [value]
    while inside := [item for item in inside if isinstance(item, dict | list)]:
        depth += 1
        inside = [
            inner
            for item in inside
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return depth


def clean_share(number: float | None, what: str) -> float | None:
    """Return a number from 0 to 1, or None if not given; else raise InvalidInput."""
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise InvalidInput(f"The {what} is a number from 0 to 1, not {number!r}.")
    if not 0 <= number <= 1:
        raise InvalidInput(f"The {what} is a number from 0 to 1, not {number}.")
    return float(number)


def _utf8_bytes(text: str, what: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} has a lone surrogate at character {error.start}: it is not valid Unicode."
        ) from error
