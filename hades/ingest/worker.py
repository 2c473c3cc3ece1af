"""A worker: the process in which files are parsed, one after the other.

It reads tasks from standard input and writes answers to standard output. Each message is a line of
JSON with two lengths, followed by a text and bytes of these lengths. So neither side can send code.
The system ends a worker when a document takes too long (SIGALRM), and refuses memory beyond the
limit, even if the parent process is gone.

    python -m hades.ingest.worker SECONDS MEMORY_MB TEXT_MB
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import IO, Any

from hades.ingest.document import Bad, Document
from hades.ingest.readers.text import limit_text
from hades.ingest.reading import Task, read

HEADER_BYTES_AT_MOST = 32 * 2**20
RETIRES_AT = 0.25
"""Share of the memory limit. A worker that still holds more after a task exits."""

_TASK = ("path", "topic", "many", "prefix", "fields", "rooted")
_VALUES = ("topic", "kind", "title", "tags", "metadata")


class NoAnswer(Exception):
    """The other side is gone, or its message is malformed."""


def _send(file: IO[bytes], header: dict[str, Any], text: str = "", more: bytes = b"") -> None:
    content = text.encode("utf-8", "surrogatepass")
    line = json.dumps([header, len(content), len(more)]).encode()
    file.write(b"".join((line, b"\n", content, more)))
    file.flush()


def _receive(file: IO[bytes], at_most: int) -> tuple[dict[str, Any], str, bytes]:
    line = file.readline(HEADER_BYTES_AT_MOST)
    if not line.endswith(b"\n"):
        raise NoAnswer
    header, content_bytes, more_bytes = json.loads(line)
    if content_bytes + more_bytes > at_most:
        raise NoAnswer
    content = file.read(content_bytes)
    more = file.read(more_bytes)
    if len(more) < more_bytes:
        raise NoAnswer
    return header, content.decode("utf-8", "surrogatepass"), more


def send_task(file: IO[bytes], task: Task) -> None:
    """Write a task to the standard input of a worker."""
    header = {name: getattr(task, name) for name in _TASK}
    _send(file, {**header, "has_data": task.data is not None}, more=task.data or b"")


def receive_answers(file: IO[bytes], at_most: int) -> Iterator[Document | Bad]:
    """Yield a worker's answers to a task; raise NoAnswer if it ends or one has too many bytes."""
    while True:
        header, content, outline = _receive(file, at_most)
        if not header:
            return
        if "why" in header:
            yield Bad(**header)
            continue
        when = header.pop("valid_from")
        yield Document(
            content=content,
            outline=outline,
            fingerprint=bytes.fromhex(header.pop("fingerprint")),
            tags=tuple(header.pop("tags")),
            valid_from=datetime.fromisoformat(when) if when else None,
            **header,
        )


def _send_answer(file: IO[bytes], answer: Document | Bad) -> None:
    if isinstance(answer, Bad):
        _send(file, {"where": answer.where, "why": answer.why})
        return
    header = {name: getattr(answer, name) for name in _VALUES}
    header["fingerprint"] = answer.fingerprint.hex()
    header["valid_from"] = answer.valid_from and answer.valid_from.isoformat()
    _send(file, header, answer.content, answer.outline)


def main(seconds: float, memory_mb: int, text_mb: int) -> None:
    """Read tasks and write answers until there are no more tasks or too much memory is held."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # macOS has this limit but refuses to set it.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 2**20,) * 2)
    limit_text(text_mb * 2**20)
    tasks = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with answers
    while _held_memory() < memory_mb * 2**20 * RETIRES_AT:
        try:
            header, _, data = _receive(tasks, sys.maxsize)
        except NoAnswer:
            return
        has_data = header.pop("has_data")
        task = Task(**header, data=data if has_data else None)
        try:
            documents = read(task)
            signal.setitimer(signal.ITIMER_REAL, seconds)
            while (answer := next(documents, None)) is not None:
                _send_answer(answers, answer)
                signal.setitimer(signal.ITIMER_REAL, seconds)
        except MemoryError:
            why = f"It takes more than {memory_mb:,} MB of memory to read (ingest_memory_mb)."
            _send_answer(answers, Bad(task.topic, why))
        signal.setitimer(signal.ITIMER_REAL, 0)
        _send(answers, {})


def _held_memory() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:  # on macOS the maximum so far, in bytes
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
