"""What tools answer: a text for the model, and values for programs, named as in REST.

In the text only lines of ours begin at the margin: what was stored is indented by one space, so
that it cannot pass for a heading or a citation. The values have it as it is.

Both are capped. A list that is too long comes in pages: its `next` is the `after` of the next
page. A content that is too long is cut, and a note says how to read the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from mcp_types import CallToolResult, TextContent

from hades.context.text.answers import (
    answer_lines,
    context_text,
    nothing_found,
    sources,
    working_memory_lines,
)
from hades.context.text.edges import edge_lines, fact_change_lines, relation_change_lines
from hades.context.text.evidence import path_line
from hades.context.text.layout import PlainText, excerpt, joined
from hades.context.text.states import state_lines, topic_line
from hades.domain.answer import Answer, Fact, Passage, Path, Recall, WorkingMemory
from hades.domain.graph import Edge, FactChange, RelationChange
from hades.domain.plain import one_line, plain
from hades.domain.topics import State, Topic
from hades.language.names import own_heading

Item = TypeVar("Item")
Key = TypeVar("Key", str, int)

ANSWER_CHARACTERS_AT_MOST = 30_000
"""Of a tool's text, and of its values as JSON: some 7,500 tokens. Clients cut off or refuse
answers of more than 10,000 to 25,000."""
PAGE_CHARACTERS_AT_MOST = 20_000
"""Of a page of a list, or of one content; the rest is read with `after` or `start`."""
DIGITS = 3
"""Of a score: more says nothing to a model and costs tokens."""
CUT = "\n… The answer is too long and was cut here: ask for less."

TOPIC = ("name", "version", "valid_from", "tags")
VERSION = (
    *("id", "version", "content", "valid_from", "valid_to", "recorded_at"),
    *("tags", "confidence", "forgotten"),
)
FACT = ("id", "source", "relation", "target", "valid_from", "valid_to", "evidence")


def reply(text: str, **values: Any) -> CallToolResult:
    """An answer of a tool; values that are None are left out."""
    if len(text) > ANSWER_CHARACTERS_AT_MOST:
        text = text[: ANSWER_CHARACTERS_AT_MOST - len(CUT)] + CUT
    said = {name: value for name, value in plain(values).items() if value is not None}
    lists = [one for one in said.values() if isinstance(one, list)]
    left_out = 0
    while any(lists) and _size(said) > ANSWER_CHARACTERS_AT_MOST:
        max(lists, key=_size).pop()
        left_out += 1
    if left_out:
        said["left_out"] = left_out
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=said)


def page(
    found: Sequence[Item], limit: int, key: Callable[[Item], Key], names: Sequence[str]
) -> tuple[list[Item], Key | None]:
    """As many of the first items as one answer has room for, and the `next` of the page."""
    shown: list[Item] = []
    size = 0
    for item in found[:limit]:
        size += _size(picked(item, names))
        if shown and size > PAGE_CHARACTERS_AT_MOST:
            break
        shown.append(item)
    return shown, key(shown[-1]) if len(shown) < len(found) else None


def picked(item: object, names: Sequence[str]) -> dict[str, Any]:
    """Some fields of an object as plain values; of long texts the beginning."""
    values = {name: plain(getattr(item, name)) for name in names}
    return {
        name: excerpt(value) if name in ("content", "evidence") else value
        for name, value in values.items()
    }


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


# Questions


def recalled(found: Recall) -> CallToolResult:
    """The packed context, how to cite it, and what a reader must know about it."""
    return reply(
        context_text(found, ANSWER_CHARACTERS_AT_MOST),
        **_about(found),
        facts=[_fact(number, one) for number, one in enumerate(found.facts, 1)],
        passages=[_passage(number, one) for number, one in enumerate(found.passages, 1)],
        paths=recalled_paths(found),
        tokens=found.tokens,
    )


def _about(found: Recall) -> dict[str, Any]:
    return {
        "question": found.question,
        "space": found.space,
        "sure": round(found.belief.mean, DIGITS),
        "notes": [str(note) for note in found.reasons],
        "time": found.time,
        "valid": found.valid,
        "known": found.known,
    }


def answered(answer: Answer) -> CallToolResult:
    """The sentences that answer, and the passages and facts they stand in."""
    found = answer.recall
    cites = sources(found)
    has_evidence = found.passages or found.facts
    return reply(
        joined(answer_lines(answer) if has_evidence else [nothing_found(found)]),
        **_about(found),
        sentences=[{"text": one.text, "cite": cites[one.label]} for one in answer.sentences],
        shortfall=answer.shortfall or None,
        kind=answer.kind,
        usage=answer.usage,
        fallback=answer.fallback or None,
    )


def _fact(number: int, fact: Fact) -> dict[str, Any]:
    return {
        "number": number,  # [Fn] in the text
        "cite": fact.edge.cite,
        "text": fact.text,
        "sure": round(fact.belief.mean, DIGITS),
        **picked(fact.edge, FACT),
    }


def _passage(number: int, passage: Passage) -> dict[str, Any]:
    chunk = passage.chunk
    return {
        "number": number,  # [n] in the text
        "cite": passage.id,
        "text": chunk.text,
        "heading": own_heading(chunk.topic, chunk.heading),
        "sure": round(passage.belief.mean, DIGITS),
        **picked(passage, ("line", "end_line", "valid_from", "valid_to", "superseded")),
    }


def recalled_paths(found: Recall) -> list[dict[str, Any]]:
    """The paths of a recall, with the nodes to cite."""
    nodes = {one.number: list(one.nodes) for one in found.citations if one.kind == "path"}
    return [path_values(n, one, nodes.get(n)) for n, one in enumerate(found.paths, 1)]


def path_values(number: int, path: Path, nodes: list[str] | None = None) -> dict[str, Any]:
    """A path, with the ids of its nodes and the passages that state its steps."""
    return {
        "number": number,  # (Pn) in the text
        "path": str(path),
        "nodes": nodes or [node.name for node in path.nodes],
        "reliability": round(path.reliability, DIGITS),
        "evidence": list(dict.fromkeys(step.chunk for step in path.steps if step.chunk)),
    }


def path_text(paths: Sequence[Path], nodes: Iterable[Sequence[str]]) -> list[str]:
    """Paths as lines, each with the ids of its nodes."""
    lines = (path_line(number, path) for number, path in enumerate(paths, 1))
    return [
        one_line(f"{line}  (nodes: {', '.join(ids)})")
        for line, ids in zip(lines, nodes, strict=True)
    ]


# Topics and their versions


def whole_version(state: State, space: str, start: int) -> CallToolResult:
    """One version, from a character on."""
    content = state.content[start : start + PAGE_CHARACTERS_AT_MOST]
    while _size(content) > ANSWER_CHARACTERS_AT_MOST * 3 // 4:  # much of it is escaped in JSON
        content = content[: len(content) // 2]
    end, characters = start + len(content), len(state.content)
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


def versions(shown: tuple[list[State], int | None], topic: str, space: str) -> CallToolResult:
    """A page of versions, newest first."""
    blocks = [joined(state_lines(one, excerpt(one.content))) + "\n" for one in shown[0]]
    values = {"topic": topic, "versions": [picked(one, VERSION) for one in shown[0]]}
    return _listed(blocks or ["There is no earlier version."], shown[1], space=space, **values)


def topics(
    shown: tuple[list[Topic], str | None], space: str, spaces: list[str], none: str
) -> CallToolResult:
    """A page of topics, one a line; `none` where there is none."""
    lines = [str(topic_line(one)) for one in shown[0]] or [none]
    if len(spaces) > 1:
        lines.append(f"Spaces: {one_line(', '.join(spaces))} (this is {one_line(space)}).")
    values = {"spaces": spaces, "topics": [picked(one, TOPIC) for one in shown[0]]}
    return _listed(lines, shown[1], space=space, **values)


def _listed(lines: list[str], following: str | int | None, **values: Any) -> CallToolResult:
    if following is not None:
        lines = [*lines, f"More: pass after={following!r}."]
    return reply("\n".join(lines), next=following, **values)


def working_memory(found: WorkingMemory, space: str) -> CallToolResult:
    """The packed text, and what had to stay out."""
    return reply(
        joined(working_memory_lines(found)),
        space=space,
        topic=found.topic,
        items=[
            {"cite": one.state.id, **picked(one, ("why", "text", "path"))} for one in found.items
        ],
        tokens=found.tokens,
    )


def written(state: State, space: str, text: str) -> CallToolResult:
    """What was written of a topic."""
    return reply(
        text, space=space, **picked(state, ("id", "topic", "version", "valid_from", "forgotten"))
    )


# Facts


def facts(shown: tuple[list[Edge], str | None], space: str, none: str) -> CallToolResult:
    """A page of facts, one a line; `none` where there is none."""
    lines = [str(line) for line in edge_lines(shown[0], none)]
    return _listed(lines, shown[1], space=space, facts=[picked(one, FACT) for one in shown[0]])


def fact_changed(done: FactChange) -> CallToolResult:
    """What a change of fact ended, opened and wrote."""
    cite = None if done.state is None else done.state.id
    return _changed(fact_change_lines(done), done.at, done.closed, done.opened, cite)


def relation_changed(turn: RelationChange) -> CallToolResult:
    """When a relation gave way to another, and to which."""
    after = [turn.after] if turn.after else []
    return _changed(relation_change_lines(turn), turn.at, [turn.before], after)


def _changed(
    lines: PlainText,
    at: datetime,
    closed: Iterable[Edge],
    opened: Iterable[Edge],
    cite: str | None = None,
) -> CallToolResult:
    ended, holds = ([picked(one, FACT) for one in edges] for edges in (closed, opened))
    return reply(joined(lines), at=at, closed=ended, opened=holds, cite=cite)
