"""reStructuredText as Markdown, with the directives and roles of Sphinx.

One pass over the lines, after the specification of docutils
(https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html) and Sphinx's list of directives
(https://www.sphinx-doc.org/en/master/usage/restructuredtext/). Nothing is executed: an `include`
becomes a link to its file.
"""

from __future__ import annotations

import csv
import re
from itertools import zip_longest
from pathlib import PurePosixPath

from hades.ingest.document import Document
from hades.ingest.readers.markdown import markdown_link
from hades.ingest.readers.text import decode, one_line, read_text
from hades.ingest.readers.translation import Translation, with_breaks
from hades.language.english.lexicon import word_set

HEAD_CHARACTERS = 20_000
"""How much of a text file is searched for a directive and a heading, which show this markup."""

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}$")
_EXPLICIT = re.compile(r"\.\.(?:[ \t]|$)")
_DIRECTIVE = re.compile(
    r"\.\.[ \t]+(?:\|([^|]{1,100})\|[ \t]+)?([A-Za-z][\w:.+-]{0,60})::(?:[ \t]+(.*))?$"
)
_TARGET = re.compile(r"\.\.[ \t]+_(?:`([^`]{1,200})`|((?:[^:\\]|\\.){1,200})):(?:[ \t]+(\S.*))?$")
_FOOTNOTE = re.compile(r"\.\.[ \t]+(\[[^\]\[]{1,60}\])[ \t]*(.*)$")
_ITEM = re.compile(r"(?:[-*+•]|#\.|\(?(?:\d{1,4}|[a-zA-Z])[.)])[ \t]+(?=\S)")
_NUMBERED_ITEM = re.compile(r"\(?(\d{1,4})[.)]")
_FIELD = re.compile(r":([^:`\s][^:`]{0,80}):(?:[ \t]+(.*))?$")
_HEADER = re.compile(r"([A-Z][A-Za-z-]{1,30}):(?:[ \t]+(.*))?$")
"""A field of the header of a Python Enhancement Proposal."""
_GRID = re.compile(r"\+(?:[-=]+\+)+$")
_SIMPLE = re.compile(r"=+(?:[ \t]+=+)+$")
_COLUMN = re.compile(r"=+")
_SIGNATURE = re.compile(r"[A-Za-z_][\w.-]*")

_ROLE = re.compile(r"(?<![\w:]):([a-zA-Z][\w.+:-]{0,40}):`([^`]{1,500})`")
_TITLED = re.compile(r"([^<>]{0,300})<([^<>]{1,500})>$")
_PHRASE = re.compile(r"(?<![`\w:])`([^`]{1,500})`__?(?!\w)")
_LITERAL = re.compile(r"``([^`]{1,500})``")
_WORD_REFERENCE = re.compile(r"(?<![\w`.-])([A-Za-z0-9][\w.-]{0,80}?)__?(?![\w`])")
_FOOTNOTE_MARK = re.compile(r"(?<=\])_(?!\w)")
_SUBSTITUTION = re.compile(r"\|([^|\s][^|\n]{0,100})\|_{0,2}")
_ESCAPE = re.compile(r"\\([ *`_|\\])")
_FOUND_IN_TEXT = re.compile(r"^\.\. [a-z][\w:-]{0,40}::", re.MULTILINE)
_FOUND_HEADING = re.compile(r"^\S[^\n]{2,100}\n([=\-~^*#])\1{3,}$", re.MULTILINE)

_CODE = word_set(
    """code-block code sourcecode console parsed-literal productionlist math doctest testcode
    ipython prompt graphviz mermaid"""
)
_UNSEEN = word_set(
    """contents index meta image raw highlight program role default-role default-domain testsetup
    sectionauthor moduleauthor codeauthor testcleanup target-notes sectnum tags autosummary
    automodule autoclass autofunction class-diagram"""
)
_INCLUDES = frozenset(["include", "literalinclude"])
_CONTAINERS = word_set("""figure only ifconfig container rst-class epigraph tabs glossary list""")
_ROOTS = frozenset(["doc", "docs", "source"])
"""Usual names of the folder that absolute names of documents begin at."""
_MODULES = frozenset(["module", "currentmodule"])
_TITLES = word_set("admonition topic sidebar rubric tab tab-item dropdown card table")
_PREFIXES = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
    "seealso": "See also",
    **{
        name: name.capitalize()
        for name in word_set("note warning tip important caution danger error hint attention todo")
    },
}
_PLAIN_ROLES = word_set(
    """abbr code command dfn file guilabel kbd keyword literal mailheader math menuselection
    mimetype newsgroup program raw regexp samp sub sup token"""
)
_TEXT_ROLES = word_set("ref doc term numref abbr sup sub pep rfc")


def read_rst(raw: bytes, topic: str) -> Document:
    """Read a file of reStructuredText."""
    content, metadata = decode(raw, topic)
    translation = _Rst(content, topic)
    return translation.document(metadata, translation.header())


def read_text_or_rst(raw: bytes, topic: str) -> Document:
    """Read a text file; as reStructuredText if it has a directive and an underlined heading."""
    head = decode(raw, topic)[0][:HEAD_CHARACTERS].replace("\r\n", "\n")
    is_rst = _FOUND_IN_TEXT.search(head) and _FOUND_HEADING.search(head)
    return read_rst(raw, topic) if is_rst else read_text(raw, topic)


class _Rst(Translation):
    def __init__(self, content: str, topic: str) -> None:
        super().__init__(content, topic)
        self._levels: list[str] = []
        """The adornments of headings, in the order of their levels."""
        self._targets: dict[str, str] = {}
        self._substitutions: dict[str, str] = {}
        self._labels: list[str] = []
        """Labels that wait for the heading or entry after them."""
        self._items: list[int] = []
        self._module = ""
        borders = (at for at in range(len(self.lines) - 1, 0, -1) if self._ends_table(at))
        self._last_table_end = next(borders, 0)

    def header(self) -> int:
        """Write the header of a Python Enhancement Proposal and return the line after it."""
        if not self.lines or not _HEADER.match(self.lines[0]):
            return 0
        end = self.until(0, lambda at: not self.lines[at])
        fields: dict[str, str] = {}
        for number in range(end):
            if field := _HEADER.match(self.lines[number]):
                fields[field[1]] = field[2] or ""
                self.prose(number, f"- {field[1]}: {field[2]}" if field[2] else "")
            else:
                self.prose(number, self.lines[number].strip())
        named = f"PEP {fields['PEP']} – " if "PEP" in fields else ""
        self.above = one_line(named + fields.get("Title", ""))
        return end

    def line(self, number: int) -> int:
        indent = self.indent(number)
        text = self.lines[number].strip()
        if self.open and self.open[-1].indent >= indent and not self._joins(number):
            kept = sum(entry.indent < indent for entry in self.open)
            self.close(kept, number)
        if _EXPLICIT.match(text):
            return self._explicit(number, indent, text)
        if text.startswith("__ "):
            return number + 1
        if end := self._heading(number, text) or self._table(number, text):
            return end
        if _ADORNMENT.match(text) and len(text) > 3:
            return number + 1
        if text.startswith(">>> "):
            end = self.until(number, lambda at: not self.lines[at])
            self.code(number, end, "pycon")
            return end
        if field := _FIELD.match(text):
            self.prose(number, f"- {field[1]}: {field[2]}" if field[2] else "")
            return number + 1
        if item := _ITEM.match(text):
            return self._item(number, indent, item[0], text[item.end() :])
        if text.startswith("| "):
            text = text[2:]
        after = number + 1
        begins = not number or not self.lines[number - 1] or self.indent(number - 1) > indent
        is_deeper = (
            after < len(self.lines) and bool(self.lines[after]) and self.indent(after) > indent
        )
        if begins and is_deeper and not text.endswith("::"):
            self.entry(number, _LITERAL.sub(r"\1", text), text)
            self._label(number)
            return after
        return self._prose(number, indent, text)

    def _joins(self, number: int) -> bool:
        """Return whether a directive stands directly below one that has no description yet."""
        bare = self.bare
        is_below = bare is not None and bare.indent == self.indent(number)
        return is_below and bool(self.lines[number - 1]) and self.lines[number].lstrip()[:2] == ".."

    def _item(self, number: int, indent: int, mark: str, text: str) -> int:
        while self._items and self._items[-1] >= indent:
            self._items.pop()
        pad = "  " * min(len(self._items), 4)
        self._items.append(indent)
        counted = _NUMBERED_ITEM.match(mark)
        if text.startswith(("- ", "* ")):
            text = text[2:]
        return self._prose(number, indent, f"{pad}{f'{counted[1]}.' if counted else '-'} {text}")

    def _prose(self, number: int, indent: int, text: str) -> int:
        """Write a line of prose, and the code after it if it ends with two colons."""
        if not text.endswith("::"):
            self.prose(number, text)
            return number + 1
        self.prose(number, "" if text == "::" else text[:-1])
        end = self.body_end(number + 1, indent)
        self.code(number + 1, end)
        return end

    def _heading(self, number: int, text: str) -> int:
        """Write a heading and return the line after it, or 0 if there is none."""
        over = _ADORNMENT.match(text)
        title = number + 1 if over else number
        under = title + 1
        if under >= len(self.lines) or not self.lines[title] or self.indent(under):
            return 0
        line = self.lines[under]
        if not _ADORNMENT.match(line) or (over and line != text):
            return 0
        name = self.lines[title].strip()
        if (not over and self.indent(number)) or _ADORNMENT.match(name):
            return 0
        if len(line) < min(4, len(name)) or name.startswith(".. "):
            return 0
        kind = line[0] * (2 if over else 1)
        if kind not in self._levels:
            self._levels.append(kind)
        self.heading(title, self._levels.index(kind) + 1, name)
        self._label(title)
        return under + 1

    def _label(self, number: int) -> None:
        """Introduce the labels before a heading or an entry as its names."""
        for label in self._labels:
            self.introduce(number, label)
        self._labels.clear()

    # Explicit markup: what begins with two points

    def _explicit(self, number: int, indent: int, text: str) -> int:
        if directive := _DIRECTIVE.match(text):
            name = directive[2].lower()
            argument = (directive[3] or "").strip()
            if directive[1]:
                if name == "replace":
                    self._substitutions[directive[1]] = one_line(argument)
                return self.body_end(number + 1, indent)
            return self._directive(number, indent, name.rpartition(":")[2], argument)
        if target := _TARGET.match(text):
            label = one_line(target[1] or target[2])
            if target[3]:
                self._targets[label.lower()] = target[3].strip().strip("`")
            else:
                self._labels.append(label)
            return number + 1
        if note := _FOOTNOTE.match(text):
            self.prose(number, f"{note[1]} {note[2]}")
            return number + 1
        return (
            self.body_end(number + 1, indent)
            if self.lines[number + 1 :][:1] != [""]
            else number + 1
        )

    def _directive(self, number: int, indent: int, name: str, argument: str) -> int:
        after = self.until(number + 1, lambda at: not _FIELD.match(self.lines[at].strip()))
        if name in _CODE:
            end = self.body_end(number + 1, indent)
            language = one_line(argument, 20) if name == "code-block" else ""
            self.code(after, end, language, free=range(number, after))
            return end
        if name in _UNSEEN or name in _MODULES:
            if name in _MODULES:
                self._module = argument
            return self.body_end(number + 1, indent)
        if name == "toctree":
            return self._toctree(after, indent)
        if name in _INCLUDES:
            self.refer(number, argument, argument)
            self.prose(number, f"Includes `{argument}`.")
            return self.body_end(number + 1, indent)
        if name in ("list-table", "csv-table"):
            return self._listed_table(number, after, indent, name)
        if name in _TITLES and argument:
            self.prose(number, f"**{argument.rstrip(':')}:**")
        elif name in _PREFIXES:
            self._admonition(number, name, argument)
        elif argument and name not in _CONTAINERS:
            self._object(number, name, argument)
        return after

    def _admonition(self, number: int, name: str, argument: str) -> None:
        """Write an admonition that has its text here, or keep its word for the next paragraph."""
        word = _PREFIXES[name]
        if " version" in word:
            version, _, argument = argument.partition(" ")
            word = f"{word} {version}"
        self.prefix = f"{word}: "
        if argument:
            self.prose(number, argument)

    def _object(self, number: int, name: str, argument: str) -> None:
        """Begin the description of a symbol, an option or a setting.

        A directive above a heading, as above that of a setting, only names the section.
        """
        signature = _SIGNATURE.search(argument)
        if signature:
            self._labels.append(signature[0])
        if signature and self._module:
            self._labels.append(f"{self._module}.{signature[0]}")
        term = argument.replace("`", "")
        shown = f"{name} `{term}`"
        below = self.until(number + 1, lambda at: bool(self.lines[at]))
        text = "".join(self.lines[below : below + 1])
        is_stacked = below == number + 1 and _EXPLICIT.match(text.lstrip())
        if is_stacked or (text and self.indent(below) > self.indent(number)):
            self.entry(number, term, shown, joins=self._joins(number))
            self._label(number)
        elif not any(map(_ADORNMENT.match, self.lines[below : below + 2])):
            self.prose(number, shown)

    def _toctree(self, first: int, indent: int) -> int:
        """Read the entries of a table of contents as links; they are no passage."""
        end = self.body_end(first, indent)
        for number in range(first, end):
            entry = self.lines[number].strip()
            titled = _TITLED.match(entry)
            if entry and "*" not in entry:
                self.refer(number, self._file(titled[2] if titled else entry), entry)
        return end

    def _file(self, document: str) -> str:
        """Return the file that a document's name without a suffix means."""
        if "://" in document:
            return document
        folders = PurePosixPath(self.topic).parts[:-1]
        root = next((at for at, name in enumerate(folders) if name.lower() in _ROOTS), 0)
        if document.startswith("/"):
            document = "/" + "/".join([*folders[: root + 1], document[1:]])
        return document + PurePosixPath(self.topic).suffix

    # Tables

    def _table(self, number: int, text: str) -> int:
        """Write a grid or a simple table and return the line after it, or 0 if there is none."""
        if _GRID.match(text):
            end = self.until(number, lambda at: not self.lines[at].strip().startswith(("+", "|")))
            rows = self._grid_rows(number, end)
        elif _SIMPLE.match(text) and number < self._last_table_end:
            end = self.until(number + 1, self._ends_table) + 1
            rows = self._simple_rows(number, end)
        else:
            return 0
        self.rows(number, end, rows)
        return end

    def _ends_table(self, number: int) -> bool:
        is_border = _SIMPLE.match(self.lines[number].strip())
        return bool(is_border) and not any(self.lines[number + 1 : number + 2])

    def _grid_rows(self, first: int, end: int) -> list[list[str]]:
        rows: list[list[str]] = []
        begins = True
        for number in range(first, end):
            line = self.lines[number].strip()
            if line.startswith("+"):
                begins = True
                continue
            add_cells(rows, line.strip("|").split("|"), begins)
            begins = False
        return rows

    def _simple_rows(self, first: int, end: int) -> list[list[str]]:
        pad = self.indent(first)
        border = self.lines[first].strip()
        starts = [column.start() for column in _COLUMN.finditer(border)]
        rows: list[list[str]] = []
        for number in range(first, end):
            line = self.lines[number].expandtabs(8)[pad:]
            if line.strip("=- "):
                ends = [*starts[1:], len(line)]
                cells = [line[at:until] for at, until in zip(starts, ends, strict=True)]
                add_cells(rows, cells, begins=bool(cells[0].strip()))
        return rows

    def _listed_table(self, number: int, first: int, indent: int, name: str) -> int:
        """Write a table that is given as nested lists or as CSV."""
        end = self.body_end(first, indent)
        rows: list[list[str]] = []
        if name == "csv-table":
            fields = [_FIELD.match(self.lines[at].strip()) for at in range(number + 1, first)]
            lines = [field[2] or "" for field in fields if field and field[1] == "header"]
            lines += [self.lines[at].strip() for at in range(first, end) if self.lines[at]]
            rows += [cells for cells in csv.reader(lines, skipinitialspace=True) if cells]
        for at in range(first, end) if name == "list-table" else ():
            text = self.lines[at].strip()
            if text.startswith("* "):
                rows.append([])
            cell = text.removeprefix("* ").strip()
            if rows and (cell == "-" or cell.startswith("- ")):
                rows[-1].append(cell[2:])
            elif rows and rows[-1]:
                rows[-1][-1] += f" {cell}"
        self.rows(number, end, rows)
        return end

    # Inline markup

    def inline(self, text: str, line: int) -> str:
        if "|" in text and self._substitutions:
            text = _SUBSTITUTION.sub(lambda m: self._substitutions.get(m[1], m[0]), text)
        if "`" in text:
            text = _ROLE.sub(lambda m: with_breaks(self._role(m[1], m[2], line), m[0]), text)
            text = _PHRASE.sub(lambda m: with_breaks(self._phrase(m[1], line), m[0]), text)
            text = _LITERAL.sub(r"`\1`", text)
        if "_" in text:
            text = _FOOTNOTE_MARK.sub("", text)
            if self._targets:
                text = _WORD_REFERENCE.sub(lambda m: self._word(m[1]) or m[0], text)
        return _ESCAPE.sub(lambda m: m[1].strip(), text) if "\\" in text else text

    def _role(self, role: str, body: str, line: int) -> str:
        """Return the text that a role shows, and add its link."""
        name = role.rpartition(":")[2]
        titled = _TITLED.match(body)
        target = " ".join((titled[2] if titled else body).split()).lstrip("!~.")
        if titled and titled[1].strip():
            shown = titled[1].strip()
        elif name in ("pep", "rfc"):
            shown = f"{name.upper()} {target}"
        else:
            shown = target.rpartition(".")[2] if body.startswith("~") else body.lstrip("!.")
        if name not in _PLAIN_ROLES and not body.startswith("!"):
            self.refer(line, self._place(name, target), shown)
        is_text = titled or name in _TEXT_ROLES
        return shown if is_text else f"`{shown}`"

    def _place(self, role: str, target: str) -> str:
        """Return what a role refers to: a file, an address or a name."""
        number = target.partition("#")[0]
        if role == "doc":
            return self._file(target)
        if role == "pep" and number.isdecimal():
            proposal = f"pep-{int(number[:6]):04}"
            is_beside = PurePosixPath(self.topic).name.startswith("pep-")
            return self._file(proposal) if is_beside else f"https://peps.python.org/{proposal}/"
        if role == "rfc" and number.isdecimal():
            return f"https://www.rfc-editor.org/rfc/rfc{number}"
        return f"name:{target}"

    def _phrase(self, body: str, line: int) -> str:
        titled = _TITLED.match(body)
        if titled and not titled[2].endswith("_"):
            return markdown_link(titled[1].strip() or titled[2], titled[2])
        shown = (titled[1] if titled else body).strip()
        key = (titled[2].rstrip("_") if titled else shown).lower()
        return self._word(" ".join(key.split()), shown) or shown

    def _word(self, name: str, shown: str = "") -> str:
        """Return the link of a hyperlink reference, or "" if its target is unknown."""
        target = self._targets.get(name.lower(), "")
        return markdown_link(shown or name, target) if target and not target.endswith("_") else ""


def add_cells(rows: list[list[str]], cells: list[str], begins: bool) -> None:
    """Add a line of a table: as a new row, or to the cells of the last one."""
    if begins or not rows:
        rows.append([cell.strip() for cell in cells])
        return
    rows[-1] = [
        f"{cell} {more.strip()}" for cell, more in zip_longest(rows[-1], cells, fillvalue="")
    ]
