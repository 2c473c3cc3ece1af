"""Links: what a document points at, as edges from its topic."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote, urljoin, urlsplit

from hades.ingest.document import Link
from hades.ingest.readers.outline import one_line

LINKS_AT_MOST = 200
"""Of one document. A page with more is an index, and its links say little about it."""
TARGET_CHARACTERS_AT_MOST = 500
EVIDENCE_CHARACTERS_AT_MOST = 200

REFERS_TO = "refers_to"


class Links:
    """The links of one document: each target once, where it was first read."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._links: dict[str, Link] = {}

    def add(self, href: str, block: int, evidence: str = "") -> None:
        """A link as written: a URL, or a path relative to this document."""
        self._keep(resolve(href, self._topic), block, evidence)

    def add_name(self, name: str, block: int) -> None:
        """A link to whatever has this name, as `[[Name]]` in a wiki."""
        self._keep(one_line(name), block, name)

    def _keep(self, target: str, block: int, evidence: str) -> None:
        source = f"topic:{self._topic}"
        if not target or target in (source, self._topic) or target in self._links:
            return
        if len(self._links) < LINKS_AT_MOST and len(target) <= TARGET_CHARACTERS_AT_MOST:
            shown = one_line(evidence, EVIDENCE_CHARACTERS_AT_MOST)
            self._links[target] = Link(source, REFERS_TO, target, block, shown)

    def all(self) -> tuple[Link, ...]:
        """In the order they were read."""
        return tuple(self._links.values())


def resolve(href: str, topic: str) -> str:
    """The end of a link: a URL, `topic:<path>`, or nothing when it leads nowhere we know.

    >>> resolve("../api.md#open", "docs/guide/start.md")
    'topic:docs/api.md'
    """
    href = one_line(href, TARGET_CHARACTERS_AT_MOST + 1)
    try:
        if "://" in topic:
            href = urljoin(topic, href)
        parts = urlsplit(href)
    except ValueError:
        return ""
    if parts.scheme in ("http", "https"):
        return parts._replace(fragment="").geturl() if parts.netloc else ""
    if parts.scheme or parts.netloc or not parts.path:
        return ""
    path = one_line(unquote(parts.path), TARGET_CHARACTERS_AT_MOST)
    if path.startswith("/") and not topic.startswith("/"):
        path = path.lstrip("/")
    else:
        path = posixpath.join(posixpath.dirname(topic), path)
    path = posixpath.normpath(path)
    return "" if path in (".", "..") or path.startswith("../") else f"topic:{path}"
