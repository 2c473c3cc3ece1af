"""Answers of tools: a text for the model, and values for programs, named as in REST.

In the text, stored content is indented by one space, so that it cannot pass for a heading or a
citation of HADES. The values contain it unchanged, except for tags (see `context/text/tags.py`).

Both are limited. A long list comes in pages: its `next` is the `after` of the next page. A long
content is cut, and a last line says how to read the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from mcp_types import CallToolResult, TextContent

from hades.context.text.edges import edge_lines
from hades.context.text.evidence import path_line
from hades.context.text.layout import PlainText, excerpt, joined, shown_cite
from hades.context.text.states import state_lines
from hades.domain.answer import Fact, Passage, Path, Recall
from hades.domain.graph import Edge
from hades.domain.plain import one_line, plain
from hades.domain.topics import State
from hades.language.wording import own_heading

Item = TypeVar("Item")
Key = TypeVar("Key", str, int)

ANSWER_CHARACTERS_AT_MOST = 30_000
"""Limit for a tool's text, and for its values as JSON: about 7,500 tokens. Clients cut or refuse
answers of more than 10,000 to 25,000 tokens."""
PAGE_CHARACTERS_AT_MOST = 20_000
"""Limit for a page of a list or one content; `after` or `start` reads the rest."""
DIGITS = 3
"""Decimal places of a score; more would only cost tokens."""
CUT = "\n… The answer is too long and was cut here: ask for less."

TOPIC = ("name", "version", "valid_from", "tags")
VERSION = (
    "id",
    "version",
    "content",
    "valid_from",
    "valid_to",
    "recorded_at",
    "tags",
    "confidence",
    "forgotten",
)
FACT = ("id", "source", "relation", "target", "valid_from", "valid_to", "evidence")


def reply(text: str, /, **values: Any) -> CallToolResult:
    """Return a tool's answer without values that are None, cut to the limit.

    If items of lists were cut, a value `left_out` with their number is added.
    """
    if len(text) > ANSWER_CHARACTERS_AT_MOST:
        text = text[: ANSWER_CHARACTERS_AT_MOST - len(CUT)] + CUT
    shown = {name: value for name, value in plain(values).items() if value is not None}
    lists = [value for value in shown.values() if isinstance(value, list)]
    left_out = 0
    while any(lists) and _size(shown) > ANSWER_CHARACTERS_AT_MOST:
        max(lists, key=_size).pop()
        left_out += 1
    if left_out:
        shown["left_out"] = left_out
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=shown)


def page(
    items: Sequence[Item], limit: int, key: Callable[[Item], Key], names: Sequence[str]
) -> tuple[list[Item], Key | None]:
    """Return the first items that fit, at most `limit`, and the key of the last if more follow."""
    shown: list[Item] = []
    size = 0
    for item in items[:limit]:
        size += _size(picked(item, names))
        if shown and size > PAGE_CHARACTERS_AT_MOST:
            break
        shown.append(item)
    return shown, key(shown[-1]) if len(shown) < len(items) else None


def picked(item: object, names: Sequence[str]) -> dict[str, Any]:
    """Return the fields `names` as plain values; `content` and `evidence` as excerpts."""
    values = {name: plain(getattr(item, name)) for name in names}
    return {
        name: excerpt(value) if name in ("content", "evidence") else value
        for name, value in values.items()
    }


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


# Questions


def about(recall: Recall) -> dict[str, Any]:
    """Return the question as it was understood, how sure the answer is, and the diagnostics."""
    return {
        "sure": round(recall.belief.mean, DIGITS),
        "notes": [str(note) for note in recall.reasons],
        **{name: getattr(recall, name) for name in ("question", "space", "time", "valid", "known")},
    }


def evidence(recall: Recall) -> dict[str, Any]:
    """Return the facts, passages and paths of a recall, each with the number to cite it by."""
    return {
        "facts": [fact_values(number, fact) for number, fact in enumerate(recall.facts, 1)],
        "passages": [passage_values(number, one) for number, one in enumerate(recall.passages, 1)],
        "paths": recalled_paths(recall),
        "tokens": recall.tokens,
    }


def fact_values(number: int, fact: Fact) -> dict[str, Any]:
    """Return a fact of a recall, with the number to cite it by."""
    return {
        "number": number,  # [Fn] in the text
        "cite": fact.edge.cite,
        "text": fact.text,
        "sure": round(fact.belief.mean, DIGITS),
        **picked(fact.edge, FACT),
    }


def passage_values(number: int, passage: Passage) -> dict[str, Any]:
    """Return a passage of a recall, with the number to cite it by."""
    chunk = passage.chunk
    return {
        "number": number,  # [n] in the text
        "cite": passage.id,
        "text": chunk.text,
        "heading": own_heading(chunk.topic, chunk.heading),
        "sure": round(passage.belief.mean, DIGITS),
        **picked(passage, ("line", "end_line", "valid_from", "valid_to", "superseded")),
    }


def recalled_paths(recall: Recall) -> list[dict[str, Any]]:
    """Return the paths of a recall, with the nodes to cite."""
    nodes = {cite.number: list(cite.nodes) for cite in recall.citations if cite.kind == "path"}
    return [path_values(n, path, nodes.get(n)) for n, path in enumerate(recall.paths, 1)]


def path_values(number: int, path: Path, nodes: list[str] | None = None) -> dict[str, Any]:
    """Return a path with the ids of its nodes and the passages that state its steps."""
    return {
        "number": number,  # (Pn) in the text
        "path": str(path),
        "nodes": nodes or [node.name for node in path.nodes],
        "reliability": round(path.reliability, DIGITS),
        "evidence": list(dict.fromkeys(step.chunk for step in path.steps if step.chunk)),
    }


def path_text(paths: Sequence[Path], nodes: Iterable[Sequence[str]]) -> list[str]:
    """Return paths as lines, each with the ids of its nodes."""
    lines = (path_line(number, path) for number, path in enumerate(paths, 1))
    return [
        one_line(f"{line}  (nodes: {', '.join(map(shown_cite, ids))})")
        for line, ids in zip(lines, nodes, strict=True)
    ]


# Topics and their versions


def whole_version(state: State, space: str, start: int) -> CallToolResult:
    """Return the text of one version from the character `start` on, as much as fits."""
    content = state.content[start : start + PAGE_CHARACTERS_AT_MOST]
    while _size(content) > ANSWER_CHARACTERS_AT_MOST * 3 // 4:  # escapes make JSON longer
        content = content[: len(content) // 2]
    end = start + len(content)
    characters = len(state.content)
    text = joined(state_lines(state, content))
    if end < characters:
        text += f"\n… {end:,} of {characters:,} characters: pass start={end} for the rest."
    return reply(
        text,
        space=space,
        topic=state.topic,
        **(picked(state, VERSION) | {"content": content}),
        characters=characters,
        next=end if end < characters else None,
    )


def versions(shown: tuple[list[State], str | int | None], topic: str, space: str) -> CallToolResult:
    """Return a page of versions in the given order, each as an excerpt."""
    states, following = shown
    blocks = [joined(state_lines(state, excerpt(state.content))) + "\n" for state in states]
    values = {"topic": topic, "versions": [picked(state, VERSION) for state in states]}
    return listed(blocks or ["There is no earlier version."], following, space=space, **values)


def listed(lines: list[str], following: str | int | None, **values: Any) -> CallToolResult:
    """Return the lines of a page; `following` is the `after` of the next page, or None."""
    if following is not None:
        lines = [*lines, f"More: pass after={following!r}."]
    return reply("\n".join(lines), next=following, **values)


def written(state: State, space: str, text: str, **values: Any) -> CallToolResult:
    """Return `text`, with the id and version of the state that was written as values."""
    about = picked(state, ("id", "topic", "version", "valid_from", "forgotten"))
    return reply(text, space=space, **about, **values)


# Facts


def facts(shown: tuple[list[Edge], str | None], space: str, none: str) -> CallToolResult:
    """Return a page of facts, one per line; the text `none` if there is none."""
    lines = [str(line) for line in edge_lines(shown[0], none)]
    return listed(lines, shown[1], space=space, facts=[picked(edge, FACT) for edge in shown[0]])


def changed(
    lines: PlainText,
    at: datetime,
    closed: Iterable[Edge],
    opened: Iterable[Edge],
    cite: str | None = None,
) -> CallToolResult:
    """Return the edges that ended and those that hold instead, and the state that was written."""
    ended, holds = ([picked(edge, FACT) for edge in edges] for edges in (closed, opened))
    return reply(joined(lines), at=at, closed=ended, opened=holds, cite=cite)
