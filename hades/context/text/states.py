"""The plain text of states, topics, differences and core blocks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from hades.context.text.layout import (
    PlainText,
    TextBody,
    TextLine,
    moment,
    shown_cite,
    shown_name,
    since_until,
    writes,
)
from hades.domain.context import CoreBlock
from hades.domain.topics import Diff, State, Topic


@writes(State)
def state_lines(state: State, content: str | None = None) -> PlainText:
    """Show a state: a line about it, then `content`, by default its own, unless forgotten."""
    details = ["forgotten"] if state.forgotten else []
    details.append(since_until(state.valid_from, state.valid_to))
    if state.recorded_at != state.valid_from:
        details.append(f"written {moment(state.recorded_at)}")
    if state.confidence != 1:
        details.append(f"confidence {state.confidence:g}")
    if state.last_used is not None:
        details.append(f"used {state.access_count:,}×, last {moment(state.last_used)}")
    yield TextLine(shown_cite(state.id), (*details, *_tags(state.tags)), "head")
    if not state.forgotten:
        yield TextBody(state.content if content is None else content)


def topic_line(topic: Topic) -> TextLine:
    """Return a topic with its version, since when it holds, and its tags."""
    details = (f"since {moment(topic.valid_from)}", *_tags(topic.tags))
    return TextLine(shown_cite(f"{topic.name}@{topic.version}"), details)


def core_block_lines(block: CoreBlock) -> PlainText:
    """Show a core block with its size and limit."""
    head = f"{block.topic}@{block.version}, {block.tokens} of {block.limit} tokens:"
    return [TextLine(head), TextBody(block.text)]


@writes(Diff)
def diff_lines(diff: Diff) -> PlainText:
    """Show what changed between two versions, as `diff -u` does."""
    for name, (before, after) in diff.fields.items():
        was, now = (
            json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
            for value in (before, after)
        )
        yield TextLine(f"{name}: {was} → {now}")
    styles = {"+": "added", "-": "removed", "@": "time"}
    for line in diff.text.split("\n") if diff.text else []:
        yield TextLine(line.replace("\t", "    "), style=styles.get(line[:1], ""))
    if not diff.text and not diff.fields:
        yield TextLine(f"{diff.topic}: versions {diff.before} and {diff.after} are the same")


def _tags(tags: Iterable[str]) -> Iterator[str]:
    return (f"#{shown_name(tag)}" for tag in tags)
