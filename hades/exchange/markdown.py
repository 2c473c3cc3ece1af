"""Notes as Markdown files: YAML front matter with the facts of a version, then its content.

`export` and `mirror` write the same files. A file says which topic it is, so its name may differ
from the topic's: every topic gets a name that is safe on all systems and inside the folder.
"""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from hades.domain.rules import clean_metadata, clean_share
from hades.domain.times import iso
from hades.domain.topics import DEFAULT_IMPORTANCE, PROMOTION, State
from hades.errors import InvalidInput
from hades.ingest.readers.front_matter import FRONT_MATTER_CHARACTERS_AT_MOST, front_span
from hades.store.drafts import draft_of

NOTE_BYTES_AT_MOST = 16 * 2**20
PATH_BYTES_AT_MOST = 200
PART_BYTES_AT_MOST = 100
"""The longest path below the folder and the longest name in it, in bytes. Windows allows 260
characters for a path."""
SHORTENED_BYTES = 60
OWN_KEYS = frozenset({"topic", "version", "kind", "tags", "valid_from", "recorded_at"})
OWN_KEYS |= {"confidence", "importance", "metadata"}
"""The keys of front matter with a meaning here. All others are metadata of the note."""
BRACKETS_AT_MOST = 2_000
"""The most opening brackets in front matter, because PyYAML needs 17 s for 60,000 of them."""
CONFLICT = re.compile(r"\.conflict(?:-[0-9]{1,6})?\.md$")
"""The end of the name of a file with the other side of a conflict."""

_LINE_BREAKS = frozenset("\x85\u2028\u2029")
"""Characters that YAML would change, unless they are written as escapes."""
_REPLACED = dict.fromkeys([*range(32), 127, *map(ord, '<>:"\\|?*#^[]')], "_")
"""Characters that Windows refuses in names, or Obsidian in links."""
_RESERVED = {"con", "prn", "aux", "nul", "node_modules", "__pycache__"}
_RESERVED |= {f"{port}{number}" for port in ("com", "lpt") for number in range(10)}
"""Names that Windows refuses, with any suffix, or that no walk through a folder enters."""


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A note as a file states it. None: the file does not say."""

    content: str
    tags: tuple[str, ...] = ()
    confidence: float = 1.0
    importance: float = DEFAULT_IMPORTANCE
    metadata: Mapping[str, Any] = field(default_factory=dict)
    topic: str | None = None
    version: int | None = None
    valid_from: str | None = None

    def says(self, state: State) -> bool:
        """Return whether the file says the same as a state, ignoring blank lines at both ends."""
        if self.valid_from not in (None, iso(state.valid_from)):
            return False
        mine = self.content, self.tags, self.confidence, self.importance, self.metadata
        return mine == (
            _trimmed(state.content),
            state.tags,
            state.confidence,
            state.importance,
            _kept(state),
        )


def note_text(state: State) -> str:
    """Return the Markdown file of a state; raise InvalidInput if it could not be read again."""
    front: dict[str, Any] = {"topic": state.topic, "version": state.version, "kind": "note"}
    if state.tags:
        front["tags"] = list(state.tags)
    front |= {"valid_from": iso(state.valid_from), "recorded_at": iso(state.recorded_at)}
    if state.confidence != 1.0:
        front["confidence"] = state.confidence
    if state.importance != DEFAULT_IMPORTANCE:
        front["importance"] = state.importance
    metadata = _kept(state)
    front |= {key: value for key, value in metadata.items() if key not in OWN_KEYS}
    if nested := {key: value for key, value in metadata.items() if key in OWN_KEYS}:
        front["metadata"] = nested
    head = _yaml(front, allow_unicode=True)
    if not _LINE_BREAKS.isdisjoint(head):
        head = _yaml(front, allow_unicode=False)
    text = f"---\n{head}---\n\n{state.content}" + "\n" * (not state.content.endswith("\n"))
    is_long = len(head) > FRONT_MATTER_CHARACTERS_AT_MOST or _brackets(head) > BRACKETS_AT_MOST
    if is_long or len(text.encode()) > NOTE_BYTES_AT_MOST:
        raise InvalidInput(f"The note {state.topic!r} is too large for a Markdown file.")
    return text


def read_note(raw: bytes) -> NoteFile:
    """Read a Markdown file; raise InvalidInput, with one sentence, if it cannot be a note."""
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInput("It is not UTF-8 text.") from error
    if "\x00" in text:
        raise InvalidInput("It is not text: it holds a NUL character.")
    if (span := front_span(text)) is None:
        if text.split("\n", 1)[0].rstrip(" \t") == "---":
            raise InvalidInput("Its front matter does not end: close it with a line `---`.")
        return NoteFile(_trimmed(text))
    front = _front(text[span[0] : span[1]])
    version = front.get("version")
    if version is not None and (type(version) is not int or version < 1):
        raise InvalidInput(f"Its `version` must be a whole number, not {version!r}.")
    if front.get("kind") not in (None, "note"):
        raise InvalidInput("Its `kind` is not `note`: remove that line, or give it another name.")
    nested = front.get("metadata") or {}
    if not isinstance(nested, dict):
        raise InvalidInput("Its `metadata` must hold lines of `key: value`.")
    metadata = {key: value for key, value in front.items() if key not in OWN_KEYS}
    confidence = clean_share(front.get("confidence"), "confidence")
    importance = clean_share(front.get("importance"), "importance")
    return NoteFile(
        content=_trimmed(text[span[2] :]),
        tags=_tags(front.get("tags")),
        confidence=1.0 if confidence is None else confidence,
        importance=DEFAULT_IMPORTANCE if importance is None else importance,
        metadata=clean_metadata(metadata | nested) or {},
        topic=_text(front, "topic"),
        version=version,
        valid_from=_text(front, "valid_from"),
    )


def _yaml(front: Mapping[str, Any], *, allow_unicode: bool) -> str:
    options: dict[str, Any] = {"sort_keys": False, "width": float("inf")}
    return str(yaml.safe_dump(front, allow_unicode=allow_unicode, **options))


def _kept(state: State) -> dict[str, Any]:
    return {key: value for key, value in state.metadata.items() if key != PROMOTION}


def _trimmed(content: str) -> str:
    return content.replace("\r\n", "\n").strip("\n")


class _Loader(yaml.SafeLoader):
    """Reads numbers, booleans and null as in JSON; dates and all other values are text.

    References are refused: a few lines of them can stand for gigabytes.
    """

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(
                "Its front matter has a YAML reference (`&` or `*`): write the value instead."
            )
        return super().compose_node(parent, index)


_SCALARS = {
    "bool": re.compile(r"\A(?:true|false)\Z"),
    "null": re.compile(r"\A(?:null|~)?\Z"),
    "int": re.compile(r"\A-?(?:0|[1-9][0-9]*+)\Z"),
    "float": re.compile(r"\A-?[0-9]++\.[0-9]*+(?:e[-+][0-9]++)?\Z"),
}
_Loader.yaml_implicit_resolvers = {}  # those of YAML 1.1 read 12:30 as a number
for _name, _pattern in _SCALARS.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", _pattern, None)


def _brackets(front: str) -> int:
    return front.count("[") + front.count("{")


def _front(text: str) -> dict[str, Any]:
    if _brackets(text) > BRACKETS_AT_MOST:
        raise InvalidInput("Its front matter is nested too deeply.")
    try:
        front = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 2})" if mark is not None else ""
        raise InvalidInput(f"Its front matter is not plain YAML{where}.") from error
    if front is None:
        return {}
    if not isinstance(front, dict):
        raise InvalidInput("Its front matter must hold lines of `key: value`.")
    return front


def _text(front: Mapping[str, Any], key: str) -> str | None:
    value = front.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"Its `{key}` must be text: put it in quotes.")
    return value


def _tags(value: object) -> tuple[str, ...]:
    if isinstance(value, str):  # as Obsidian used to write them
        value = value.replace(",", " ").split()
    if value is not None and not isinstance(value, list):
        raise InvalidInput("Its `tags` must be a list.")
    return tuple(sorted({str(tag) for tag in value or () if tag is not None}))


# Files


def topic_of(path: str) -> str:
    """Return the topic of a new file, by its path below the folder."""
    return unicodedata.normalize("NFC", path)[: -len(".md")]


def safe_path(topic: str) -> str:
    """Return a path for a topic that cannot leave a folder and is valid on all systems.

    It is the topic's name with `.md`, or if that is unsafe, another name with a hash.

    >>> safe_path("design/approach_x"), safe_path("../con")
    ('design/approach_x.md', '_/_con~87a0fd7d.md')
    """
    stem = topic.removesuffix(".md")
    parts = [_safe(part) for part in stem.split("/")]
    path = "/".join(parts)
    is_long = any(len(part.encode()) > PART_BYTES_AT_MOST for part in parts)
    if is_long or len(path.encode()) > PATH_BYTES_AT_MOST:
        path = "_".join(parts).encode()[:SHORTENED_BYTES].decode(errors="ignore")
    if path != stem or CONFLICT.search(f"{path}.md"):
        path += _mark(topic)
    return f"{path}.md"


def _safe(part: str) -> str:
    part = unicodedata.normalize("NFC", part).translate(_REPLACED).strip(". ") or "_"
    if part.split(".")[0].strip().lower() in _RESERVED:
        part = f"_{part}"
    # a folder must not have the name of a file that this module or a memory uses
    is_taken = part.lower().endswith(".md") or ".hades" in part.lower()
    return part.replace(".", "_") if is_taken else part


def _mark(topic: str, number: int = 0) -> str:
    return f"~{sha256(f'{number} {topic}'.encode()).hexdigest()[:8]}"


class NotePaths:
    """Paths of topics in one folder; no two of them differ only in case."""

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}

    def take(self, path: str, topic: str) -> None:
        """Reserve a path for a topic."""
        self._taken[unicodedata.normalize("NFC", path).casefold()] = topic

    def path_of(self, topic: str) -> str:
        """Return a free path for a topic, and reserve it."""
        path = safe_path(topic)
        for number in count():
            if self._taken.get(path.casefold(), topic) == topic:
                break
            path = f"{safe_path(topic)[: -len('.md')]}{_mark(topic, number)}.md"
        self.take(path, topic)
        return path


@contextmanager
def note_draft(root: Path, path: str, raw: bytes) -> Iterator[Path]:
    """Yield a complete draft of a file below a folder, to be renamed."""
    target = root / path
    if not target.parent.resolve().is_relative_to(root.resolve()):
        raise InvalidInput("Its folder is a link that leads out of the mirror.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with draft_of(target) as draft:
        with draft.open("xb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, draft)
        yield draft


def write_note(root: Path, path: str, raw: bytes) -> None:
    """Write a file below a folder in one step, so that nobody ever sees half of it."""
    with note_draft(root, path, raw) as draft:
        os.replace(draft, root / path)


def write(states: Iterable[State], folder: Path) -> None:
    """Write one file per state into a folder."""
    paths = NotePaths()
    for state in states:
        write_note(folder, paths.path_of(state.topic), note_text(state).encode())
