"""Reading: from a source to documents that can be stored.

This handles untrusted bytes, so it runs in a worker process (workers.py). The result is plain: a
text, its packed outline and a few values, never the parts of a document as objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from hades.ingest.document import Bad, Document, Unreadable, pack_document
from hades.ingest.readers import reader_for
from hades.ingest.readers.text import one_line

READER_VERSION = b"4"
"""Part of every fingerprint. Raise it when readers return other documents for the same bytes."""
PARTS_AT_MOST = 500_000
"""Limit of blocks of one document. Each takes about 300 bytes of memory until it is cut."""

HEAD_BYTES = 64 * 1024

_RECORD_SUFFIXES = frozenset({".jsonl", ".ndjson"})
_CHAT_KEYS = (b'"mapping"', b'"chat_messages"', b'"message', b'"role"', b'"content"', b'"text"')
"""A JSON file without any of these in its first HEAD_BYTES is not a chat."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One source to read."""

    path: str
    topic: str
    many: bool = False
    """Whether it may hold many documents: records, or the sessions of a chat."""
    prefix: str = ""
    fields: Mapping[str, str] | None = None
    rooted: str = ""
    """The path of a source file from the root of its package, if known."""
    data: bytes | None = None
    """The content, if it is not to be read from the path."""


def holds_many(path: Path, fields: Mapping[str, str] | None) -> bool:
    """Return whether a path may hold many documents, by suffix and head; with `fields`, always."""
    suffix = path.suffix.lower()
    if fields is not None or suffix in _RECORD_SUFFIXES:
        return True
    if suffix == ".json":
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        return any(key in head for key in _CHAT_KEYS)
    if suffix != ".txt" and not path.is_dir():
        return False
    from hades.ingest.readers.chats import looks_like_chat

    return looks_like_chat(path)


def read(task: Task) -> Iterator[Document | Bad]:
    """Yield the documents of a source. An error becomes a `Bad`; only MemoryError is raised."""
    path = Path(task.path)
    try:
        if task.many:
            yield from _marked(_documents(path, task))
        elif (reader := reader_for(path, task.rooted)) is None:
            yield Bad(task.topic, f"No reader knows files like {path.suffix or path.name}.")
        else:
            data = path.read_bytes() if task.data is None else task.data
            yield _packed(reader(data, task.topic), fingerprint([data]))
    except Unreadable as error:
        yield Bad(task.topic, str(error))
    except OSError as error:
        yield Bad(task.topic, f"It cannot be read: {error.strerror or error}.")
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a failing parser costs one file
        why = one_line(f"{type(error).__name__}: {error}")
        yield Bad(task.topic, f"It is damaged or not what its name says ({why}).")


def _documents(path: Path, task: Task) -> Iterator[Document | Bad]:
    """Return an iterator over a source's documents. Raise Unreadable if no reader fits."""
    # Imported here, because most workers read other files and should start fast.
    from hades.ingest.readers.arxiv import looks_like_paper, read_arxiv
    from hades.ingest.readers.chats import looks_like_chat, read_chats
    from hades.ingest.readers.records import FieldMapping, Record, read_corpus, read_records
    from hades.ingest.readers.triples import looks_like_triple

    if task.fields is not None:
        return read_corpus(path, FieldMapping(**task.fields))
    if path.suffix.lower() in _RECORD_SUFFIXES:
        records = (record for record in read_records(path) if isinstance(record, Record))
        first = next((record.fields for record in records), {})
        if looks_like_paper(first):
            return read_arxiv(path)
        if looks_like_triple(first):
            raise Unreadable(f"{path.name} holds triples: use `hades import-triples`.")
        if not looks_like_chat(path):
            return read_corpus(path, FieldMapping(prefix=task.prefix) if task.prefix else None)
    elif not looks_like_chat(path):
        if (reader := reader_for(path)) is None:
            raise Unreadable(f"No reader knows files like {path.suffix}, other than chats.")
        return iter([reader(path.read_bytes(), task.topic)])
    return read_chats(path, task.prefix or path.stem)


def _marked(documents: Iterable[Document | Bad]) -> Iterator[Document | Bad]:
    """Yield documents packed, each with a fingerprint of its content and tags; pass on a Bad."""
    for document in documents:
        if isinstance(document, Bad):
            yield document
        else:
            marked = json.dumps([document.content, list(document.tags)], ensure_ascii=False)
            yield _packed(document, fingerprint([marked.encode()]))


def _packed(document: Document, mark: bytes) -> Document:
    if len(document.blocks) > PARTS_AT_MOST:
        raise Unreadable(f"{document.topic} has more than {PARTS_AT_MOST:,} parts: split it.")
    outline = pack_document(document)
    return replace(document, blocks=(), names=(), links=(), outline=outline, fingerprint=mark)


def fingerprint(parts: Iterable[bytes]) -> bytes:
    """Return the hash of a source and READER_VERSION; an unchanged source has the same hash."""
    hashed = blake2b(READER_VERSION, digest_size=16)
    for part in parts:
        hashed.update(part)
    return hashed.digest()
