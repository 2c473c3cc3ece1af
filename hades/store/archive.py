"""The archive: old states' contents, compressed, outside the store.

An object holds a run of versions of one topic, each whole, so it is read without any other. Its
name tells the archive, the topic's number, the versions, and a hash of its bytes. The version
after a run is stored whole, so no chain of deltas in the store leads through the archive.

An object is written, read back and compared in the same write that cuts its contents from the
store. Before that it is noted as owed to be removed, so what a killed process leaves is found.
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
from hades.store.database import Database
from hades.store.delta import DELTA, DELTA_ZIPPED, WHOLE, pack
from hades.store.faults import digest_of
from hades.store.objects import Objects, open_objects
from hades.store.owed import ARCHIVE, owe
from hades.store.records import Problem

VERSIONS_AT_MOST, BYTES_AT_MOST = 64, 4 << 20
"""Of one object, before compression: so much is read to see one old version."""
KEPT_BYTES_AT_MOST = 16 << 20
"""Contents of objects that were read, kept for the next question."""
_PLACE, _ID = OWN_FACTS = ("archive", "archive_id")
"""What a memory notes about its archive; a copy has none."""
_UNPACKED_AT_MOST = CONTENT_BYTES_AT_MOST + (8 << 20)
"""The most bytes of one unpacked object. The last text in it may have the largest size allowed."""
_PRESET = 3
"""Of lzma: a dictionary of 4 MiB, so that all versions of an object share what they have."""
_NAME = re.compile(r"[0-9a-f]{16}/[0-9]+/[0-9]+-[0-9]+-([0-9a-f]{32})\.xz")
_FOLDER = re.compile(r"[0-9a-f]{16}/[0-9]+/")
"""Nothing else is ever read or removed, whatever a file from elsewhere says."""
_MARK = b"An archive of HADES. What lies beside this file is needed by a memory.\n"
_log = logging.getLogger(__name__)
_FIND = "put it back where it was, or say where it is now: `hades archive --to PLACE`"


class LostObject(Unavailable):
    """An object of the archive is not there, or its place cannot be reached."""


class DamagedObject(Corrupt):
    """An object of the archive is not what was written."""


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
        """Where the objects lie: by default beside a memory that is a file, in a folder that moves
        along with it. None: nowhere yet."""
        files = self._database.files
        beside = f"{files}.archive" if str(files) == self._database.place else None
        return self._database.meta(_PLACE) or beside

    def use(self, place: str | None) -> None:
        """Note where objects go from now on; inside a write.

        What lies elsewhere must have been moved there: one object is looked for.
        """
        database = self._database
        if place is None and self.place() is None:
            raise InvalidInput("Name a place for the archive: `--to`, or the setting `archive`.")
        if place is not None and place != database.meta(_PLACE):
            objects = open_objects(place)
            one = database.value("SELECT min(object) FROM archived")
            if one is not None and objects.get(one) is None:
                raise Conflict(
                    f"The archive is in {self.place()}, and {one} is not in {place}: move all back "
                    "first (`hades archive --restore`), or move the objects there."
                )
            database.set_meta(_PLACE, place)
        if database.meta(_ID) is None:
            database.set_meta(_ID, secrets.token_hex(8))
        self._objects().put(self._marker(), _MARK)

    def _marker(self) -> str:
        """An object that is there as long as the archive can be reached where it should be."""
        return f"{self._database.meta(_ID)}/archive"

    def _objects(self) -> Objects:
        place = self.place()
        if place is None:
            raise Unavailable(f"This memory does not say where its archive is: {_FIND}.")
        if self._opened is None or self._opened[0] != place:
            self._opened = place, open_objects(place)  # its connections are used again
        return self._opened[1]

    # Reading

    def content(self, name: str, version: int) -> bytes:
        """The content of a version that lies in an object; never another, never none."""
        found = self.kept.get(name)
        if found is None:
            found = self._read(name)
            self.kept.put(name, found, sum(map(len, found.values())))
        if version not in found:
            raise DamagedObject(
                f"The archive's object {name} lacks version {version}: restore a backup."
            )
        return found[version]

    def fill(self, record: dict[str, Any]) -> None:
        """Put the content of a row of `states` where its body was, if it lies in an object."""
        if record["body"] is None and record["encoding"] is not None:
            name = self._database.value("SELECT object FROM archived WHERE state = ?", record["id"])
            if name is not None:
                record["body"] = self.content(name, record["version"])

    def _read(self, name: str) -> dict[int, bytes]:
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
                raise ValueError("it is not what was written")
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
        """Say once, not for each state, that contents are left out."""
        if not self._is_told:
            said = "Texts that cannot be read are left out (%d states lie in the archive): %s"
            _log.warning(said, self.states(), error)
            self._is_told = True

    def states(self) -> int:
        """How many states lie in objects."""
        return int(self._database.value("SELECT count(*) FROM archived"))

    def size(self) -> int | None:
        """The bytes of all objects; None where nobody can say now."""
        try:
            return self._objects().size(f"{self._database.meta(_ID)}/")
        except Unavailable:
            return None

    def problems(self) -> list[Problem]:
        """Every object that is damaged, and how many are missing; all of them are read."""
        found, lost = list[Problem](), dict[str, str]()
        rows = self._database.rows(
            "SELECT object, count(*), min(s.version), max(s.version) FROM archived a "
            "JOIN states s ON s.id = a.state GROUP BY object ORDER BY object"
        )
        for name, count, first, last in rows:
            try:
                held = self._read(name).keys()
                if sum(first <= version <= last for version in held) < count:
                    raise DamagedObject(f"The object {name} lacks versions.")
            except LostObject as error:
                lost[name] = str(error).removesuffix(f": {_FIND}.")
            except DamagedObject as error:
                found.append(Problem(str(error), name, _FIND))
        if lost:
            first, why = next(iter(lost.items()))
            found.append(Problem(f"{why} ({len(lost)} in all)", first, _FIND))
        return found

    # Writing; each inside a write of its own

    def note(self, run: VersionRun) -> tuple[str, bytes]:
        """The object of a run, which from now on is owed to be removed until it is needed."""
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
        """Move a run out of the store; False when it is no longer there as it was."""
        database, (first, last) = self._database, (min(run.contents), max(run.contents))
        states = database.column(
            "SELECT s.id FROM states s JOIN topics t ON t.id = s.topic WHERE s.topic = ? "
            "AND s.version BETWEEN ? AND ? AND s.encoding IS NOT NULL AND s.id <> t.latest "
            "AND NOT EXISTS (SELECT 1 FROM archived a WHERE a.state = s.id)",
            *(run.topic, first, last),
        )
        if len(states) != len(run.contents):
            return False
        objects = self._objects()
        objects.put(name, data)
        if objects.get(name) != data:
            raise Unavailable(
                f"What was written to the archive {objects.place} cannot be read back."
            )
        make_whole(run.topic, last + 1)
        cut = f"UPDATE states SET body = NULL, encoding = {WHOLE}, depth = 0 WHERE id = ?"
        database.run_many(cut, [(state,) for state in states])
        database.run_many("INSERT INTO archived VALUES (?, ?)", [(one, name) for one in states])
        database.run("DELETE FROM owed WHERE what = ?", ARCHIVE + name)
        return True

    def bring_home(self, database: Database, name: str) -> int:
        """Put the contents of an object back into the store, or into a copy of it; how many
        states. In the store the object is then owed to be removed."""
        rows = database.rows(
            "SELECT s.id, t.name, s.version, s.digest FROM archived a JOIN states s "
            "ON s.id = a.state JOIN topics t ON t.id = s.topic WHERE a.object = ? "
            "ORDER BY s.version",
            name,
        )
        depth, before, old = 0, 0, None
        for state, topic, version, digest in rows:
            content = self.content(name, version)
            if digest_of(topic, version, content) != digest:
                raise DamagedObject(f"The object {name} holds another text than {topic}@{version}.")
            is_next = version == before + 1 and depth + 1 < VERSIONS_AT_MOST
            encoding, body = pack(content, old if is_next else None)
            depth = depth + 1 if encoding in (DELTA, DELTA_ZIPPED) else 0
            database.run(
                "UPDATE states SET encoding = ?, depth = ?, body = ? WHERE id = ?",
                *(encoding, depth, body, state),
            )
            before, old = version, content
        database.run("DELETE FROM archived WHERE object = ?", name)
        if database is self._database:
            owe(database, ARCHIVE + name)
        return len(rows)

    def settle(self, what: str) -> bool:
        """Remove objects that are to be removed, unless a state is still in them. Return whether
        this is settled.

        Only a caller that sees all states can tell; a role limited to some spaces gets False.
        """
        start, database = what.removeprefix(ARCHIVE), self._database
        if not _NAME.fullmatch(start) and not _FOLDER.fullmatch(start):
            return True
        with database.transaction():  # nobody moves anything meanwhile
            if not database.sees_all():
                return False
            if not database.row("SELECT 1 FROM archived WHERE object LIKE ? LIMIT 1", f"{start}%"):
                objects = self._objects()
                if objects.get(self._marker()) is None:  # not mounted, or moved
                    raise LostObject(f"The archive is not in {objects.place}: {_FIND}.")
                objects.remove(start)
        return True


def _unpacked(data: bytes) -> dict[int, bytes]:
    reader = lzma.LZMADecompressor(memlimit=_UNPACKED_AT_MOST)
    whole = reader.decompress(data, max_length=_UNPACKED_AT_MOST)
    if not reader.eof:
        raise ValueError("it ends too early, or is too large")
    head, _, rest = whole.partition(b"\n")
    found, at = {}, 0
    for version, length in json.loads(head).items():
        found[int(version)] = rest[at : at + length]
        at += length
    if at != len(rest):
        raise ValueError("its lengths are wrong")
    return found


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
