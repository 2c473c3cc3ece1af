"""Topics and states as resources: `hades://{space}/{topic}` and `…/{topic}/{version}`.

Space and topic are percent-encoded, including slashes, so that a version cannot be confused with
a part of a name.
"""

from __future__ import annotations

from dataclasses import replace
from operator import methodcaller
from urllib.parse import quote, unquote, urlsplit

import mcp_types as types
from mcp.server.lowlevel.helper_types import ReadResourceContents

from hades.domain.times import iso
from hades.domain.topics import Topic
from hades.errors import NotFound
from hades.serve.mcp.call import AgentCall

SCHEME = "hades"
PAGE = 100
"""Resources in one page of the list."""
VERSION_DIGITS_AT_MOST = 18

TEMPLATES = [
    types.ResourceTemplate(
        name="topic",
        title="A topic",
        uri_template=f"{SCHEME}://{{space}}/{{topic}}",
        description="The current text of a topic. Write slashes in its name as %2F.",
    ),
    types.ResourceTemplate(
        name="state",
        title="A version of a topic",
        uri_template=f"{SCHEME}://{{space}}/{{topic}}/{{version}}",
        description="One version of a topic, by its number from 1.",
    ),
]


def uri_of(space: str, topic: str, version: int | None = None) -> str:
    """Return the URI of a topic or of one of its versions."""
    uri = f"{SCHEME}://{quote(space, safe='')}/{quote(topic, safe='')}"
    return uri if version is None else f"{uri}/{version}"


def read_uri(uri: str) -> tuple[str, str, int | None]:
    """Return the space, topic and version (or None) of a URI; raise NotFound for another URI.

    Slashes of a topic need not be encoded, but a last part of digits is the version.
    """
    unknown = NotFound(
        f"There is no resource {uri[:200]!r}: write {SCHEME}://space/topic, with %2F for a slash."
    )
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise unknown from error
    segments = parts.path.removeprefix("/").split("/")
    if parts.scheme != SCHEME or not parts.netloc or not segments[0] or parts.query:
        raise unknown
    version = None
    if len(segments) > 1 and segments[-1].isascii() and segments[-1].isdigit():
        if len(segments[-1]) > VERSION_DIGITS_AT_MOST:
            raise NotFound(f"There is no version with a number of {len(segments[-1])} digits.")
        version = int(segments.pop())
    return unquote(parts.netloc), unquote("/".join(segments)), version


async def listed(call: AgentCall, cursor: str | None) -> types.ListResourcesResult:
    """Return a page of the topics in all spaces that the caller may use, sorted by name.

    The cursor is the URI of the last resource of the previous page.
    """
    first_space, last_topic, _ = read_uri(cursor) if cursor else ("", None, None)
    topics: list[tuple[str, Topic]] = []
    for space in await call.spaces():
        if space < first_space or len(topics) > PAGE:
            continue
        after = last_topic if space == first_space else None
        in_space = replace(call, named_space=space)
        page = methodcaller("topics", after=after, limit=PAGE + 1 - len(topics))
        topics += [(space, topic) for topic in await in_space.read(page)]
    more = len(topics) > PAGE
    topics = topics[:PAGE]
    return types.ListResourcesResult(
        resources=[_resource(space, topic) for space, topic in topics],
        next_cursor=uri_of(topics[-1][0], topics[-1][1].name) if more else None,
    )


async def read(call: AgentCall, uri: str) -> ReadResourceContents:
    """Return the text of a topic or one version, with version, times and tags in `_meta`.

    Raise NotFound for a version that marks the topic as forgotten.
    """
    space, topic, version = read_uri(uri)
    in_space = replace(call, named_space=space)
    state = await in_space.read(lambda view: view.get(topic, version))
    if state.forgotten:
        raise NotFound(f"The version {state.id} says that the topic was forgotten.")
    about = {
        "hades/cite": state.id,
        "hades/version": state.version,
        "hades/valid_from": iso(state.valid_from),
        "hades/recorded_at": iso(state.recorded_at),
        "hades/tags": list(state.tags),
    }
    return ReadResourceContents(content=state.content, mime_type=_mime_type(topic), meta=about)


def _resource(space: str, topic: Topic) -> types.Resource:
    tags = f", tagged {', '.join(topic.tags)}" if topic.tags else ""
    return types.Resource(
        uri=uri_of(space, topic.name),
        name=topic.name,
        description=f"Version {topic.version} of {topic.versions}{tags}",
        mime_type=_mime_type(topic.name),
        annotations=types.Annotations(
            priority=topic.importance, last_modified=iso(topic.recorded_at)
        ),
    )


def _mime_type(topic: str) -> str:
    return "text/markdown" if topic.endswith((".md", ".markdown")) else "text/plain"
