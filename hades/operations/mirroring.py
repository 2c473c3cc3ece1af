"""Mirroring: one pass that brings a folder of Markdown files and the notes of a space together.

A file names its topic and the version that it was written from. Since every version is kept, this
version shows what each side has changed: the file differs from it, or the topic has a later one.

An editor may save at any moment. So a file is never replaced: it is moved aside, compared with what
was read, and the new one takes the name only if the name is still free. At the end of the pass a
file that was moved aside is deleted if the memory has its text; if not, it becomes a conflict file.
A pass that is killed leaves files and versions that the next pass understands.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path

from hades.domain.mirror import MirrorSummary
from hades.domain.times import NOW, iso, to_micros
from hades.domain.topics import State
from hades.errors import Conflict, InvalidInput, NotFound
from hades.exchange.markdown import (
    CONFLICT,
    NOTE_BYTES_AT_MOST,
    NoteFile,
    NotePaths,
    note_draft,
    note_text,
    read_note,
    topic_of,
)
from hades.exchange.mirror import SyncedFile, load_synced, save_synced, stamp_of
from hades.ingest.walk import walk
from hades.operations import states
from hades.operations.inside import Inside
from hades.store.drafts import place
from hades.store.records import Progress

DELETED = ("report", "forget", "restore")
"""The values of `deleted`: how to treat the topics of deleted files."""
ASIDE = ".hades-mirror.aside"
"""The folder, beside a file, to which the file is moved before another takes its name."""
_CHANGED = "It changed meanwhile"
_BOTH = "and its topic both changed"
_MERGE = "Take what you want to keep from it, then delete it."


class MirrorPass:
    """One pass over a folder and a space."""

    def __init__(
        self, inside: Inside, root: Path, *, deleted: str, dry_run: bool, settled_s: float
    ) -> None:
        self._inside = inside
        self._store = inside.store
        self._space = inside.space_id
        self._root = root
        self._deleted = deleted
        self._dry_run = dry_run
        self._settled_s = settled_s
        place = self._store.database.place
        place = place if "://" in place else os.path.realpath(place)
        self._identity = sha256(f"{place}\n{inside.space}".encode()).hexdigest()[:16]
        self._before = load_synced(root, self._identity)
        self._after = dict(self._before)
        self._topics = {topic.name: topic for topic in states.topics(inside, kind="note")}
        self._paths = NotePaths()
        self._files: dict[str, str] = {}
        """The file of each topic that has one."""
        self._unread = ""
        """A skipped file of which the topic is not known."""
        self._done = MirrorSummary()

    def run(self, report: Progress) -> MirrorSummary:
        """Read what changed in files, write what changed in memory, and return what was done."""
        try:
            self._settle()
            self._done.conflicts.clear()  # they are listed with the other conflict files
            paths = self._listed()
            for number, path in enumerate(paths):
                report("reading files", number, len(paths))
                with self._skipping(path):
                    self._take_file(path, self._before.get(path))
            missing = [name for name in self._topics if name not in self._files]
            gone = {
                synced.topic: path for path, synced in self._before.items() if self._lacks(path)
            }
            for number, name in enumerate(missing):
                report("writing files", number, len(missing))
                with self._skipping(gone.get(name, name)):
                    self._take_note(name, gone.get(name))
            self._settle()
            kept = {path for path in self._after if not self._lacks(path)} | {*self._done.deleted}
            self._after = {path: self._after[path] for path in kept}
        finally:
            if not self._dry_run:
                save_synced(self._root, self._identity, self._after)
        return self._done

    def _lacks(self, path: str) -> bool:
        return not os.path.lexists(self._root / path)

    def _listed(self) -> list[str]:
        """Return the Markdown files, those of the last pass first, and report all others."""
        paths = []
        for entry, why in walk(self._root):
            path = entry.relative_to(self._root).as_posix()
            is_markdown = path.lower().endswith(".md")
            if entry.is_symlink() and (is_markdown or why):
                self._skip(path, "It is a link, and a mirror follows no links.")
            elif why:
                self._skip(path, why)
            elif is_markdown and CONFLICT.search(path):
                self._done.conflicts.append((path, _MERGE))
            elif is_markdown:
                paths.append(path)
        return sorted(paths, key=lambda path: (path not in self._before, path))

    @contextmanager
    def _skipping(self, path: str) -> Iterator[None]:
        """Report a file that cannot be read or written, and go on."""
        try:
            yield
        except (InvalidInput, Conflict, NotFound) as error:
            self._skip(path, str(error))
        except OSError as error:
            self._skip(path, f"It cannot be read or written: {error.strerror or error}.")

    def _skip(self, path: str, why: str) -> None:
        self._done.skipped.append((path, why))
        self._leave(path)

    def _leave(self, path: str) -> None:
        """Leave a file as it is, and the topic that it probably belongs to."""
        if self._lacks(path):
            return
        if path not in self._before:
            self._unread = self._unread or path
        if not path.lower().endswith(".md"):
            return
        topic = self._before[path].topic if path in self._before else topic_of(path)
        self._files.setdefault(topic, path)
        self._paths.take(path, topic)

    # From files to memory

    def _take_file(self, path: str, synced: SyncedFile | None) -> None:
        target = self._root / path
        if synced is not None and synced.stamp and synced.stamp == stamp_of(target):
            listed = self._topics.get(synced.topic)
            if listed is not None and listed.version == synced.version:
                self._leave(path)
                self._done.unchanged += 1
                return
        status = target.stat()
        if 0 <= time.time() - status.st_mtime < self._settled_s:
            self._leave(path)  # somebody is probably writing it
            return
        if status.st_size > NOTE_BYTES_AT_MOST:
            raise InvalidInput(f"It is larger than {NOTE_BYTES_AT_MOST // 2**20} MB.")
        raw = target.read_bytes()
        note = read_note(raw)
        topic = note.topic or (synced.topic if synced else topic_of(path))
        if topic in self._files:
            raise InvalidInput(
                f"Its topic has a file already, {self._files[topic]}: "
                "remove `topic` and `version` from this one, or delete it."
            )
        self._files[topic] = path
        self._paths.take(path, topic)
        if not note.content.strip():
            raise InvalidInput("It is empty: write something, or forget its topic.")
        if topic in self._topics:
            now = self._store.topics.state(self._space, topic, NOW)
            self._compare(path, raw, note, synced, now)
        else:
            self._take_other(path, raw, note, topic, synced)

    def _compare(
        self, path: str, raw: bytes, note: NoteFile, synced: SyncedFile | None, now: State
    ) -> None:
        """Bring a file and its topic together."""
        known = synced.version if synced and synced.topic == now.topic else 0
        base = self._version(now.topic, note.version or known)
        if base is not None and note.valid_from == iso(base.valid_from):
            note = replace(note, valid_from=None)
        # A file that was reverted to an earlier version counts as changed.
        is_edited = base is None or not note.says(base) or base.version < known
        if now.level:
            raise InvalidInput("Its topic is a summary, which is made from other notes.")
        if note.says(now) and note.version == now.version:
            self._done.unchanged += 1
            self._keep(path, now)
        elif note.says(now) or not is_edited:
            self._write(path, now, raw)
        elif base is not None and base.version == now.version:
            self._remember(path, raw, note, now.topic, now)
        else:
            if self._dry_run:
                why = f"{path} {_BOTH}: it would get the memory's text, this file yours."
                copies = (copy for copy in _copies(path) if self._lacks(copy))
                self._done.conflicts.append((next(copies), why))
            # The file that is moved aside becomes the conflict file.
            self._write(path, now, raw, is_news=False)

    def _take_other(
        self, path: str, raw: bytes, note: NoteFile, topic: str, synced: SyncedFile | None
    ) -> None:
        """Take a file whose topic is not a note that holds now."""
        kind = self._store.topics.kind(self._space, topic)
        if kind not in (None, "note"):
            raise InvalidInput(f"Its topic is a {kind}, and a mirror holds notes only.")
        was_here = kind is not None or (synced is not None and synced.topic == topic)
        if note.version is None or not was_here:
            # A forgotten topic starts again now, not at the time that the file names.
            note = note if kind is None else replace(note, valid_from=None)
            self._remember(path, raw, note, topic, None)
            return
        if kind is None:
            raise InvalidInput(
                "Its topic was erased from the memory: delete it, or remove `version` from it "
                "to remember it again."
            )
        base = self._version(topic, note.version)
        if base is None or not note.says(base):
            why = "It was edited, but its topic was forgotten: remove `version` from it"
            self._done.conflicts.append((path, f"{why} to remember it again, or delete it."))
            return
        if not self._dry_run:
            self._move_aside(path, raw)
        self._done.removed.append(path)

    def _remember(
        self, path: str, raw: bytes, note: NoteFile, topic: str, before: State | None
    ) -> None:
        moment = self._inside.time(note.valid_from)
        is_late = moment is not None and to_micros(moment) > self._store.now()
        if is_late or (moment is not None and before is not None and moment < before.valid_from):
            raise InvalidInput("Its `valid_from` must not be before the last version or after now.")
        stamp = self._store.topics.stamps(self._space, [topic]).get(topic, (0, 0))
        if self._dry_run:
            self._done.read.append(f"{topic}@{stamp[1] + 1}")
            return
        state = states.remember(
            self._inside,
            topic,
            note.content,
            tags=note.tags,
            metadata=note.metadata,
            confidence=note.confidence,
            importance=note.importance,
            valid_from=moment,
            expect_version=stamp[1],
        )
        self._done.read.append(state.id)
        self._write(path, state, raw, is_news=False)

    def _version(self, topic: str, version: int) -> State | None:
        try:
            state = self._store.topics.version(self._space, topic, version, NOW)
        except NotFound:
            return None
        return None if state.forgotten else state

    # From memory to files

    def _take_note(self, name: str, gone: str | None) -> None:
        """Take a note that has no file; `gone` is the file that it had."""
        now = self._store.topics.state(self._space, name, NOW)
        if now.level:
            return
        if gone is not None and self._deleted != "restore":
            if self._deleted == "report" or self._unread:
                self._done.deleted.append(gone)
                if self._deleted == "forget":
                    self._done.forget_blocked_by = self._unread
                return
            if self._before[gone].version == now.version:
                if not self._dry_run:
                    states.forget(self._inside, name)
                self._done.forgotten.append(name)
                return
        self._write(self._paths.path_of(name), now, None)

    def _write(self, path: str, state: State, expected: bytes | None, is_news: bool = True) -> None:
        """Write a state to a file, if that is still as `expected` (None: missing)."""
        raw = note_text(state).encode()
        if not self._dry_run:
            with note_draft(self._root, path, raw) as draft:
                if expected is not None:
                    self._move_aside(path, expected)
                if not place(draft, self._root / path):
                    why = "It exists, but is ignored" if expected is None else _CHANGED
                    raise InvalidInput(f"{why}: nothing was written.")
            self._keep(path, state)
        if is_news:
            self._done.written.append(path)

    # Files that are moved aside

    def _move_aside(self, path: str, expected: bytes) -> None:
        """Move a file aside; put it back and raise InvalidInput if it is not as `expected`."""
        target = self._root / path
        aside = target.parent / ASIDE / target.name
        if aside.parent.is_symlink():
            raise InvalidInput(f"The folder {ASIDE} beside it is a link: delete that.")
        aside.parent.mkdir(exist_ok=True)
        os.rename(target, aside)
        if not _has(aside, expected):
            if place(aside, target):
                aside.unlink(missing_ok=True)
            raise InvalidInput(f"{_CHANGED}: nothing was written.")

    def _settle(self) -> None:
        """Delete the files that were moved aside, or keep those whose text the memory lacks.

        An editor that had a file open may have written to it since. A pass that was killed may
        have moved a file aside without writing its replacement.
        """
        for folder, names, _ in os.walk(self._root):
            kept = Path(folder, ASIDE)
            if ASIDE in names and not kept.is_symlink() and not self._dry_run:
                inside = Path(folder).relative_to(self._root)
                for aside in kept.iterdir():
                    path = (inside / aside.name).as_posix()
                    with self._skipping(path):
                        self._settle_file(path, aside)
                with suppress(OSError):  # a folder with other files stays
                    kept.rmdir()
                    for empty in [inside, *inside.parents][:-1]:
                        (self._root / empty).rmdir()
            names[:] = [name for name in names if not name.startswith(".")]

    def _settle_file(self, path: str, aside: Path) -> None:
        if aside.is_symlink() or not aside.is_file():
            raise InvalidInput(f"Something in {ASIDE} beside it is not a file: delete that.")
        target = self._root / path
        is_small = aside.stat().st_size <= NOTE_BYTES_AT_MOST
        raw = aside.read_bytes() if is_small else None
        is_known = raw is not None and self._knows(path, raw)
        is_missing = self._lacks(path) and not (is_known and path in self._done.removed)
        is_back = is_missing and place(aside, target)
        if not is_known and not is_back and not aside.samefile(target):
            for copy in _copies(path):
                is_there = raw is not None and _has(self._root / copy, raw)
                if is_there or place(aside, self._root / copy):
                    break
            why = f"{path} {_BOTH}: it now has the memory's text, this file yours. {_MERGE}"
            self._done.conflicts = [each for each in self._done.conflicts if each[0] != copy]
            self._done.conflicts.append((copy, why))
        aside.unlink(missing_ok=True)

    def _knows(self, path: str, raw: bytes) -> bool:
        """Return whether the memory has this text, in the file's version or in the last one."""
        try:
            note = replace(read_note(raw), valid_from=None)
        except InvalidInput:
            return False
        synced = self._before.get(path, SyncedFile(topic_of(path), 0))
        topic = note.topic or synced.topic
        last = self._store.topics.stamps(self._space, [topic]).get(topic, (0, 0))[1]
        # A file that was reverted to an earlier version counts as changed.
        numbers = (number for number in (note.version or 0, last) if number >= synced.version)
        states = (self._version(topic, number) for number in numbers)
        return any(state is not None and note.says(state) for state in states)

    def _keep(self, path: str, state: State) -> None:
        if not self._dry_run:
            self._after[path] = SyncedFile(state.topic, state.version, stamp_of(self._root / path))


def _copies(path: str) -> Iterator[str]:
    """Yield the names for conflict files of a file."""
    stem = path[: -len(".md")]
    for number in count(1):
        yield f"{stem}.conflict{f'-{number}' if number > 1 else ''}.md"


def _has(path: Path, raw: bytes) -> bool:
    """Return whether a file has this content."""
    return path.is_file() and path.stat().st_size == len(raw) and path.read_bytes() == raw
