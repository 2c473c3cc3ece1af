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

from hades.context.pack import indented
from hades.domain.answer import Answer, Diagnostic, Fact, Passage, Path, Recall, WorkingMemory
from hades.domain.graph import Edge, Reason
from hades.domain.plain import one_line, plain
from hades.domain.times import iso
from hades.domain.topics import State, Topic
from hades.language.names import own_heading

Item = TypeVar("Item")
Key = TypeVar("Key", str, int)

ANSWER_CHARACTERS_AT_MOST = 30_000
"""Of a tool's text, and of its values as JSON: some 7,500 tokens. Clients cut off or refuse
answers of more than 10,000 to 25,000."""
PAGE_CHARACTERS_AT_MOST = 20_000
"""Of a page of a list, or of one content; the rest is read with `after` or `start`."""
EXCERPT_CHARACTERS = 300
"""Of a text in a list: enough to know it again."""
DIGITS = 3
"""Of a score: more says nothing to a model and costs tokens."""
CUT = "\n… The answer is too long and was cut here: ask for less."

TOPIC = ("name", "version", "valid_from", "tags")
VERSION = (
    *("id", "version", "content", "valid_from", "valid_to", "recorded_at"),
    *("tags", "confidence", "forgotten"),
)
FACT = ("id", "source", "relation", "target", "valid_from", "valid_to", "evidence")

WHAT_IS_MISSING = {
    Reason.TIMEOUT: "the time was over before everything was looked at",
    Reason.BUDGET_EXHAUSTED: "more was found than may be read",
    Reason.CLAMPED: "a limit that was asked for is not allowed",
    Reason.EVICTED: "something did not fit",
    Reason.NO_EMBEDDINGS: "some can only be found by words and names yet",
    Reason.NOT_INDEXED: "not all that was written can be found yet",
    Reason.ENCODER_FAILED: "nothing was found by meaning, only by words and names",
    Reason.CUT_QUESTION: "the question was shortened",
    Reason.ARCHIVE_LOST: "what lies in the archive could not be read",
    Reason.NOTHING_KNOWN: "nothing is known of that time",
}
"""The reasons a reader must know, in plain words; the others are for engineers."""


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


def excerpt(text: str) -> str:
    """The beginning of a text."""
    return text if len(text) <= EXCERPT_CHARACTERS else text[:EXCERPT_CHARACTERS] + "…"


def stamp(moment: datetime) -> str:
    """A time, or the day alone where it begins with one."""
    return iso(moment).removesuffix("T00:00:00Z")


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))


# Questions


def recalled(found: Recall) -> CallToolResult:
    """The packed context, how to cite it, and what a reader must know about it."""
    return reply(
        _recall_text(found),
        question=found.question,
        space=found.space,
        facts=[_fact(number, one) for number, one in enumerate(found.facts, 1)],
        passages=[_passage(number, one) for number, one in enumerate(found.passages, 1)],
        paths=recalled_paths(found),
        sure=round(found.belief.mean, DIGITS),
        tokens=found.tokens,
        notes=[str(note) for note in found.reasons],
        time=found.time,
        valid=found.valid,
        known=found.known,
    )


def _recall_text(found: Recall) -> str:
    if not found.passages and not found.paths and not found.facts:
        return _nothing_fits(found)
    lines = ["", *_time(found), _cite_as(_sources(found))]
    compared = not any(
        note.reason is Reason.FALLBACK and note.stage == "rank" for note in found.reasons
    )
    if compared:
        lines.append(f"How likely the answer is among these: {found.belief.mean:.2f}.")
    end = "\n" + "\n".join([*lines, *_missing(found.reasons)])
    # Of a context that is too long the last passages go, not the citations.
    return found.context[: max(ANSWER_CHARACTERS_AT_MOST - len(end), 0)] + end


def answered(answer: Answer) -> CallToolResult:
    """The sentences that answer, and the passages and facts they stand in."""
    found = answer.recall
    sources = _sources(found)
    used = {label: sources[label] for one in answer.sentences for label in one.labels}
    text = _nothing_fits(found)
    if found.passages or found.facts:
        cited = [_cite_as(used)] if used else []
        said = [indented(str(answer)), *_time(found), *cited, *_written(answer)]
        text = "\n".join([*said, *_missing(found.reasons)])
    return reply(
        text,
        question=answer.question,
        space=found.space,
        sentences=[{"text": one.text, "cite": sources[one.label]} for one in answer.sentences],
        shortfall=answer.shortfall or None,
        kind=answer.kind,
        usage=answer.usage,
        fallback=answer.fallback or None,
        sure=round(found.belief.mean, DIGITS),
        time=found.time,
        valid=found.valid,
        known=found.known,
    )


def _written(answer: Answer) -> list[str]:
    """Whether a model wrote the sentences, as a line, where one was asked to."""
    if answer.fallback:
        return [one_line(f"Word for word, the model did not help: {answer.fallback}")]
    if answer.usage is None:
        return []
    return [f"In the words of {answer.usage.model}, checked; {answer.unsupported} left out."]


def _sources(found: Recall) -> dict[str, str]:
    """What the labels in a text stand for: `[F1]` an edge, `[1]` a passage."""
    facts = {f"[F{n}]": one.edge.cite for n, one in enumerate(found.facts, 1)}
    return facts | {f"[{n}]": one.id for n, one in enumerate(found.passages, 1)}


def _cite_as(sources: dict[str, str]) -> str:
    return one_line("Cite as: " + ", ".join(f"{label} {one}" for label, one in sources.items()))


def _time(found: Recall) -> list[str]:
    """How the time in the words of a question was understood, as a line."""
    return [] if found.time is None else [one_line(f"Time: {found.time}.")]


def _nothing_fits(found: Recall) -> str:
    reasons = {note.reason for note in found.reasons}
    if Reason.NOTHING_KNOWN in reasons and Reason.NOT_INDEXED not in reasons:
        return nothing(past=any((found.valid, found.known, found.time)))
    fits = "Nothing that is remembered fits: ask in other words, or see `topics`."
    return "\n".join([fits, *_missing(found.reasons)])


def nothing(*, past: bool) -> str:
    """What is said of a space with nothing in it."""
    if past:
        return "Nothing was remembered here at that time."
    return "Nothing is remembered here yet: `remember` writes the first note."


def _missing(notes: Iterable[Diagnostic]) -> list[str]:
    """What a reader must know that an answer lacks, as a line."""
    missing = [
        WHAT_IS_MISSING[note.reason] + (f" ({one_line(note.detail)})" if note.detail else "")
        for note in notes
        if note.reason in WHAT_IS_MISSING
    ]
    return [f"Notes: {'; '.join(dict.fromkeys(missing))}."] if missing else []


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


def cited_facts(found: Recall) -> list[str]:
    """The facts of a recall as lines, each with what to cite."""
    return [one_line(f"[{one.edge.cite}] {one.text}") for one in found.facts]


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


def numbered_paths(paths: Iterable[dict[str, Any]]) -> list[str]:
    """Paths as lines, each with the ids of its nodes."""
    return [
        one_line(f"{one['number']}) {one['path']}  (nodes: {', '.join(one['nodes'])})")
        for one in paths
    ]


# Topics and their versions


def whole_version(state: State, space: str, start: int) -> CallToolResult:
    """One version, from a character on."""
    content = state.content[start : start + PAGE_CHARACTERS_AT_MOST]
    while _size(content) > ANSWER_CHARACTERS_AT_MOST * 3 // 4:  # much of it is escaped in JSON
        content = content[: len(content) // 2]
    end, characters = start + len(content), len(state.content)
    text = _version_text(state, content)
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
    blocks = [_version_text(one, excerpt(one.content)) + "\n" for one in shown[0]]
    values = {"topic": topic, "versions": [picked(one, VERSION) for one in shown[0]]}
    return _listed(blocks or ["There is no earlier version."], shown[1], space=space, **values)


def _version_text(state: State, content: str) -> str:
    until = f" until {stamp(state.valid_to)}" if state.valid_to else ""
    times = f"true since {stamp(state.valid_from)}{until}, written {stamp(state.recorded_at)}"
    what = "forgotten" if state.forgotten else content
    return f"{one_line(state.id)}, {times}{_tags(state.tags)}\n{indented(what)}"


def topics(
    shown: tuple[list[Topic], str | None], space: str, spaces: list[str], none: str
) -> CallToolResult:
    """A page of topics, one a line; `none` where there is none."""
    lines = [
        f"{one_line(one.name)}@{one.version}, since {stamp(one.valid_from)}{_tags(one.tags)}"
        for one in shown[0]
    ] or [none]
    if len(spaces) > 1:
        lines.append(f"Spaces: {one_line(', '.join(spaces))} (this is {one_line(space)}).")
    values = {"spaces": spaces, "topics": [picked(one, TOPIC) for one in shown[0]]}
    return _listed(lines, shown[1], space=space, **values)


def _listed(lines: list[str], following: str | int | None, **values: Any) -> CallToolResult:
    if following is not None:
        lines = [*lines, f"More: pass after={following!r}."]
    return reply("\n".join(lines), next=following, **values)


def _tags(tags: Iterable[str]) -> str:
    told = ", ".join(tags)
    return one_line(f" [{told}]") if told else ""


def working_memory(found: WorkingMemory, space: str) -> CallToolResult:
    """The packed text, and what had to stay out."""
    out = one_line("; ".join(str(note) for note in found.reasons))
    return reply(
        f"{found.context}\n\nLeft out: {out}." if out else found.context,
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
    lines = [_fact_text(one) for one in shown[0]] or [none]
    return _listed(lines, shown[1], space=space, facts=[picked(one, FACT) for one in shown[0]])


def changed(
    at: datetime, closed: Iterable[Edge], opened: Iterable[Edge], state: State | None = None
) -> CallToolResult:
    """What ended at a time, and what holds since."""
    lines = [f"At {stamp(at)}:"]
    lines += [f"ended: {_fact_text(one)}" for one in closed]
    lines += [f"holds: {_fact_text(one)}" for one in opened]
    if state is not None:
        lines.append(f"written: {one_line(state.id)}")
    return reply(
        "\n".join(lines),
        at=at,
        closed=[picked(one, FACT) for one in closed],
        opened=[picked(one, FACT) for one in opened],
        cite=None if state is None else state.id,
    )


def _fact_text(edge: Edge) -> str:
    until = f" until {stamp(edge.valid_to)}" if edge.valid_to else ""
    number = f"{edge.cite}, " if edge.id > 0 else ""
    return f"{one_line(str(edge))} ({number}since {stamp(edge.valid_from)}{until})"
