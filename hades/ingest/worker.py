"""A worker: the process in which files are parsed, one after the other.

It gets tasks on its standard input and answers on its standard output, both in frames: the
lengths of three parts, then a JSON header, a text and bytes. Nothing that arrives can be
code, in neither direction. The system ends it when a document takes longer than it may
(SIGALRM), and refuses memory beyond its limit; nobody has to be alive to see to that.

    python -m hades.ingest.worker SECONDS MEMORY_MB TEXT_MB
"""

from __future__ import annotations

import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import IO, Any

from hades.ingest.readers.records import Bad
from hades.ingest.readers.text import limit_text
from hades.ingest.reading import ReadDocument, Task, read

_LENGTHS = struct.Struct(">QQQ")
RETIRES_AT = 0.5
"""Of its memory: a worker that once took so much ends after its answer, and gives it back."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one document may take."""

    seconds: float
    memory_mb: int
    text_mb: int


class NoAnswer(Exception):
    """The other side is gone, or says what cannot be."""


def send(file: IO[bytes], header: dict[str, Any], text: str = "", more: bytes = b"") -> None:
    """Write one frame."""
    parts = (json.dumps(header).encode(), text.encode("utf-8", "surrogatepass"), more)
    file.write(_LENGTHS.pack(*map(len, parts)))
    for part in parts:
        file.write(part)
    file.flush()


def receive(file: IO[bytes], at_most: int) -> tuple[dict[str, Any], str, bytes]:
    """Read one frame."""
    lengths = file.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size or sum(_LENGTHS.unpack(lengths)) > at_most:
        raise NoAnswer
    header, text, more = (file.read(length) for length in _LENGTHS.unpack(lengths))
    if len(more) < _LENGTHS.unpack(lengths)[2]:
        raise NoAnswer
    return json.loads(header), text.decode("utf-8", "surrogatepass"), more


def send_task(file: IO[bytes], task: Task) -> None:
    """Ask for a source to be read."""
    said = asdict(replace(task, data=None)) | {"has_data": task.data is not None}
    send(file, said, more=task.data or b"")


def receive_answers(file: IO[bytes], at_most: int) -> Iterator[ReadDocument | Bad]:
    """What a worker answers to one task."""
    while True:
        header, content, outline = receive(file, at_most)
        if header["is"] == "end":
            return
        if header["is"] == "bad":
            yield Bad(header["where"], header["why"])
            continue
        when = header["valid_from"]
        yield ReadDocument(
            topic=header["topic"],
            content=content,
            outline=outline,
            fingerprint=bytes.fromhex(header["fingerprint"]),
            kind=header["kind"],
            title=header["title"],
            tags=tuple(header["tags"]),
            metadata=header["metadata"],
            valid_from=datetime.fromisoformat(when) if when else None,
        )


def _send_answer(file: IO[bytes], answer: ReadDocument | Bad) -> None:
    if isinstance(answer, Bad):
        send(file, {"is": "bad", "where": answer.where, "why": answer.why})
        return
    header = {
        "is": "document",
        "topic": answer.topic,
        "fingerprint": answer.fingerprint.hex(),
        "kind": answer.kind,
        "title": answer.title,
        "tags": answer.tags,
        "metadata": answer.metadata,
        "valid_from": answer.valid_from and answer.valid_from.isoformat(),
    }
    send(file, header, answer.content, answer.outline)


def main(seconds: float, memory_mb: int, text_mb: int) -> None:
    """Read sources until there are no more, or too much memory was taken."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it ends it
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _bound(resource.RLIMIT_AS, memory_mb * 2**20)
    _bound(resource.RLIMIT_CORE, 0)
    limit_text(text_mb * 2**20)
    tasks = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    while True:
        try:
            said, _, data = receive(tasks, 1 << 40)
        except NoAnswer:
            return
        has_data = said.pop("has_data")
        task = Task(**said | {"data": data if has_data else None})
        try:
            found = read(task)
            while True:
                signal.setitimer(signal.ITIMER_REAL, seconds)
                answer = next(found, None)
                if answer is None:
                    break
                _send_answer(answers, answer)
        except MemoryError:
            del found
            why = f"It takes more than {memory_mb:,} MB of memory to read (ingest_memory_mb)."
            _send_answer(answers, Bad(task.topic, why))
        signal.setitimer(signal.ITIMER_REAL, 0)
        send(answers, {"is": "end"})
        if _most_memory() > memory_mb * 2**20 * RETIRES_AT:
            return


def _bound(kind: int, most: int) -> None:
    # macOS knows the limit of memory but does not take it.
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (most, most))


def _most_memory() -> int:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
