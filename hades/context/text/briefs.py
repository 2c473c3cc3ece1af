"""The plain text of a brief."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hades.context.text.answers import nothing_remembered
from hades.context.text.layout import (
    PlainText,
    TextBody,
    TextLine,
    flat,
    joined,
    shown_cite,
    writes,
)
from hades.context.text.tags import neutral_tags
from hades.domain.brief import Brief, BriefLine
from hades.domain.plain import one_line
from hades.domain.quoting import unlabelled

HEADINGS = {
    "decisions": "Decisions and rules:",
    "open_threads": "Open:",
    "changes": "Changed lately:",
    "ended": "No longer true:",
}
"""The heading of each part of a brief."""


def brief_line(line: BriefLine) -> str:
    """Return a line of a brief: its date, its text and its citation."""
    text = f" {line.at:%Y-%m-%d} {unlabelled(one_line(flat(line.text)))} [{shown_cite(line.cite)}]"
    return neutral_tags(text)


def brief_text(parts: Mapping[str, Sequence[BriefLine]], *, past: bool) -> str:
    """Return the text of a brief for a model; without lines, a sentence that says what to do."""
    lines = [
        text
        for name, heading in HEADINGS.items()
        if parts[name]
        for text in (heading, *map(brief_line, parts[name]))
    ]
    return "\n".join(lines) if lines else joined([nothing_remembered(past=past)])


@writes(Brief)
def brief_lines(brief: Brief) -> PlainText:
    """Show a brief as a model reads it, then its tokens and how much was left out."""
    yield TextBody(brief.text, stored=False)
    if not brief.is_empty:
        left = f", {brief.left_out:,} lines left out" if brief.left_out else ""
        yield TextLine(f"{brief.tokens:,} tokens of {brief.budget:,}{left}", style="quiet")
