"""Front matter: the YAML a Markdown file may begin with, between `---` lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hades.ingest.readers.text import one_line

FRONT_MATTER_CHARACTERS_AT_MOST = 64 * 1024
VALUE_CHARACTERS_AT_MOST = 1_000

_FRONT_FENCE = re.compile(r"---[ \t]*(?:\r\n?|\n)")
_FRONT_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)", re.MULTILINE)
_NOT_METADATA = frozenset({"title", "tags", "tag", "keywords", "author", "authors"})


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The parsed front matter; every value is a string as written."""

    end: int = 0
    """The offset of the text after it."""
    title: str = ""
    tags: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    """The other entries that are single values, such as `date`."""


def front_span(content: str) -> tuple[int, int, int] | None:
    """Return where the YAML begins and ends and where the text begins; None if there is none."""
    opening = _FRONT_FENCE.match(content)
    if opening is None:
        return None
    at_most = opening.end() + FRONT_MATTER_CHARACTERS_AT_MOST
    closing = _FRONT_END.search(content, opening.end(), at_most)
    return None if closing is None else (opening.end(), closing.start(), closing.end())


def front_matter(content: str) -> FrontMatter:
    """Return the front matter, or an empty one if it is missing or not YAML."""
    if (span := front_span(content)) is None:
        return FrontMatter()
    import yaml  # imported here, because most files have no front matter

    try:
        # The base loader keeps every value as a string, so a date stays as written.
        loaded = yaml.load(content[span[0] : span[1]], Loader=yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return FrontMatter()
    if not isinstance(loaded, dict):
        return FrontMatter()
    entries = {one_line(key).lower(): value for key, value in loaded.items() if type(key) is str}
    return FrontMatter(
        end=span[2],
        title=next(iter(_values(entries.get("title"))), ""),
        tags=tuple(
            tag
            for key in ("tags", "tag", "keywords")
            for entry in _values(entries.get(key))
            for tag in _tags(entry, listed=isinstance(entries.get(key), list))
        ),
        authors=_values(entries.get("authors")) + _values(entries.get("author")),
        metadata={
            key: one_line(value, VALUE_CHARACTERS_AT_MOST)
            for key, value in entries.items()
            if key and key not in _NOT_METADATA and isinstance(value, str) and value
        },
    )


def _values(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    lines = (one_line(each) for each in values if isinstance(each, str))
    return tuple(line for line in lines if line)


def _tags(entry: str, listed: bool) -> list[str]:
    """Return the tags of an entry. An entry of a list is one tag; other text is split."""
    if listed:
        return [entry.removeprefix("#")] if entry.strip("#") else []
    parts = entry.split(",") if "," in entry else entry.split()
    return [tag for part in parts if (tag := part.strip().removeprefix("#"))]
