"""Plain text and settings: decodes the bytes of a file and divides the text into paragraphs.

Text is UTF-8 unless a byte-order mark says otherwise. Other files are decoded as Windows-1252, the
usual encoding of old Western text; the metadata then names the encoding.

Functions for all readers are here too: size limits, single lines, titles from file names.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import PurePosixPath

from hades.ingest.document import Block, Document, Unreadable

RAW_BYTES_AT_MOST = 200 * 2**20
LINE_CHARACTERS_AT_MOST = 160
SETTINGS_CHARACTERS_AT_MOST = 400_000
"""Larger files of settings are generated data, such as lists of locked versions."""

CONTROL_SHARE_AT_MOST = 0.02
"""Random bytes have 10 %. A log with colour codes has none, because ESC is not counted."""

STRAY_SHARE_AT_MOST = 0.1
"""A text is read as UTF-8 if at most this share of its characters beyond ASCII is broken. So a
log that is cut inside a character is not read as Windows-1252."""

_text_characters_at_most = 64 * 2**20
"""Limit of one document; workers set it from their settings."""

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""UTF-32 first, because its mark begins with that of UTF-16."""

_CONTROL = re.compile(r"[\x00-\x06\x0e-\x19\x1c-\x1f\x7f-\x84\x86-\x9f]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_LINE_BREAK = re.compile(r"\r\n?|\n")
_SECTION = re.compile(r"\[{1,2}([^\[\]]{1,200})\]{1,2}\s*(?:[#;].*)?$")
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}")

FOLDER_FILES = frozenset({"readme", "index"})
"""Files that stand for their folder. As names they would link all folders to each other."""


def read_text(raw: bytes, topic: str) -> Document:
    """Read a text file. It introduces no name, because file names say little about a text."""
    content, metadata = decode(raw, topic)
    blocks = tuple(Block(start, end) for start, end in paragraphs(content))
    return Document(topic, content, title=stem_of(topic), blocks=blocks, metadata=metadata)


def read_settings(raw: bytes, topic: str) -> Document:
    """Read a file of settings, styles, statements or a template, cut at sections and paragraphs.

    A section in brackets, as in TOML and INI, becomes part of the heading. The heading begins with
    the topic, because a setting alone says little.
    """
    content, metadata = decode(raw, topic)
    if len(content) > SETTINGS_CHARACTERS_AT_MOST:
        raise Unreadable(f"{topic} is data rather than text: it has {len(content):,} characters.")
    starts = [
        (start, section[1].strip())
        for start, end in line_spans(content)
        if content.startswith("[", start) and (section := _SECTION.match(content[start:end]))
    ]
    blocks = []
    for (start, name), (end, _) in zip(
        [(0, ""), *starts], [*starts, (len(content), "")], strict=True
    ):
        heading = f"{topic} > {name}" if name else topic
        inside = paragraphs(content[start:end])
        blocks += [Block(start + first, start + last, heading) for first, last in inside]
    return Document(topic, content, title=stem_of(topic), blocks=tuple(blocks), metadata=metadata)


def paragraphs(content: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of consecutive lines that are not blank."""
    lines = line_spans(content)
    for has_text, group in groupby(lines, lambda span: bool(content[slice(*span)].strip())):
        if has_text:
            spans = list(group)
            yield spans[0][0], spans[-1][1]


def line_spans(content: str, start: int = 0) -> Iterator[tuple[int, int]]:
    r"""Yield start and end of every line from `start` on, without the line break.

    A line ends with `\n`, `\r\n` or `\r`, as in editors. Other characters that end a line for
    `str.splitlines` (form feed, U+2028 …) are part of the line.
    """
    for match in _LINE_BREAK.finditer(content, start):
        yield start, match.start()
        start = match.end()
    if start < len(content):
        yield start, len(content)


def decode(raw: bytes, topic: str) -> tuple[str, dict[str, str]]:
    """Return the text, and metadata: its encoding if not UTF-8. Raise Unreadable if not text."""
    if not raw:
        raise Unreadable(f"{topic} is empty.")
    text, encoding = _decoded(raw, topic)
    if "\x00" in text or len(_CONTROL.findall(text)) > len(text) * CONTROL_SHARE_AT_MOST:
        raise _binary(topic)
    if not text.strip():
        raise Unreadable(f"{topic} is empty.")
    check_text(len(text), topic)
    return text, {} if encoding == "utf-8" else {"encoding": encoding}


def _decoded(raw: bytes, topic: str) -> tuple[str, str]:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            try:
                return raw.decode(encoding), encoding
            except UnicodeDecodeError as error:
                name = encoding.upper()
                raise Unreadable(f"{topic} begins as {name} but is not: {error}.") from error
    if b"\x00" in raw:
        raise _binary(topic)
    raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return raw.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    repaired = raw.decode("utf-8", "replace")
    if repaired.count("\ufffd") < len(_BEYOND_ASCII.findall(repaired)) * STRAY_SHARE_AT_MOST:
        return repaired, "utf-8 with errors"
    return raw.decode("cp1252", "replace"), "cp1252"


def _binary(topic: str) -> Unreadable:
    return Unreadable(f"{topic} is binary, not text: no reader knows what is in it.")


def check_size(count: int, topic: str) -> None:
    """Raise Unreadable if a file of `count` bytes is too large to be read at once."""
    if count > RAW_BYTES_AT_MOST:
        raise Unreadable(
            f"{topic} has {megabytes(count)}, more than the {megabytes(RAW_BYTES_AT_MOST)} "
            "that are read at once: split it."
        )


def limit_text(characters: int) -> None:
    """Set how many characters a document may have, for this process."""
    global _text_characters_at_most
    _text_characters_at_most = characters


def check_text(characters: int, topic: str) -> None:
    """Raise Unreadable if a document has more characters than the limit."""
    if characters > _text_characters_at_most:
        raise Unreadable(
            f"{topic} has more than {_text_characters_at_most:,} characters of text: split it."
        )


def megabytes(count: int) -> str:
    """Return a number of bytes as text in megabytes.

    >>> megabytes(200 * 2**20)
    '200 MB'
    """
    return f"{count / 2**20:,.0f} MB"


def one_line(text: str, characters: int = LINE_CHARACTERS_AT_MOST) -> str:
    """Return text as a single line of at most `characters`, shortened with an ellipsis.

    >>> one_line("Multi\\n head", 8)
    'Multi h…'
    """
    line = " ".join(plain(text).split())
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"


def plain(text: str) -> str:
    """Remove NUL characters and replace lone surrogates, since no store accepts them."""
    text = text.replace("\x00", "")
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def without_brackets(text: str, pair: str, instead: str = "") -> str:
    """Replace each pair of brackets and the text in it, nested ones too, by `instead`.

    >>> without_brackets("Ann (MIT (Boston)), Bob", "()")
    'Ann , Bob'
    """
    kept: list[str] = []
    opened: list[int] = []
    for character in text:
        if character == pair[0]:
            opened.append(len(kept))
        elif character == pair[1] and opened:
            del kept[opened.pop() :]
            character = instead
        kept.append(character)
    return "".join(kept)


def stem_of(topic: str) -> str:
    """Return the title of a document that states none: its file name without the suffix.

    >>> stem_of("wiki/approach_x.md"), stem_of("hades/README.md"), stem_of("README")
    ('approach x', 'hades', 'README')

    Underscores become spaces, because other texts write "approach x". Some names have a full stop
    but no suffix: `people/J. R. Smith`, `plan 2.0`.
    """
    path = PurePosixPath(topic)
    stem = path.stem if _SUFFIX.fullmatch(path.suffix) else path.name
    if stem.lower() in FOLDER_FILES and path.parent.name:
        return path.parent.name
    return stem.replace("_", " ").strip() or topic
