"""AsciiDoc as Markdown.

One pass over the lines, after the language documentation of Asciidoctor
(https://docs.asciidoctor.org/asciidoc/latest/). Nothing is executed: an `include` becomes a link to
its file, and both branches of a condition are read.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from hades.ingest.document import Document
from hades.ingest.readers.markdown import markdown_link
from hades.ingest.readers.text import decode, one_line
from hades.ingest.readers.translation import Translation, with_breaks

LENGTHS_DIFFER_AT_MOST = 2
"""The most characters by which a heading and the line under it may differ in length."""

_HEADING = re.compile(r"(={1,6})[ \t]+(\S.*)$")
_UNDERLINE = re.compile(r"([=\-~^+])\1+$")
_UNDERLINES = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}
_DELIMITER = re.compile(r"(?:([-.=*_+/])\1{3,}|--|[|,:!]={3,}|```+[\w-]*)$")
_CODE_STYLES = ("verse", "synopsis", "listing", "literal", "source")
_BLOCK_ATTRIBUTES = re.compile(r"\[([^\]\[]{0,500}|\[[^\]\[]{1,200}\])\]$")
_COLUMNS = re.compile(r"cols=(?:\"([^\"]{1,500})\"|([^,\s\]]{1,100}))")
_ATTRIBUTE = re.compile(r":!?([A-Za-z0-9_][\w-]{0,60})!?:(?:[ \t]+(.*))?$")
_CONDITION = re.compile(r"(?:ifdef|ifndef|ifeval|endif)::[^\[]{0,200}\[(.*)\]$")
_INCLUDE = re.compile(r"include::([^\[]{1,300})\[.*\]$")
_HIDDEN_LINE = re.compile(
    r"//(?:[^/]|$)|'''$|<<<$|(?:image|video|audio|toc|icon)::[^\[]{0,300}\[.*\]$"
)
_TERM = re.compile(r"(\S.*?)(:{2,4}|;;)(?:[ \t]+(.*))?$")
_ITEM = re.compile(r"(\*{1,6}|-|\.{1,6}|\d{1,4}\.|<(?:\d{1,3}|\.)>)[ \t]+(?=\S)")
_TITLE = re.compile(r"\.([^\s.].*)$")
_ADMONITIONS = frozenset(["NOTE", "TIP", "WARNING", "IMPORTANT", "CAUTION"])
_CELL_STYLE = re.compile(r"(?:^|[ \t])[\d.+*<>^]{0,20}[adehlmsv]?$")

_LINK = re.compile(
    r"\b(?:(link|xref|linkgit|mailto):([^\s\[\]]{1,500})|(https?://[^\s\[\]<>\"]{1,500}))"
    r"\[([^\]\[]{0,300})\]"
)
_REFERENCE = re.compile(r"<<([^<>,\n]{1,200})(?:,([^<>]{1,300}))?>>")
_MACRO = re.compile(
    r"\b(?:kbd|btn|menu|pass|footnote|image|icon|stem):[^\s\[\]]{0,300}\[([^\]\[]{0,300})\]"
)
_ANCHOR = re.compile(r"\[\[[^\]\[\n]{1,200}\]\]|\[#[^\]\[\n]{1,200}\]")
_ROLE = re.compile(r"\[[.#][\w.#-]{1,60}\](?=[#*_`])")
_PASSED = re.compile(r"`\+([^`+\n]{1,200})\+`|\+\+\+([^+\n]{1,200})\+\+\+")
_ATTRIBUTE_REFERENCE = re.compile(r"\\?\{([a-zA-Z0-9_][\w-]{0,60})\}")
_CHARACTERS = {
    "asterisk": "*",
    "apos": "'",
    "apostrophe": "'",
    "amp": "&",
    "backtick": "`",
    "backslash": "\\",
    "caret": "^",
    "empty": "",
    "endsb": "]",
    "gt": ">",
    "litdd": "--",
    "lt": "<",
    "nbsp": " ",
    "plus": "+",
    "sp": " ",
    "startsb": "[",
    "tilde": "~",
    "two-colons": "::",
    "vbar": "|",
    "zwsp": "",
}
"""Attributes that stand for characters, of Asciidoctor and of git's manual."""


def read_asciidoc(raw: bytes, topic: str) -> Document:
    """Read a file of AsciiDoc."""
    content, metadata = decode(raw, topic)
    return _AsciiDoc(content, topic).document(metadata)


class _AsciiDoc(Translation):
    def __init__(self, content: str, topic: str) -> None:
        super().__init__(content, topic)
        self._attributes = dict(_CHARACTERS)
        self._style = ""
        """The attributes of the next block."""
        self._marks: list[str] = []
        """The separators of the open entries: `::`, `;;` and so on."""
        self._containers: list[tuple[str, int]] = []
        """The delimiters of the open blocks, and how many entries were open before each."""
        self._is_attached = False
        """Whether a `+` attaches the next block to the entry."""
        self._in_paragraph = False
        self._last_places = {line: number for number, line in enumerate(self.lines)}

    def line(self, number: int) -> int:
        text = self.lines[number]
        begins = not self._in_paragraph or not self.lines[number - 1]
        self._in_paragraph = False
        if text == "+":
            self._is_attached = True
            return number + 1
        if end := self._unseen(number, text):
            self._in_paragraph = not begins
            return end
        if end := self._heading(number, text, begins):
            return end
        if _DELIMITER.match(text):
            return self._delimited(number, text)
        if attributes := _BLOCK_ATTRIBUTES.match(text):
            self._set_style(attributes[1])
            return number + 1
        return self._text(number, text.strip(), begins)

    def _text(self, number: int, text: str, begins: bool) -> int:
        """Write a term, an item, a paragraph of code or a line of prose."""
        self._in_paragraph = True
        if (begins or self.open) and (term := _TERM.match(text)):
            self._term(number, term[1], term[2], term[3] or "")
            return number + 1
        item = _ITEM.match(text)
        is_indented = self.lines[number][0] in " \t"
        if begins and not is_indented and not item:
            self._leave(number)
        # Indented text directly after a term describes it; elsewhere it is code.
        is_code = begins and is_indented and not item and self.bare is None
        self._is_attached = False
        if is_code or self._style.startswith(_CODE_STYLES):
            return self._code(number)
        self._style = ""
        self.prose(number, _marked(text, item))
        return number + 1

    def _unseen(self, number: int, text: str) -> int:
        """Read a line that shows no text and return the line after it, or 0 if the line is text."""
        if attribute := _ATTRIBUTE.match(text):
            self._attributes.setdefault(attribute[1], one_line(attribute[2] or ""))
        elif included := _INCLUDE.match(text):
            self.refer(number, included[1], included[1])
            self.prose(number, f"Includes `{included[1]}`.")
        elif condition := _CONDITION.match(text):
            if condition[1] and text.startswith(("ifdef", "ifndef")):
                self.prose(number, condition[1])
        elif not _HIDDEN_LINE.match(text):
            return 0
        return number + 1

    def _heading(self, number: int, text: str, begins: bool) -> int:
        """Write a heading and return the line after it, or 0 if there is none."""
        level = 0
        end = number + 1
        if begins and (heading := _HEADING.match(text)):
            level = len(heading[1])
            text = heading[2].rstrip("= ")
        elif begins and end < len(self.lines) and text[0] not in " \t[.*-+|":
            line = self.lines[end]
            if _UNDERLINE.match(line) and abs(len(line) - len(text)) <= LENGTHS_DIFFER_AT_MOST:
                level = _UNDERLINES[line[0]]
                end += 1
        if not level:
            return 0
        self.heading(number, level, text)
        self._containers.clear()
        self._marks.clear()
        self._style = ""
        return end

    def _set_style(self, attributes: str) -> None:
        if attributes in _ADMONITIONS:
            self.prefix = f"{attributes.capitalize()}: "
        elif not attributes.startswith(("[", "#")):
            self._style = attributes

    # Entries

    def _term(self, number: int, term: str, mark: str, text: str) -> None:
        """Begin an entry, or add a further term to one that has no description yet."""
        term = term.replace("`", "")
        base = self._base()
        joins = self.bare is not None and self._marks[-1:] == [mark]
        if mark in self._marks[base:] and not joins:
            self._close(self._marks.index(mark, base), number)
        self.entry(number, term, f"`{term}`", text, joins)
        self._marks = [*self._marks, mark][: len(self.open)]
        self._is_attached = False
        self._style = ""

    def _base(self) -> int:
        """Return how many entries were open before the innermost open block."""
        return self._containers[-1][1] if self._containers else 0

    def _leave(self, number: int) -> None:
        """End the entries of this block, unless the next block is attached to them."""
        if not self._is_attached and self.bare is None:
            self._close(self._base(), number)

    def _close(self, count: int, number: int) -> None:
        self.close(count, number)
        del self._marks[len(self.open) :]

    # Blocks

    def _delimited(self, number: int, text: str) -> int:
        """Read a line that begins or ends a block; code and tables are written whole."""
        if self._containers and self._containers[-1][0] == text:
            self._close(self._containers.pop()[1], number)
            return number + 1
        self._leave(number)
        self._is_attached = False
        style = self._style
        self._style = ""
        if (text == "--" or text[0] in "=*_") and not style.startswith(_CODE_STYLES):
            self._containers.append((text, len(self.open)))
            return number + 1
        closing = "```" if text[0] == "`" else text
        if self._last_places.get(closing, 0) <= number:
            return number + 1
        end = self.until(number + 1, lambda at: self.lines[at] == closing)
        if text[0] in "|,:!":
            self.rows(number, end, self._rows(number + 1, end, style))
        elif text[0] not in "+/":
            words = style.split(",")
            language = words[1] if words[0] == "source" and len(words) > 1 else text.strip("`-.=*_")
            self.code(number + 1, end, one_line(language, 20), free=(number, end))
        return end + 1

    def _code(self, number: int) -> int:
        """Write a paragraph as code, and with indented text the indented paragraphs after it."""
        is_indented = self.lines[number][0] in " \t"

        def ends(at: int) -> bool:
            line = self.lines[at]
            if not line:
                return not is_indented
            return line == "+" or bool(_DELIMITER.match(line)) or (is_indented and line[0] > " ")

        end = self.until(number, ends)
        free = [at for at in (number - 1, end) if self._is_mark("".join(self.lines[at : at + 1]))]
        self.code(number, end, free=free)
        self._style = ""
        return end

    def _is_mark(self, line: str) -> bool:
        """Return whether a line is only markup, so that a fence can replace it."""
        is_delimiter = _DELIMITER.match(line) is not None
        return line == "+" or is_delimiter or _BLOCK_ATTRIBUTES.match(line) is not None

    def _rows(self, first: int, end: int, style: str) -> list[list[str]]:
        """Return the rows of a table; `cols` or its first line says how many columns it has."""
        cells: list[str] = []
        columns = 0
        separator = "," if "csv" in style else "|"
        for number in range(first, end):
            line = self.lines[number].strip().replace("\\|", "\0")
            before, *begun = line.split(separator)
            if separator == "," and line:
                begun.insert(0, before)
            elif cells:
                cells[-1] += f" {_CELL_STYLE.sub('', before)}"
            cells += [_CELL_STYLE.sub("", cell) for cell in begun[:-1]] + begun[-1:]
            columns = columns or len(cells)
        if stated := _COLUMNS.search(style):
            widths = (stated[1] or stated[2]).split(",")
            repeated = widths[0].partition("*")
            is_repeated = repeated[1] and repeated[0].isdecimal()
            columns = int(repeated[0][:3]) if is_repeated else len(widths)
        cells = [cell.replace("\0", "\\|") for cell in cells]
        columns = max(columns, 1)
        return [cells[at : at + columns] for at in range(0, len(cells), columns)]

    # Inline markup

    def inline(self, text: str, line: int) -> str:
        if "[" in text:
            text = _ANCHOR.sub("", _ROLE.sub("", text))
            text = _LINK.sub(lambda m: with_breaks(self._link(m, line), m[0]), text)
            text = _MACRO.sub(lambda m: m[1], text)
        if "<<" in text:
            text = _REFERENCE.sub(lambda m: with_breaks(self._reference(m, line), m[0]), text)
        if "+" in text:
            text = _PASSED.sub(lambda m: f"`{m[1]}`" if m[1] else m[2], text)
        return _ATTRIBUTE_REFERENCE.sub(self._value, text) if "{" in text else text

    def _link(self, link: re.Match[str], line: int) -> str:
        """Return the text of a link, and add it."""
        macro, target, url, shown = link.groups()
        shown = shown.partition(",")[0].strip('"^')
        if url or "://" in target:
            return markdown_link(shown or url or target, url or target)
        if macro == "linkgit":
            shown = f"{target}({shown})" if shown else target
        if macro != "mailto":
            self.refer(line, self._file(target), shown or target)
        return shown or target

    def _reference(self, reference: re.Match[str], line: int) -> str:
        target, shown = reference.groups()
        if "#" in target.strip("#"):
            self.refer(line, self._file(target), shown or target)
        return (shown or target.strip("#")).strip()

    def _file(self, target: str) -> str:
        """Return the source file of a page that a link names."""
        path = target.partition("#")[0].removesuffix(".html")
        own = PurePosixPath(self.topic).suffix
        return path if PurePosixPath(path).suffix in (own, ".adoc") else path + own

    def _value(self, reference: re.Match[str]) -> str:
        if reference[0].startswith("\\"):
            return reference[0][1:]
        return self._attributes.get(reference[1], reference[0])


def _marked(text: str, item: re.Match[str] | None) -> str:
    """Return a line with the marks of a Markdown item, a title or an admonition."""
    if item:
        mark = item[1]
        text = text[item.end() :]
        if mark[0] == "<":
            return f"- ({mark[1:-1]}) {text}"
        pad = "  " * (len(mark) - 1 if mark[0] in "*." else 0)
        shown = "1." if mark[0] == "." else mark if mark[0].isdecimal() else "-"
        return f"{pad}{shown} {text}"
    if title := _TITLE.match(text):
        return f"**{title[1]}:**"
    word, colon, rest = text.partition(": ")
    if colon and word in _ADMONITIONS:
        return f"{word.capitalize()}: {rest}"
    return text.removesuffix(" +")
