"""Records: files with many rows.

JSON lines, JSON arrays and tables (CSV, TSV) are read one record at a time. An unusable record
becomes a `Bad` with its place and the reason, and reading continues.

In a corpus, every record is a document. The order of the rows has no meaning, so rows are never
linked by it.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hades.domain.rules import clean_name
from hades.errors import InvalidInput
from hades.ingest.document import Bad, Block, Document, IntroducedName, Origin, Unreadable
from hades.ingest.readers.text import megabytes
from hades.language.english.written_times import read_written_time

LINE_BYTES_AT_MOST = 16 * 1024 * 1024
ARRAY_BYTES_AT_MOST = 128 * 1024 * 1024
"""An array is parsed as a whole, which takes about eight times its size in memory."""
EXTRA_CHARACTERS_AT_MOST = 500
EXTRAS_AT_MOST = 100
"""Limits for fields without a mapping, which are kept as metadata."""

_TABLES = frozenset({".csv", ".tsv", ".tab"})
_LINES = frozenset({".jsonl", ".ndjson"})
_NAMELESS_STEMS = frozenset(
    {"corpus", "data", "dataset", "documents", "docs", "passages", "records", "rows", "train"}
)
"""Generic file names; the name of the folder is used instead."""


@dataclass(frozen=True, slots=True)
class Record:
    """The fields of one row; `where` is its file and line, for messages."""

    where: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FieldMapping:
    """The fields of a record that hold id, title, text, tags and time; None: no such field."""

    id: str = "id"
    title: str | None = "title"
    text: str = "text"
    tags: str | None = None
    when: str | None = None
    prefix: str | None = None
    """First part of every topic; None for the name of the file or of its folder."""


def read_corpus(path: Path, mapping: FieldMapping | None = None) -> Iterator[Document | Bad]:
    """Yield each record of the file as a document named `prefix/id`, or a Bad if it is not valid.

    The prefix is `mapping.prefix`, or else comes from the path.
    """
    mapping = mapping or FieldMapping()
    prefix = mapping.prefix or default_prefix(path)
    yield from converted(read_records(path), lambda record: _document(record, mapping, prefix))


class HasPlace(Protocol):
    """An item read from a file; `where` is the file and the line or number of the record."""

    @property
    def where(self) -> str: ...


Found = TypeVar("Found", bound=HasPlace)
Made = TypeVar("Made")


def converted(
    records: Iterable[Found | Bad], make: Callable[[Found], Made | None]
) -> Iterator[Made | Bad]:
    """Yield what `make` returns, unless None, or a Bad if it raises InvalidInput; pass on a Bad."""
    for record in records:
        if isinstance(record, Bad):
            yield record
            continue
        try:
            result = make(record)
        except InvalidInput as error:
            yield Bad(record.where, str(error))
            continue
        if result is not None:
            yield result


def read_records(path: Path) -> Iterator[Record | Bad]:
    """Yield each record of a JSON lines, JSON array, CSV or TSV file, or a Bad if not valid."""
    try:
        if path.suffix.lower() in _TABLES:
            yield from _table(path)
        elif _is_one_value(path):
            yield from _array(path)
        else:
            yield from _lines(path)
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.") from error


def text_field(record: Record, name: str) -> str | None:
    """Return a text or int field as stripped text, None if missing or blank; or raise."""
    value = record.fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidInput(f"The field {name!r} is {_kind(value)}, not text.")
    return str(value).strip() or None


def default_prefix(path: Path) -> str:
    """Return the prefix of topics: the file's stem, or the folder's name if the stem is generic."""
    folder = path.absolute().parent.name
    return folder if path.stem.lower() in _NAMELESS_STEMS and folder else path.stem


def _document(record: Record, mapping: FieldMapping, prefix: str) -> Document:
    if (record_id := text_field(record, mapping.id)) is None:
        raise _missing(record, mapping.id)
    topic = clean_name(f"{prefix}/{record_id}")
    if mapping.text not in record.fields:
        raise _missing(record, mapping.text)
    text = text_field(record, mapping.text) or ""
    title = (text_field(record, mapping.title) if mapping.title else None) or ""
    title = " ".join(title.split())
    if not text and not title:
        raise InvalidInput(f"The field {mapping.text!r} is empty, and there is no title.")
    if title:
        clean_name(title, "title")
    content = "\n\n".join(part for part in (title, text) if part)
    start = len(content) - len(text) if text else 0
    metadata = _extras(record, mapping)
    moment = read_written_time(record.fields.get(mapping.when)) if mapping.when else None
    if mapping.when and moment is None and (written := text_field(record, mapping.when)):
        metadata["when"] = written
    return Document(
        topic=topic,
        content=content,
        kind="record",
        title=title,
        blocks=(Block(start, len(content), heading=title),),
        names=(IntroducedName(title, Origin.TITLE),) if title else (),
        tags=_tags(record, mapping.tags) if mapping.tags else (),
        metadata=metadata,
        valid_from=moment.at if moment else None,
    )


def _missing(record: Record, name: str) -> InvalidInput:
    has = ", ".join(list(record.fields)[:10]) or "none"
    state = "empty" if name in record.fields else "missing"
    return InvalidInput(f"The field {name!r} is {state}; the fields are: {has[:200]}.")


def _tags(record: Record, name: str) -> tuple[str, ...]:
    value = record.fields.get(name)
    if value is None:
        return ()
    if isinstance(value, str):
        value = re.split(r"[,;|]", value)
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise InvalidInput(f"The field {name!r} is {_kind(value)}, not a list of texts.")
    return tuple(dict.fromkeys(clean_name(tag.strip(), "tag") for tag in value if tag.strip()))


def _extras(record: Record, mapping: FieldMapping) -> dict[str, Any]:
    mapped = {mapping.id, mapping.title, mapping.text, mapping.tags, mapping.when}
    extras = (
        (name, value)
        for name, value in record.fields.items()
        if name not in mapped
        and (
            (isinstance(value, str) and 0 < len(value) <= EXTRA_CHARACTERS_AT_MOST)
            or isinstance(value, int)
            or (isinstance(value, float) and math.isfinite(value))
        )
    )
    return dict(islice(extras, EXTRAS_AT_MOST))


def _lines(path: Path) -> Iterator[Record | Bad]:
    for where, line in _text_lines(path):
        if isinstance(line, Bad):
            yield line
        elif line.strip():
            try:
                yield _checked(where, parse_json(line))
            except (ValueError, RecursionError) as error:
                yield Bad(where, f"This is not JSON: {error}.")


def parse_json(text: str | bytes) -> Any:
    """Parse JSON. NaN, which other tools write for a missing value, becomes null."""
    return json.loads(text, parse_constant=lambda _: None)


def _checked(where: str, value: object) -> Record | Bad:
    if not isinstance(value, dict):
        return Bad(where, f"This is {_kind(value)}, not an object with fields.")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return Bad(where, "It has a lone surrogate, which is not valid Unicode.")
    return Record(where, value)


def _array(path: Path) -> Iterator[Record | Bad]:
    try:
        value = parse_json(whole_file(path))
    except (ValueError, RecursionError) as error:
        yield Bad(str(path), f"This is not JSON: {error}.")
        return
    for number, item in enumerate(value if isinstance(value, list) else [value], 1):
        yield _checked(f"{path}, record {number}", item)


def whole_file(path: Path) -> bytes:
    """Return the bytes of a file, without a byte-order mark. Raise Unreadable if too large."""
    try:
        size = path.stat().st_size
        if size > ARRAY_BYTES_AT_MOST:
            limit = megabytes(ARRAY_BYTES_AT_MOST)
            raise Unreadable(f"{path} is larger than {limit}: split it, or use JSON lines.")
        return path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.") from error


def _is_one_value(path: Path) -> bool:
    """Return whether the file is one array or object rather than one value per line."""
    if path.suffix.lower() in _LINES:
        return False
    with path.open("rb") as file:
        head = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    # An object that opens on a line of its own is one record over many lines.
    return head.startswith(b"[") or head.split(b"\n", 1)[0].strip() == b"{"


def _table(path: Path) -> Iterator[Record | Bad]:
    # The limit of the standard library (128 KB) is global: never lower it.
    csv.field_size_limit(max(csv.field_size_limit(), LINE_BYTES_AT_MOST))
    broken: list[Bad] = []
    lines = _table_lines(path, broken)
    header_line = next(lines, "")
    tabs = path.suffix.lower() != ".csv"
    delimiter = "\t" if tabs else max(",;\t|", key=header_line.count)
    header = [name.strip() for name in next(csv.reader([header_line], delimiter=delimiter), [])]
    if not any(header) or len(set(header)) < len(header):
        raise Unreadable(f"{path} needs a first line that names each column once.")
    rows = csv.reader(lines, delimiter=delimiter)
    while True:
        where = f"{path}, line {rows.line_num + 2}"
        try:
            row = next(rows, None)
        except csv.Error as error:
            yield Bad(where, f"This is not a row: {error}.")
            continue
        yield from broken
        broken.clear()
        if row is None:
            return
        if len(row) > len(header):
            yield Bad(where, f"It has {len(row)} cells where the header names {len(header)}.")
        elif row:
            yield Record(
                where, {name: cell or None for name, cell in zip(header, row, strict=False)}
            )


def _table_lines(path: Path, broken: list[Bad]) -> Iterator[str]:
    """Yield lines for the CSV parser. For a broken line, yield a blank one and fill `broken`."""
    for _, line in _text_lines(path):
        if isinstance(line, Bad):
            broken.append(line)
            yield "\n"
        else:
            yield line


def _text_lines(path: Path) -> Iterator[tuple[str, str | Bad]]:
    """Yield (`file, line N`, line) for each line; one that is too long or not UTF-8 is a Bad."""
    with path.open("rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise Unreadable(f"{path} is UTF-16: save it as UTF-8.")
        file.seek(0)
        number = 0
        while line := file.readline(LINE_BYTES_AT_MOST):
            number += 1
            where = f"{path}, line {number}"
            if len(line) == LINE_BYTES_AT_MOST and not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = file.readline(LINE_BYTES_AT_MOST)
                limit = megabytes(LINE_BYTES_AT_MOST)
                yield where, Bad(where, f"The line is longer than {limit}.")
                continue
            try:
                yield where, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                yield where, Bad(where, f"The line is not UTF-8 after byte {error.start}.")


def _kind(value: object) -> str:
    kinds = {bool: "true or false", dict: "an object", list: "a list", str: "a text"}
    return kinds.get(type(value), "a number" if isinstance(value, int | float) else "null")
