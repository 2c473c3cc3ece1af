"""Units: the smallest parts of a document that can answer a question.

A unit is a sentence, an item of a list, a row of a table, or a block of code. Its lead is the text
that is needed to understand it: the line before a list or a block of code, the term that it
describes, or the name of the speaker. A row of a table has no lead; instead, the name of its column
comes before each cell. One pass over the lines of Markdown finds the units.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, zip_longest
from typing import NamedTuple

from hades.language.patterns import lazy_pattern
from hades.language.sentences import sentences

ITEM_CHARACTERS_AT_MOST = 300
"""A longer item of a list is divided into its sentences."""
TERM_CHARACTERS_AT_MOST = 120
"""A longer line before an indented text is not a term."""
CODE_CHARACTERS_AT_MOST = 2_000
UNITS_AT_MOST = 64
"""The most units of one passage."""

_FENCE = lazy_pattern(r"[ \t]*(?:```|~~~|-{4,}[ \t]*$)")
_ITEM = lazy_pattern(r"[ \t]*(?:[-*+•]|\d{1,4}[.)])[ \t]+(?=\S)")
_TITLE = lazy_pattern(r"(?:#{1,6}|={1,6}) ")
_RULE = lazy_pattern(r"[ \t]*([=\-~^\"#*+`_])\1{2,}[ \t]*$")
_ROW = lazy_pattern(r"[ \t]*[|+]")
_TABLE_RULE = lazy_pattern(r"[ \t|+:=-]+$")
_CELL_END = lazy_pattern(r"(?<!\\)\|")
_TERM_END = lazy_pattern(r"(?::{2,4}|;;|:)$")
_SPEAKER = lazy_pattern(
    r"(?:\*\*|<)?((?:[^\s:<>*]{1,40} ){0,3}[^\s:<>*]{1,40}(?: \([^()\n]{1,40}\))?)"
    r"(?::\*\*|\*\*:|>|:)\s+(?=\S)"
)
"""The beginning of a turn of a conversation. `Note:` and the like count as speakers, too."""
_NO_TEXT = lazy_pattern(
    r"[ \t]*(?:\.\. |:[\w-]{1,40}:|\[[^\]\n]{0,80}\][ \t]*$|\{\{[<%]|<!--|</?[A-Z])"
)
_MARKUP = lazy_pattern(
    r"""
      !?\[ (?P<shown>[^\[\]\n]{0,300}) \] (?: \([^()\n]{0,500}\) | \[[^\[\]\n]{0,200}\] )
    | :[\w:+-]{1,40}: ` (?P<role>[^`\n]{1,300}) `
    | (?P<macro>(?:link|linkgit|xref|image) :{1,2} [^\s\[\]]{1,300})
      \[ (?P<label>[^\[\]\n]{0,300}) \]
    | ` (?P<link>[^`<>\n]{1,200}) [ ] <[^<>`\n]{1,300}> `_{1,2}
    | \{\{ [^{}\n]{0,300} \}\}
    | </?[A-Za-z][^<>\n]{0,200}>
    | (?P<mark>\*\*|__|``|`|~~) (?P<inner>[^\s`*](?:[^`*\n]{0,300}[^\s`*])?) (?P=mark)
    """,
    re.VERBOSE,
)
_ROLE_TARGET = lazy_pattern(r"[ ]?<[^<>]{1,200}>$")


class Unit(NamedTuple):
    """A part of a text that can answer, without marks of the format."""

    text: str
    lead: str = ""
    is_code: bool = False

    @property
    def told(self) -> str:
        """The unit after its lead, as it is read and quoted."""
        between = "\n" if self.is_code else " "
        return f"{self.lead}{between}{self.text}" if self.lead else self.text


@lru_cache(maxsize=2_048)
def units(text: str) -> tuple[Unit, ...]:
    """Return the units of a passage in order, at most UNITS_AT_MOST."""
    told = (unit for unit in _units(text.split("\n")) if any(map(str.isalnum, unit.text)))
    return tuple(islice(told, UNITS_AT_MOST))


def plain_markup(text: str) -> str:
    """Return a text on one line, without the marks of links, emphasis, roles and tags.

    >>> plain_markup("Set :setting:`DEBUG` to **True**, see [the guide](a.md).")
    'Set DEBUG to True, see the guide.'
    """
    return " ".join(_MARKUP.sub(_unmarked, text).split())


def _unmarked(match: re.Match[str]) -> str:
    if role := match["role"]:
        return _ROLE_TARGET.sub("", role).lstrip("~!") or role
    if macro := match["macro"]:
        label = match["label"]
        return macro.rpartition(":")[2] if not label or label.isdigit() else label
    return match["shown"] or match["link"] or match["inner"] or ""


def _units(lines: Sequence[str]) -> Iterator[Unit]:
    at = 0
    lead = ""
    ended = -1
    while at < len(lines):
        start = at
        line = lines[at]
        at += 1
        if not line.strip():
            continue
        if _FENCE.match(line) and not _is_title(lines, start):
            at = _until(lines, at, lambda row: _FENCE.match(row) is not None) + 1
            yield _code(lines[start + 1 : at - 1], lead)
        elif _ROW.match(line):
            at = _until(lines, at, lambda row: not _ROW.match(row))
            yield from _rows(lines[start:at])
        elif item := _ITEM.match(line):
            at = _until(lines, at, _ends_item)
            text = "\n".join((line[item.end() :], *lines[start + 1 : at]))
            yield from _prose(text, lead, ITEM_CHARACTERS_AT_MOST)
            continue  # the lead stays for the next item
        elif line[0] in " \t":
            at = _until(lines, at, lambda row: bool(row.strip()) and row[0] not in " \t")
            if lead and ended < start:
                yield _code(lines[start:at], lead)
            else:
                yield from _prose("\n".join(map(str.strip, lines[start:at])), lead)
        elif not _is_title(lines, start) and not _NO_TEXT.match(line):
            at = _until(lines, at, _ends_paragraph)
            ended = at
            last = lines[at - 1].strip()
            described = at < len(lines) and lines[at][:1] in (" ", "\t")
            if described and len(last) <= TERM_CHARACTERS_AT_MOST:
                lead = plain_markup(_TERM_END.sub("", last)) + ":"
                yield from _prose("\n".join(lines[start : at - 1]), "")
            else:
                text = "\n".join(lines[start:at])
                speaker = _SPEAKER.match(text)
                spoken = text[speaker.end() :] if speaker else text
                told = list(_prose(spoken, f"{speaker[1]}:" if speaker else ""))
                lead = told[-1].text if told and told[-1].text.endswith(":") else ""
                yield from told[: -1 if lead else None]
            continue
        lead = ""


def _until(lines: Sequence[str], at: int, ends: Callable[[str], bool]) -> int:
    """Return the number of the first line from `at` on that ends a block."""
    return next((row for row in range(at, len(lines)) if ends(lines[row])), len(lines))


def _is_title(lines: Sequence[str], at: int) -> bool:
    """Return whether a line is a title, or the rule under one."""
    below = lines[at + 1] if at + 1 < len(lines) else ""
    if _TITLE.match(lines[at]) or _RULE.match(lines[at]):
        return True
    return bool(_RULE.match(below)) and len(below.strip()) >= len(lines[at].strip())


def _ends_item(line: str) -> bool:
    return not line.strip() or bool(_ITEM.match(line) or _FENCE.match(line) or _ROW.match(line))


def _ends_paragraph(line: str) -> bool:
    return line[:1] in (" ", "\t") or _ends_item(line) or bool(_TITLE.match(line))


def _prose(text: str, lead: str, whole_up_to: int = 0) -> Iterator[Unit]:
    """Yield the sentences of a text; a text of at most `whole_up_to` characters is one unit."""
    told = [text] if len(text) <= whole_up_to else sentences(text)
    yield from (Unit(plain_markup(one), lead) for one in told)


def _code(lines: Sequence[str], lead: str) -> Unit:
    text = "\n".join(lines).strip("\n")[:CODE_CHARACTERS_AT_MOST]
    return Unit(text, lead, is_code=True)


def _rows(lines: Sequence[str]) -> Iterator[Unit]:
    """Yield the rows of a table; each cell comes after the name of its column, if it has one."""
    rows = [line for line in lines if not _TABLE_RULE.match(line)]
    header = _cells(rows[0]) if rows[:1] == lines[:1] and len(rows) < len(lines) else []
    for row in rows[1 if header else 0 :]:
        cells = _cells(row)
        named = zip_longest(header[: len(cells)], cells, fillvalue="")
        told = (f"{name}: {cell}" if name else cell for name, cell in named if cell)
        yield Unit("; ".join(told))


def _cells(row: str) -> list[str]:
    return [plain_markup(cell) for cell in _CELL_END.split(row.strip().strip("|"))]
