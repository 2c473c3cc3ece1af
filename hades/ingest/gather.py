"""Gathering: what a path given to `ingest` holds, as documents that may have changed.

A folder is its files; a file of records (JSON lines, a chat export) is many documents; any
other file is one. Each comes with a fingerprint of what was read, so that an unchanged one
costs no more than that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from hades.domain.rules import clean_name
from hades.errors import InvalidInput
from hades.ingest.document import Document, Unreadable
from hades.ingest.facts import looks_like_triple
from hades.ingest.readers import reader_for
from hades.ingest.readers.arxiv import looks_like_paper, read_arxiv
from hades.ingest.readers.chats import looks_like_chat, read_chats
from hades.ingest.readers.records import Bad, FieldMapping, Record, read_corpus, read_records
from hades.ingest.walk import Unwalkable, walk

READER_VERSION = b"2"
"""Part of every fingerprint: raised when readers give other documents for the same bytes."""

_RECORD_SUFFIXES = frozenset({".jsonl", ".ndjson"})


@dataclass(frozen=True, slots=True)
class Item:
    """A document that may have changed: read it only if its fingerprint is new."""

    topic: str
    fingerprint: bytes
    read: Callable[[], Document]


@dataclass(frozen=True, slots=True)
class Root:
    """One path given to `ingest`."""

    path: Path
    prefix: str
    fields: FieldMapping | None
    name: str
    """How the store knows it."""


def root_of(
    path: Path, prefix: str | None, fields: Mapping[str, str] | None, name: str | None = None
) -> Root:
    """A path given to `ingest`, checked; `name` is what it is known by instead of its path."""
    if "\0" in str(path):
        raise InvalidInput("A path cannot hold a NUL character.")
    path = path.expanduser()
    path = path.resolve()
    mapping = None
    if fields is not None:
        try:
            mapping = FieldMapping(**dict(fields), **({"prefix": prefix} if prefix else {}))
        except TypeError as error:
            raise InvalidInput(f"The field mapping is wrong: {error}.") from error
    prefix = path.name if prefix is None and path.is_dir() else prefix or ""
    known_by = str(path) if name is None else clean_name(name, "source")
    return Root(path, prefix, mapping, known_by)


def gather(root: Root) -> Iterator[Item | Bad]:
    """Everything a root holds."""
    if not root.path.exists():
        yield Bad(str(root.path), "There is nothing there to ingest.")
        return
    if root.path.is_dir():
        if looks_like_chat(root.path):
            yield from _records(read_chats(root.path, root.prefix or root.path.name))
            return
        for path in walk(root.path):
            if isinstance(path, Unwalkable):
                yield Bad(str(path.path), f"It cannot be looked at: {path.why}.")
                continue
            relative = path.relative_to(root.path).as_posix()
            yield from _file(root, path, f"{root.prefix}/{relative}".lstrip("/"))
    else:
        name = f"{root.prefix}/{root.path.name}" if root.prefix else root.path.name
        yield from _file(root, root.path, name)


def _file(root: Root, path: Path, topic: str) -> Iterator[Item | Bad]:
    try:
        many = _documents_of(root, path)
        if many is not None:
            yield from _records(many)
            return
        reader = reader_for(path)
        if reader is None:
            yield Bad(topic, f"No reader knows files like {path.suffix or path.name}.")
            return
        data = path.read_bytes()
    except Unreadable as error:
        yield Bad(topic, str(error))
        return
    except OSError as error:
        yield Bad(topic, f"It cannot be read: {error.strerror or error}.")
        return
    yield Item(topic, fingerprint(data), lambda: reader(data, topic))


def _documents_of(root: Root, path: Path) -> Iterator[Document | Bad] | None:
    """The documents of a file that holds many; None for a file that is one."""
    if root.fields is not None:
        return read_corpus(path, root.fields)
    suffix = path.suffix.lower()
    if suffix in _RECORD_SUFFIXES:
        records = (record for record in read_records(path) if isinstance(record, Record))
        first = next((record.fields for record in records), {})
        if looks_like_paper(first):
            return read_arxiv(path)
        if looks_like_triple(first):
            raise Unreadable(f"{path.name} holds triples: use `hades import-triples`.")
    if suffix in (*_RECORD_SUFFIXES, ".json", ".txt") and looks_like_chat(path):
        return read_chats(path, root.prefix or path.stem)
    if suffix in _RECORD_SUFFIXES:
        return read_corpus(path, FieldMapping(prefix=root.prefix) if root.prefix else None)
    return None


def _records(documents: Iterator[Document | Bad]) -> Iterator[Item | Bad]:
    try:
        for document in documents:
            if isinstance(document, Bad):
                yield document
            else:
                told = json.dumps([document.content, list(document.tags)], ensure_ascii=False)
                mark = fingerprint(told.encode())
                yield Item(document.topic, mark, lambda document=document: document)  # type: ignore[misc]
    except Unreadable as error:
        yield Bad("", str(error))


def fingerprint(data: bytes) -> bytes:
    """The hash by which an unchanged source is known."""
    return blake2b(READER_VERSION + data, digest_size=16).digest()
