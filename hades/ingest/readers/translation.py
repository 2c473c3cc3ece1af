"""Translation: other markup languages as Markdown, line for line.

Line n of the stored text comes from line n of the file, so that the lines of a citation can be
looked up in the file. Paragraphs stay wrapped, as in Markdown. An entry of a definition list, an
option or a symbol is a list item whose first line is its term, and one block, so that a passage has
the term beside its description.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, islice
from typing import Any

from hades.ingest.document import Document, Link, Origin, Unreadable
from hades.ingest.readers.markdown import (
    LINKS_AT_MOST,
    REFERS_TO,
    TARGET_CHARACTERS_AT_MOST,
    MarkdownPart,
    blocks_of,
    links_of,
    name_of,
    parts_of,
    resolve_link,
)
from hades.ingest.readers.text import check_text, line_spans, one_line, stem_of
from hades.language.names import is_identifier

NESTING_AT_MOST = 8
"""The most entries inside entries. Deeper ones become text of the innermost entry."""
ENTRY_CHARACTERS_AT_MOST = 900
"""A longer entry becomes several blocks under its term as a heading. Passages have about 700
characters."""
DEEPEST_HEADING = 6

_MARKUP = re.compile(r"#{1,6}(?:[ \t]|$)|```|~~~|(?:(?:=+|-+)[ \t]*|(?:[-*_][ \t]*){3,})$")
"""The beginning of a line of prose that would be read as a heading, a fence or a rule."""
_BACKTICKS = re.compile(r"`{3,}")


@dataclass(slots=True)
class Entry:
    """An item of a definition list: a term and the lines that describe it."""

    term: str
    first: int
    indent: int
    last: int = -1
    """Its last line; -1 while it is open."""
    has_terms: bool = False
    """Whether it has more than one term."""


class Translation:
    """The lines of a file and their translation, which a subclass writes part by part."""

    def __init__(self, content: str, topic: str) -> None:
        self.topic = topic
        self.lines = [content[start:end].rstrip() for start, end in line_spans(content)]
        self.above = ""
        """A title that is not a heading."""
        self.prefix = ""
        """Written before the next prose, as `Note: `."""
        self.open: list[Entry] = []
        self.bare: Entry | None = None
        """The open entry of which only the term was written."""
        self._out = [""] * len(self.lines)
        self._is_prose = [False] * len(self.lines)
        self._entries: list[Entry] = []
        self._links: list[tuple[int, str, str]] = []
        self._names: list[tuple[int, str]] = []

    def line(self, number: int) -> int:
        """Write the part that begins at a line with text, and return the line after it."""
        raise NotImplementedError

    def inline(self, text: str, line: int) -> str:
        """Return prose with its inline markup as Markdown, and with as many lines as before."""
        raise NotImplementedError

    # Lines

    def indent(self, number: int) -> int:
        """Return the indentation of a line in columns; a tab ends at a multiple of 8."""
        line = self.lines[number]
        return len(line[: len(line) - len(line.lstrip())][:400].expandtabs(8))

    def until(self, number: int, ends: Callable[[int], bool]) -> int:
        """Return the first line from `number` on at which `ends` is true, else the line count."""
        while number < len(self.lines) and not ends(number):
            number += 1
        return number

    def body_end(self, number: int, indent: int) -> int:
        """Return the end of the lines from `number` on that are indented more, or blank."""
        return self.until(number, lambda at: bool(self.lines[at]) and self.indent(at) <= indent)

    # Parts

    def heading(self, number: int, level: int, text: str) -> None:
        """Write a heading, which ends all entries."""
        self.close(0, number)
        self.prefix = ""
        self._out[number] = f"{'#' * min(level, DEEPEST_HEADING)} {one_line(text)}"
        self._is_prose[number] = True

    def prose(self, number: int, text: str) -> None:
        """Write a line of a paragraph, a list or a table."""
        text = self.prefix + text
        self.prefix = ""
        self._end_term(number)
        escaped = f"\\{text}" if _MARKUP.match(text) else text
        self._out[number] = f"{'  ' * len(self.open)}{escaped}"
        self._is_prose[number] = bool(text)

    def code(self, first: int, end: int, language: str = "", free: Collection[int] = ()) -> None:
        """Write the lines from `first` to `end` as code.

        Fences take the place of the blank lines around it, or of markup in the `free` lines.
        """
        self.bare = None
        while first < end and not self.lines[first]:
            first += 1
        while first < end and not self.lines[end - 1]:
            end -= 1
        if first == end:
            return
        margin = min(self.indent(at) for at in range(first, end) if self.lines[at])
        pad = "  " * len(self.open)
        ticks = 2
        for at in range(first, end):
            line = self.lines[at].expandtabs(8) if margin else self.lines[at]
            self._out[at] = pad + line[margin:] if line else ""
            ticks = max(ticks, *map(len, _BACKTICKS.findall(line)), 0)
        fence = pad + "`" * (ticks + 1)
        for at, beside, mark in ((first, first - 1, fence + language), (end - 1, end, fence)):
            exists = 0 <= beside < len(self.lines)
            if exists and not self._out[beside] and (beside in free or not self.lines[beside]):
                self._out[beside] = mark
            elif beside < at:
                self._out[at] = f"{mark}\n{self._out[at]}"
            else:
                self._out[at] += f"\n{mark}"

    def rows(self, first: int, end: int, rows: Sequence[Sequence[str]]) -> None:
        """Write the rows of a table, from line `first` on; the first row is the header."""
        self.bare = None
        lines = [f"| {' | '.join(' '.join(cell.split()) for cell in row)} |" for row in rows]
        lines[1:1] = [f"|{' --- |' * len(rows[0])}"] if rows else []
        for number, line in zip(range(first, end), lines, strict=False):
            self._out[number] = line
            self._is_prose[number] = True

    # Entries of definition lists

    def entry(
        self, number: int, term: str, shown: str, text: str = "", joins: bool = False
    ) -> None:
        """Begin an entry. If it `joins`, add a term to the last one, which has no description yet.

        The lines up to `close` describe it.
        """
        line = f"{shown}: {text}".rstrip()
        entry = self.bare
        if joins and entry is not None:
            entry.term = one_line(f"{entry.term}, {term}")
            entry.has_terms = True
            self.prose(number, line)
        elif len(self.open) == NESTING_AT_MOST:
            self.prose(number, line)
        else:
            entry = Entry(one_line(term), number, self.indent(number))
            self.prose(number, f"- {line}")
            self.open.append(entry)
            self._entries.append(entry)
        self.bare = None if text else entry

    def _end_term(self, number: int) -> None:
        """Move a bare term down to its description, so that no blank line is between them."""
        entry = self.bare
        self.bare = None
        before = number - 1
        if entry is None or entry.first == before or self._out[before] or entry.has_terms:
            return
        self._out[before] = self._out[entry.first]
        self._out[entry.first] = ""
        self._is_prose[before] = True
        self._is_prose[entry.first] = False
        entry.first = before

    def close(self, count: int, number: int) -> None:
        """End the open entries except the first `count`, before line `number`."""
        while len(self.open) > count:
            self.open.pop().last = number - 1
            self.bare = None

    # Links and names

    def refer(self, number: int, target: str, shown: str) -> None:
        """Add a link: to a URL or a file, or to a name if `target` begins with `name:`."""
        name = target.removeprefix("name:")
        resolved = one_line(name) if name != target else resolve_link(target, self.topic)
        if resolved and len(resolved) <= TARGET_CHARACTERS_AT_MOST:
            self._links.append((number, resolved, one_line(shown)))

    def introduce(self, number: int, name: str) -> None:
        """Add a name that the part at this line defines."""
        self._names.append((number, name))

    # The document

    def document(self, metadata: Mapping[str, Any], start: int = 0) -> Document:
        """Return the document from line `start` on. Raise Unreadable if it has no text."""
        number = start
        while number < len(self.lines):
            number = self.line(number) if self.lines[number] else number + 1
        self.close(0, len(self.lines))
        self._translate_prose()
        content = "\n".join(self._out).rstrip()
        if not content.strip():
            raise Unreadable(f"{self.topic} has no text in it.")
        check_text(len(content), self.topic)
        starts = [0, *accumulate(len(line) + 1 for line in self._out)]
        parts = list(self._named(self._parts(content, starts), starts))
        headings = (part.heading for part in parts if 0 < part.level <= DEEPEST_HEADING)
        title = self.above or next(headings, "") or stem_of(self.topic)
        return Document(
            topic=self.topic,
            content=content,
            title=title,
            blocks=blocks_of(parts, self.above),
            names=name_of(title, Origin.TITLE),
            links=self._all_links(content, parts, starts),
            metadata=metadata,
        )

    def _translate_prose(self) -> None:
        numbered = enumerate(zip(self._is_prose, self._out, strict=True))
        for is_prose, group in groupby(numbered, lambda row: row[1][0]):
            if is_prose:
                rows = list(group)
                text = self.inline("\n".join(out for _, (_, out) in rows), rows[0][0])
                for (number, _), line in zip(rows, text.split("\n"), strict=True):
                    self._out[number] = line

    def _parts(self, content: str, starts: Sequence[int]) -> Iterator[MarkdownPart]:
        """Yield the parts, those of a short entry as one."""
        entries = iter([*self._entries, Entry("", len(self.lines), 0)])
        waiting = next(entries)
        breaks = {starts[at] for entry in self._entries for at in (entry.first, entry.last + 1)}
        long: list[Entry] = []
        held: MarkdownPart | None = None
        held_until = 0
        for part in parts_of(content, breaks=breaks):
            if held and part.start < held_until:
                held = replace(held, end=part.end)
                continue
            if held:
                yield held
                held = None
            while long and starts[long[-1].last + 1] <= part.start:
                long.pop()
            while starts[waiting.first] < part.start:
                waiting = next(entries)
            is_entry = starts[waiting.first] == part.start
            until = starts[waiting.last + 1]
            if is_entry and until - part.start > ENTRY_CHARACTERS_AT_MOST:
                long.append(waiting)
                level = DEEPEST_HEADING + len(long)
                yield replace(part, level=level, heading=one_line(waiting.term), depth=level)
                continue
            part = replace(part, depth=DEEPEST_HEADING + len(long))
            if is_entry:
                held = part
                held_until = until
            else:
                yield part
        if held:
            yield held

    def _named(
        self, parts: Iterator[MarkdownPart], starts: Sequence[int]
    ) -> Iterator[MarkdownPart]:
        """Yield the parts, each with the names that are introduced before its end."""
        names = [(starts[number], name) for number, name in self._names]
        names += [(starts[e.first], e.term) for e in self._entries if is_identifier(e.term)]
        names.sort()
        at = 0
        for part in parts:
            first = at
            while at < len(names) and names[at][0] <= part.end:
                at += 1
            texts = dict.fromkeys(name for _, name in names[first:at] if name != part.heading)
            headings = (name for text in texts for name in name_of(text, Origin.HEADING))
            yield replace(part, names=tuple(headings))

    def _all_links(
        self, content: str, parts: Sequence[MarkdownPart], starts: Sequence[int]
    ) -> tuple[Link, ...]:
        source = f"topic:{self.topic}"
        links = {link.target: link for link in links_of(content, parts, self.topic)}
        for number, target, shown in self._links:
            if target != source:
                link = Link(source, REFERS_TO, target, evidence=shown, at=starts[number])
                links.setdefault(target, link)
        return tuple(islice(links.values(), LINKS_AT_MOST))


def with_breaks(shown: str, matched: str) -> str:
    """Return the replacement of inline markup, with as many line breaks as the markup has."""
    missing = matched.count("\n") - shown.count("\n")
    if missing <= 0:
        return shown
    spaces = min(missing, shown.count(" "))
    return "\n" * (missing - spaces) + shown.replace(" ", "\n", spaces)
