"""The archive: old states' contents, compressed, outside the store.

An object holds a run of versions of one topic. Each version is whole, so an object can be read
without any other. Its name contains the id of the archive, the number of the topic, the versions
and a hash of its bytes. The version after a run is stored whole, so no chain of deltas in the store
leads through the archive.

The write that removes texts from the store first writes the object, reads it back and compares it.
Before that, the object is recorded in `owed` as one to remove, so that an object left behind by a
killed process is found.
"""

from __future__ import annotations

import json
import logging
import lzma
import re
import secrets
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NamedTuple

from hades.domain.rules import CONTENT_BYTES_AT_MOST
from hades.errors import Conflict, Corrupt, HadesError, InvalidInput, Unavailable
from hades.store.byte_cache import ByteCache
from hades.store.catalogue import TABLES
from hades.store.database import Database
from hades.store.delta import WHOLE, WHOLE_EVERY, digest_of, pack
from hades.store.objects import Objects, open_objects
from hades.store.owed import ARCHIVE, owe
from hades.store.records import Problem

VERSIONS_AT_MOST = WHOLE_EVERY
BYTES_AT_MOST = 4 << 20
"""Limits of one object, before compression. Reading one old version reads the whole object."""
KEPT_BYTES_AT_MOST = 16 << 20
"""Size of the cache of unpacked objects."""
_PLACE, _ID = OWN_FACTS = ("archive", "archive_id")
"""Keys in `meta` for the place and the id of the archive. A copy of a memory has neither."""
_UNPACKED_AT_MOST = CONTENT_BYTES_AT_MOST + (8 << 20)
"""The most bytes of one unpacked object. The last text in it may have the largest size allowed."""
_PRESET = 3
"""The lzma preset. Its dictionary of 4 MiB covers all versions of an object."""
_NAME = re.compile(r"[0-9a-f]{16}/[0-9]+/[0-9]+-[0-9]+-([0-9a-f]{32})\.xz")
_FOLDER = re.compile(r"[0-9a-f]{16}/[0-9]+/")
"""Only names of these two forms are read or removed: an imported file may contain others."""
_MARK = b"An archive of HADES. A memory needs the files beside this one.\n"
_log = logging.getLogger(__name__)
_FIND = "put it back where it was, or say where it is now: `hades archive --to PLACE`"


class LostObject(Unavailable):
    """An object of the archive is missing, or the archive's location cannot be reached."""


class DamagedObject(Corrupt):
    """An object of the archive differs from the one that was written."""


LOST = (LostObject, DamagedObject)


class VersionRun(NamedTuple):
    """Consecutive versions of a topic that go into one object."""

    topic: int
    contents: dict[int, bytes]


class Archive:
    """The archive of one memory."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.kept = ByteCache[str, dict[int, bytes]](KEPT_BYTES_AT_MOST)
        self._opened: tuple[str, Objects] | None = None
        self._is_told = False

    # Where it is

    def place(self) -> str | None:
        """Return the location of the objects, or None if there is none yet.

        The default for a memory in a file is a folder beside that file.
        """
        files = self._database.files
        beside = f"{files}.archive" if str(files) == self._database.place else None
        return self._database.meta(_PLACE) or beside

    def use(self, place: str | None) -> None:
        """Record the location for objects from now on; None keeps the current one.

        Call it inside a write. The caller must have moved the existing objects there, or Conflict
        is raised.
        """
        database = self._database
        if place is None and self.place() is None:
            raise InvalidInput("Name a place for the archive: `--to`, or the setting `archive`.")
        if place is not None and place != database.meta(_PLACE):
            objects = open_objects(place)
            name = database.value("SELECT min(object) FROM archived")
            if name is not None and objects.get(name) is None:
                raise Conflict(
                    f"The archive is in {self.place()}, and {name} is not in {place}: move all "
                    "back first (`hades archive --restore`), or move the objects there."
                )
            database.set_meta(_PLACE, place)
        if database.meta(_ID) is None:
            database.set_meta(_ID, secrets.token_hex(8))
        self._objects().put(self._marker(), _MARK)

    def _marker(self) -> str:
        """Return the name of an object that always exists, except at a wrong location."""
        return f"{self._database.meta(_ID)}/archive"

    def _objects(self) -> Objects:
        place = self.place()
        if place is None:
            raise Unavailable(f"This memory does not say where its archive is: {_FIND}.")
        if self._opened is None or self._opened[0] != place:
            self._opened = place, open_objects(place)  # keep its connections
        return self._opened[1]

    # Reading

    def content(self, name: str, version: int) -> bytes:
        """Return the content of a version from an object, or raise LostObject or DamagedObject."""
        contents = self.kept.get(name)
        if contents is None:
            contents = self._unpacked_object(name)
            self.kept.put(name, contents, sum(map(len, contents.values())))
        if version not in contents:
            raise DamagedObject(
                f"The archive's object {name} lacks version {version}: restore a backup."
            )
        return contents[version]

    def fill(self, record: dict[str, Any]) -> None:
        """Set the body of a row of `states` from the archive, if its content is there."""
        if record["body"] is None and record["encoding"] is not None:
            name = self._database.value("SELECT object FROM archived WHERE state = ?", record["id"])
            if name is not None:
                record["body"] = self.content(name, record["version"])

    def filled(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a row of `states` with its body, which may be in the archive."""
        record = dict(zip(TABLES["states"].columns, row, strict=True))
        self.fill(record)
        return tuple(record.values())

    def _unpacked_object(self, name: str) -> dict[int, bytes]:
        try:
            if (known := _NAME.fullmatch(name)) is None:
                raise ValueError("this is not the name of an object")
            objects = self._objects()
            data = objects.get(name)
            if data is None:
                raise LostObject(
                    f"The object {name} is missing in the archive {objects.place}: {_FIND}."
                )
            if _digest(data) != known[1]:
                raise ValueError("its bytes do not match the hash in its name")
            return _unpacked(data)
        except Unavailable as error:
            raise LostObject(str(error)) from error
        except Corrupt as error:
            raise DamagedObject(f"{error} Put back a copy, or restore a backup.") from error
        except (ValueError, TypeError, lzma.LZMAError, EOFError) as error:
            raise DamagedObject(
                f"The object {name} of the archive {self.place()} is damaged ({error}): put back "
                "a copy of it, or restore a backup of the memory."
            ) from error

    def log_lost(self, error: HadesError) -> None:
        """Log, only once, that unreadable texts are left out."""
        if not self._is_told:
            message = "Texts that cannot be read are left out (%d states are in the archive): %s"
            _log.warning(message, self.states(), error)
            self._is_told = True

    def states(self) -> int:
        """Return the number of archived states."""
        return int(self._database.value("SELECT count(*) FROM archived"))

    def size(self) -> int | None:
        """Return the bytes of all objects, or None if the archive cannot be reached."""
        try:
            return self._objects().size(f"{self._database.meta(_ID)}/")
        except Unavailable:
            return None

    def problems(self) -> list[Problem]:
        """Read every object. Return a problem per damaged one, and one for all that are missing."""
        problems = list[Problem]()
        lost = dict[str, str]()
        rows = self._database.rows(
            "SELECT object, count(*), min(s.version), max(s.version) FROM archived a "
            "JOIN states s ON s.id = a.state GROUP BY object ORDER BY object"
        )
        for name, count, first, last in rows:
            try:
                versions = self._unpacked_object(name).keys()
                if sum(first <= version <= last for version in versions) < count:
                    raise DamagedObject(f"The object {name} lacks versions.")
            except LostObject as error:
                lost[name] = str(error).removesuffix(f": {_FIND}.")
            except DamagedObject as error:
                problems.append(Problem(str(error), name, _FIND))
        if lost:
            first, why = next(iter(lost.items()))
            problems.append(Problem(f"{why} ({len(lost)} in all)", first, _FIND))
        return problems

    # Writing: each method needs a write of its own

    def note(self, run: VersionRun) -> tuple[str, bytes]:
        """Return the name and bytes of the object for a run, and record the name as one to remove.

        If the process stops before `move` has deleted that record, cleaning up removes the object.
        """
        lengths = {str(version): len(content) for version, content in run.contents.items()}
        whole = json.dumps(lengths).encode() + b"\n" + b"".join(run.contents.values())
        data = lzma.compress(whole, preset=_PRESET)
        versions = f"{min(run.contents)}-{max(run.contents)}"
        name = f"{self._database.meta(_ID)}/{run.topic}/{versions}-{_digest(data)}.xz"
        owe(self._database, ARCHIVE + name)
        return name, data

    def move(
        self, run: VersionRun, name: str, data: bytes, make_whole: Callable[[int, int], object]
    ) -> bool:
        """Write the object of a run and remove its texts from the store.

        Return False, and do nothing, if its states have changed meanwhile. `make_whole` stores a
        version of a topic as a whole copy.
        """
        database = self._database
        first = min(run.contents)
        last = max(run.contents)
        states = database.column(
            "SELECT s.id FROM states s JOIN topics t ON t.id = s.topic WHERE s.topic = ? "
            "AND s.version BETWEEN ? AND ? AND s.encoding IS NOT NULL AND s.id <> t.latest "
            "AND NOT EXISTS (SELECT 1 FROM archived a WHERE a.state = s.id)",
            run.topic,
            first,
            last,
        )
        if len(states) != len(run.contents):
            return False
        objects = self._objects()
        objects.put(name, data)
        if objects.get(name) != data:
            raise Unavailable(
                f"The object {name} was written to {objects.place}, but cannot be read back."
            )
        make_whole(run.topic, last + 1)
        cut = f"UPDATE states SET body = NULL, encoding = {WHOLE}, depth = 0 WHERE id = ?"
        database.run_many(cut, [(state,) for state in states])
        database.run_many("INSERT INTO archived VALUES (?, ?)", [(state, name) for state in states])
        database.run("DELETE FROM owed WHERE what = ?", ARCHIVE + name)
        return True

    def bring_home(self, database: Database, name: str) -> int:
        """Put the contents of an object back into the store, or into a copy of the store.

        Return the number of states. In the store, the object is then recorded as one to remove.
        """
        rows = database.rows(
            "SELECT s.id, t.name, s.version, s.digest FROM archived a JOIN states s "
            "ON s.id = a.state JOIN topics t ON t.id = s.topic WHERE a.object = ? "
            "ORDER BY s.version",
            name,
        )
        depth = 0
        before = 0
        old = None
        for state, topic, version, digest in rows:
            content = self.content(name, version)
            if digest_of(topic, version, content) != digest:
                raise DamagedObject(f"The object {name} has another text for {topic}@{version}.")
            encoding, depth, body = pack(content, old if version == before + 1 else None, depth)
            database.run(
                "UPDATE states SET encoding = ?, depth = ?, body = ? WHERE id = ?",
                encoding,
                depth,
                body,
                state,
            )
            before = version
            old = content
        database.run("DELETE FROM archived WHERE object = ?", name)
        if database is self._database:
            owe(database, ARCHIVE + name)
        return len(rows)

    def settle(self, what: str) -> bool:
        """Remove the objects that a row of `owed` names, unless states still refer to them.

        Return whether the row can be deleted. A role limited to some spaces gets False: it does
        not see all states that may refer to an object.
        """
        start = what.removeprefix(ARCHIVE)
        database = self._database
        if not _NAME.fullmatch(start) and not _FOLDER.fullmatch(start):
            return True
        with database.transaction():  # so that no state is moved meanwhile
            if not database.sees_all():
                return False
            if not database.row("SELECT 1 FROM archived WHERE object LIKE ? LIMIT 1", f"{start}%"):
                objects = self._objects()
                if objects.get(self._marker()) is None:  # not mounted, or moved elsewhere
                    raise LostObject(f"The archive is not in {objects.place}: {_FIND}.")
                objects.remove(start)
        return True


def _unpacked(data: bytes) -> dict[int, bytes]:
    reader = lzma.LZMADecompressor(memlimit=_UNPACKED_AT_MOST)
    whole = reader.decompress(data, max_length=_UNPACKED_AT_MOST)
    if not reader.eof:
        raise ValueError("it ends too early, or is too large")
    head, _, rest = whole.partition(b"\n")
    contents = {}
    at = 0
    for version, length in json.loads(head).items():
        contents[int(version)] = rest[at : at + length]
        at += length
    if at != len(rest):
        raise ValueError("its lengths are wrong")
    return contents


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
