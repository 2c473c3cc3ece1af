"""Gathering: the documents at a path given to `ingest`.

A folder stands for its files. A file of records (JSON lines, a chat export) holds many documents,
any other file one. Each has a fingerprint, so that an unchanged document is not read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from hades.domain.rules import clean_name
from hades.domain.topics import COMMITS
from hades.errors import InvalidInput
from hades.ingest.document import Bad, Document, Unreadable
from hades.ingest.readers import COMMITS_SUFFIX, reader_for
from hades.ingest.readers.code.roots import Roots
from hades.ingest.readers.git_history import read_messages
from hades.ingest.readers.records import FieldMapping
from hades.ingest.readers.text import check_size
from hades.ingest.reading import Task, fingerprint, holds_many
from hades.ingest.walk import NO_FILE, walk
from hades.settings import load_settings

Read = Callable[[Iterable[Task]], Iterator[tuple[Task, Document | Bad]]]
"""Reads sources in worker processes. Yields each answer with its task."""


@dataclass(frozen=True, slots=True)
class Item:
    """A document at a path, with the task that reads it if it is new or has changed."""

    topic: str
    fingerprint: bytes
    task: Task
    """The source to read if the fingerprint is new. Records are read twice, so that a large file of
    records is never held in memory."""


@dataclass(frozen=True, slots=True)
class Root:
    """One path given to `ingest`."""

    path: Path
    prefix: str
    fields: FieldMapping | None
    name: str
    """The name of this source in the store."""
    follow_links: bool
    roots: Roots


def root_of(
    path: Path,
    prefix: str | None,
    fields: Mapping[str, str] | None,
    name: str | None,
    follow_links: bool,
) -> Root:
    """Check a path given to `ingest`; it need not exist. Raise InvalidInput if it is unusable.

    A folder's name is the default prefix. `name` replaces the path as the name of the source.
    """
    if "\0" in str(path):
        raise InvalidInput("A path cannot hold a NUL character.")
    path = path.expanduser().resolve()
    mapping = None
    if fields is not None:
        try:
            mapping = FieldMapping(**dict(fields), **({"prefix": prefix} if prefix else {}))
        except TypeError as error:
            raise InvalidInput(f"The field mapping is wrong: {error}.") from error
    prefix = path.name if prefix is None and path.is_dir() else prefix or ""
    source = str(path) if name is None else clean_name(name, "source")
    return Root(path, prefix, mapping, source, follow_links, Roots(path))


def gather(root: Root, read: Read) -> Iterator[Item | Bad]:
    """Yield an Item for every document of a root, changed or not, and a Bad for each failure."""
    if root.path.is_file():
        name = f"{root.prefix}/{root.path.name}" if root.prefix else root.path.name
        yield from _file(root, root.path, name, read)
    elif not root.path.is_dir():
        missing = "There is nothing there to ingest."
        yield Bad(str(root.path), NO_FILE if root.path.exists() else missing)
    elif holds_many(root.path, None):
        yield from _many(Task(str(root.path), root.prefix, True, root.prefix), read)
    else:
        for path, why_not in walk(root.path, follow_links=root.follow_links):
            relative = path.relative_to(root.path).as_posix()
            topic = f"{root.prefix}/{relative}".lstrip("/")
            if why_not:
                yield Bad(topic.encode("utf-8", "replace").decode(), why_not)
            else:
                yield from _file(root, path, topic, read)
        yield from gather_commits(root)


def gather_commits(root: Root) -> Iterator[Item | Bad]:
    """Yield the commit messages of a folder that is a git repository, as one document.

    A folder that was sent to a server is left out: its `.git` may point to another repository.
    """
    at_most = load_settings().ingest_commits
    topic = f"{root.prefix}/{COMMITS}".lstrip("/")
    is_sent = root.name != str(root.path)
    if not at_most or is_sent or not (root.path / ".git").exists():
        return
    try:
        data = read_messages(root.path, at_most)
    except Unreadable as error:
        yield Bad(topic, str(error))
        return
    if data:
        # The reader is found by the suffix; nothing is read from this path.
        task = Task(f"{COMMITS}{COMMITS_SUFFIX}", topic, data=data)
        yield Item(topic, fingerprint([data]), task)


def _file(root: Root, path: Path, topic: str, read: Read) -> Iterator[Item | Bad]:
    """Yield the documents of one file. A file with a single document is hashed but not parsed."""
    fields = asdict(root.fields) if root.fields else None
    if (shown := topic.encode("utf-8", "replace").decode()) != topic:
        yield Bad(shown, "Its name is not valid Unicode: rename it.")
        return
    try:
        if holds_many(path, fields):
            yield from _many(Task(str(path), topic, True, root.prefix, fields), read)
        elif reader_for(path) is None:
            yield Bad(topic, f"No reader knows files like {path.suffix or path.name}.")
        else:
            check_size(path.stat().st_size, topic)
            with path.open("rb") as file:
                mark = fingerprint(iter(lambda: file.read(2**20), b""))
            rooted = root.roots.import_path(path)
            yield Item(topic, mark, Task(str(path), topic, rooted=rooted))
    except Unreadable as error:
        yield Bad(topic, str(error))
    except OSError as error:
        yield Bad(topic, f"It cannot be read: {error.strerror or error}.")


def _many(task: Task, read: Read) -> Iterator[Item | Bad]:
    for _, answer in read([task]):
        if isinstance(answer, Bad):
            yield answer
        else:
            yield Item(answer.topic, answer.fingerprint, task)
