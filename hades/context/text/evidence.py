"""The facts, paths and passages of a recall as lines, labelled as sentences cite them."""

from __future__ import annotations

from hades.context.text.layout import flat, held_days, shown_name
from hades.context.tokens import ELLIPSIS
from hades.domain.answer import Fact, Passage, Path, unlabelled
from hades.domain.names import own_heading

HEAD_CHARACTERS_AT_MOST = 160
"""Of a topic's name and of a heading, in the head line of a passage."""


def fact_line(number: int, fact: Fact) -> str:
    """Return a fact: `[F1] db07 runs on rack 4, since 1 March 2024`."""
    return f"[F{number}] {unlabelled(flat(fact.text))}"


def path_line(number: int, path: Path, *, snippets: bool = True) -> str:
    """Return a path: `(P1) 0.70: design/x --[leads_to]--> Bug Y`."""
    told = unlabelled(flat(path.told(snippets=snippets)))
    return f"(P{number}) {path.reliability:.2f}: {told}"


def passage_line(number: int, passage: Passage) -> str:
    """Return where a passage stands: `[1] design/x@2, lines 1–2, 2024-03-01 · Decision`."""
    chunk = passage.chunk
    topic = shown_name(chunk.topic)
    if len(topic) > HEAD_CHARACTERS_AT_MOST:
        topic = ELLIPSIS + topic[-HEAD_CHARACTERS_AT_MOST:]
    since = f"{held_days(passage)}{', superseded since' * passage.superseded}"
    line = f"[{number}] {topic}@{chunk.version}, {lines_of(passage)}, {since}"
    heading = flat(own_heading(chunk.topic, chunk.heading))
    return f"{line} · {heading[:HEAD_CHARACTERS_AT_MOST]}" if heading else line


def lines_of(passage: Passage) -> str:
    """Return the lines of its topic's content that a passage takes: `lines 1–2`."""
    first, last = passage.line, passage.end_line
    return f"line {first}" if first == last else f"lines {first}–{last}"
