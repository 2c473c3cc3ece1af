"""Connections and transactions: how the file is opened, read, written and guarded.

Every thread has its own connection. A write takes the file's single write lock at
its start, gets the next change number, and is on disk when it returns
(write-ahead log, synchronous=FULL). Whatever SQLite raises leaves here as a
HadesError with one clear sentence.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hades.domain.times import FOREVER, AsOf, Clock, to_micros
from hades.errors import Conflict, Corrupt, Denied, HadesError, InvalidInput, NotFound, Unavailable
from hades.store.port import Write
from hades.store.sqlite.migrations import APPLICATION_ID, MIGRATIONS, statements

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_STATEMENTS_CACHED = 256

_FAULTS = (sqlite3.Error, UnicodeError, OverflowError)
"""What SQLite raises; damaged text inside an error message cannot even be decoded."""


class _Held:
    """A thread's connection; it closes when the thread, and so its holder, is gone."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()


class _Cancelled(Exception):
    """Undoes a write that has nothing to say."""


class Engine:
    """One memory file and the connections to it."""

    def __init__(self, path: Path, *, read_only: bool, busy_timeout_s: float, clock: Clock) -> None:
        self.path = path
        self.read_only = read_only
        self.clock = clock
        self.busy_timeout_s = busy_timeout_s
        self._local = threading.local()
        self._open: weakref.WeakSet[_Held] = weakref.WeakSet()
        self._pid = os.getpid()
        self._closed = False
        self._registered = _register(path)

    # Connections

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection, opened when first asked for."""
        held: _Held | None = getattr(self._local, "held", None)
        if held is None or self._closed or self._pid != os.getpid():
            held = self._connect()
        return held.connection

    def _connect(self) -> _Held:
        if self._closed:
            raise Unavailable("This memory is closed: open it again.")
        if self._pid != os.getpid():
            # A connection must not cross a fork: the child starts with its own.
            self._pid, self._open = os.getpid(), weakref.WeakSet()
            self._local = threading.local()
        with translated(self.path):
            held = _Held(self._open_file())
        self._open.add(held)
        self._local.held = held
        return held

    def _open_file(self) -> sqlite3.Connection:
        mode = "ro" if self.read_only else "rw"
        connection = self._open_uri(mode)
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            # A write-ahead log needs its index file; where none can be made (a folder
            # that is read-only) a file nobody writes to can still be read as it lies.
            if not self.read_only or Path(f"{self.path}-wal").exists():
                raise
            connection.close()
            connection = self._open_uri("ro&immutable=1")
        if not self.read_only:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA secure_delete=ON")
        connection.execute("PRAGMA mmap_size=268435456")
        connection.execute("PRAGMA cache_size=-65536")
        return connection

    def _open_uri(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=self.busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_STATEMENTS_CACHED,
        )

    def close(self) -> None:
        """Close every connection; what was written stays written."""
        if self._closed:
            return
        self._closed = True
        if self._pid == os.getpid():
            for held in list(self._open):
                held.connection.close()
            _unregister(self._registered)

    # Reading

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """All rows of a statement."""
        try:
            return self.connection.execute(sql, values).fetchall()
        except _FAULTS as error:
            raise translate(error, self.path) from error

    def row(self, sql: str, *values: Any) -> Any:
        """The first row of a statement, or None."""
        try:
            return self.connection.execute(sql, values).fetchone()
        except _FAULTS as error:
            raise translate(error, self.path) from error

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside sees the same moment, whoever writes meanwhile."""
        connection = self.connection
        if connection.in_transaction:
            yield
            return
        self.run("BEGIN")
        self._local.reading = True
        try:
            yield
        finally:
            self._local.reading = False
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    # Writing

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes inside become one commit; inside another, a part that can fail alone."""
        if self.read_only:
            raise Denied(f"{self.path} is open for reading only.")
        connection = self.connection
        if getattr(self._local, "reading", False):
            raise InvalidInput("A snapshot is for reading: leave it, then write.")
        nested = connection.in_transaction
        begin, commit, undo = (
            ("SAVEPOINT part", "RELEASE part", "ROLLBACK TO part")
            if nested
            else ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
        )
        self.run(begin)
        if not nested:
            self._local.afterwards = []
        try:
            yield
            self.run(commit)
        except BaseException:
            if connection.in_transaction:
                connection.execute(undo)
                if nested:
                    connection.execute(commit)
            raise
        if not nested:
            for call in self._local.afterwards:
                call()

    def afterwards(self, call: Callable[[], object]) -> None:
        """Do something once the transaction under way is committed."""
        self._local.afterwards.append(call)

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside a write or a snapshot."""
        return self.connection.in_transaction

    @contextmanager
    def write(self, actor: str, action: str, space: int | None = None) -> Iterator[Write]:
        """One logged write: it happens whole, under one number, or not at all."""
        try:
            with self.transaction():
                last = self.row("SELECT number, at FROM changes ORDER BY number DESC LIMIT 1")
                write = Write(1, self.clock(), space)
                if last:
                    write = Write(last[0] + 1, max(write.at, last[1] + 1), space)
                yield write
                if write.cancelled:
                    raise _Cancelled
                if write.logged:
                    self.run(
                        "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?)",
                        *(write.change, write.at, self.actor_id(actor)),
                        *(action, write.space, write.subject),
                    )
        except _Cancelled:
            pass

    def run(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """A statement that changes something; inside `write` or `transaction` only."""
        try:
            return self.connection.execute(sql, values)
        except _FAULTS as error:
            raise translate(error, self.path) from error

    def insert(self, sql: str, *values: Any) -> int:
        """Insert a row; its id."""
        return int(self.run(sql, *values).lastrowid or 0)

    def actor_id(self, name: str) -> int:
        """The small number that stands for who is writing."""
        return self._interned("actors", name)

    def relation_id(self, name: str) -> int:
        """The small number that stands for a type of edge."""
        return self._interned("relations", name)

    def _interned(self, table: str, name: str) -> int:
        known = {
            "actors": (
                "SELECT id FROM actors WHERE name = ?",
                "INSERT INTO actors (name) VALUES (?)",
            ),
            "relations": (
                "SELECT id FROM relations WHERE name = ?",
                "INSERT INTO relations (name) VALUES (?)",
            ),
        }
        look_up, insert = known[table]
        found = self.row(look_up, name)
        return int(found[0]) if found else self.insert(insert, name)

    # Facts about the file

    def change(self) -> int:
        """The number of the last committed write."""
        found = self.row("SELECT number FROM changes ORDER BY number DESC LIMIT 1")
        return int(found[0]) if found else 0

    def now(self) -> int:
        """Now, and never before the last write: a clock set back hides nothing."""
        found = self.row("SELECT at FROM changes ORDER BY number DESC LIMIT 1")
        return max(self.clock(), found[0]) if found else self.clock()

    def moment(self, as_of: AsOf) -> tuple[int, int]:
        """An AsOf as (valid, known) in microseconds; an open known axis sees everything."""
        known = FOREVER if as_of.known is None else to_micros(as_of.known)
        if as_of.valid is not None:
            return to_micros(as_of.valid), known
        return min(self.now(), known), known

    def meta(self, key: str) -> str | None:
        """A named fact about the file."""
        found = self.row("SELECT value FROM meta WHERE key = ?", key)
        return str(found[0]) if found else None


def open_engine(
    path: Path, *, create: bool, read_only: bool, busy_timeout_s: float, clock: Clock
) -> Engine:
    """Open the memory at `path`, making it when there is none and `create` says so."""
    if "\0" in str(path):
        raise InvalidInput("A path cannot hold a NUL character.")
    try:
        path = path.expanduser()
        is_there = path.exists()
        is_folder = path.is_dir()
    except (ValueError, RuntimeError, OSError) as error:
        raise InvalidInput(f"{str(path)!r} cannot be a path: {error}.") from error
    if is_folder:
        raise InvalidInput(
            f"{path} is a folder: give the path of a memory file, such as notes.hades."
        )
    if not is_there:
        if not create or read_only:
            raise NotFound(
                f"There is no memory at {path}: remember something first, or check the path."
            )
        if not path.parent.is_dir():
            raise NotFound(f"The folder {path.parent} does not exist: create it first.")
        _make_file(path, clock)
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file: give the path of a memory.")
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    with _OPENING:
        if not _is_registered(path):
            _recognise(path)
        engine = Engine(
            path,
            read_only=read_only or not writable,
            busy_timeout_s=busy_timeout_s,
            clock=clock,
        )
    try:
        _migrate(engine)
    except BaseException:
        engine.close()
        raise
    return engine


# Closing any descriptor of a file drops all locks this process holds on it (POSIX), and
# with them SQLite's. So a file is read directly only while no engine here has it open.
_OPENING = threading.RLock()
_registry: dict[tuple[int, int], int] = {}


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _is_registered(path: Path) -> bool:
    return _registry.get(_identity(path), 0) > 0


def _register(path: Path) -> tuple[int, int]:
    with _OPENING:
        identity = _identity(path)
        _registry[identity] = _registry.get(identity, 0) + 1
        return identity


def _unregister(identity: tuple[int, int]) -> None:
    with _OPENING:
        _registry[identity] -= 1
        if not _registry[identity]:
            del _registry[identity]


def _make_file(path: Path, clock: Clock) -> None:
    """Make an empty memory beside `path`, then give it its name in one step."""
    for left_over in (Path(f"{path}-wal"), Path(f"{path}-shm")):
        if left_over.exists():
            raise Conflict(
                f"{left_over} is left from a memory that was moved or removed: move it along, "
                "or delete it to start anew."
            )
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    with translated(path):
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            connection = sqlite3.connect(draft, isolation_level=None)
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
                _apply(connection, 0, clock)
                now = clock()
                generation = secrets.token_hex(8)
                connection.execute("INSERT INTO meta VALUES ('generation', ?)", (generation,))
                connection.execute(
                    "INSERT INTO spaces (name, created_at) VALUES ('default', ?)", (now,)
                )
            finally:
                connection.close()
            try:
                os.link(draft, path)
            except FileExistsError:
                pass  # another process was first: theirs is as good as ours
            except OSError:
                # Some file systems know no links; there a rename must do.
                if not path.exists():
                    os.rename(draft, path)
            _sync_folder(path.parent)
        finally:
            draft.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _recognise(path: Path) -> None:
    """Refuse what is not a memory before SQLite ever touches it."""
    with translated(path), path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
        size = os.fstat(file.fileno()).st_size
    if header and not header.startswith(_MAGIC):
        raise InvalidInput(f"{path} is not a HADES memory; it was left as it is.")
    if len(header) < _HEADER_BYTES:
        raise Corrupt(
            f"{path} is empty or cut short ({size} bytes): restore a backup, or remove it "
            "with its -wal and -shm files to start anew."
        )
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise InvalidInput(
            f"{path} is an SQLite file of another program, not a HADES memory; "
            "it was left as it is."
        )
    page_bytes = int.from_bytes(header[16:18], "big")
    page_bytes = 65536 if page_bytes == 1 else page_bytes
    pages = int.from_bytes(header[28:32], "big")
    wal = Path(f"{path}-wal")
    if size < pages * page_bytes and not (wal.exists() and wal.stat().st_size):
        raise Corrupt(
            f"{path} is cut short ({size:,} bytes of {pages * page_bytes:,}): restore a backup."
        )


def _migrate(engine: Engine) -> None:
    def version() -> int:
        return int(engine.row("PRAGMA user_version")[0])

    if version() > len(MIGRATIONS):
        raise Unavailable(
            f"{engine.path} was written by a newer HADES (file version {version()}, "
            f"this one knows {len(MIGRATIONS)}): upgrade hades-memory to open it."
        )
    if version() == len(MIGRATIONS):
        return
    with engine.transaction():
        _apply(engine.connection, version(), engine.clock)


def _apply(connection: sqlite3.Connection, done: int, clock: Clock) -> None:
    own = not connection.in_transaction
    if own:
        connection.execute("BEGIN IMMEDIATE")
    for number, (name, script) in enumerate(MIGRATIONS[done:], start=done + 1):
        for statement in statements(script):
            connection.execute(statement)
        connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (number, name, clock()))
        connection.execute(f"PRAGMA user_version={number}")
    if own:
        connection.execute("COMMIT")


# Errors

_BUSY = "Another process is writing to {path} and did not finish in time: try again."
_FULL = "There is no room left on the disk of {path}: nothing was written; free some space."
_DENIED = "{path} cannot be written: check its permissions and those of its folder."
_DAMAGED = "{path} is damaged ({error}): run `hades check`, or restore a backup."
_CANNOT_OPEN = "{path} cannot be opened: check that it exists and that you may read it."

_SENTENCES: tuple[tuple[tuple[str, ...], type[HadesError], str], ...] = (
    (("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL"), Unavailable, _BUSY),
    (("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE"), Unavailable, _FULL),
    (("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH"), Denied, _DENIED),
    (("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT", "SQLITE_IOERR_SHORT"), Corrupt, _DAMAGED),
    (("SQLITE_CANTOPEN",), Unavailable, _CANNOT_OPEN),
    (("SQLITE_TOOBIG",), InvalidInput, "That is too large to store: split it into parts."),
    (("SQLITE_CONSTRAINT",), InvalidInput, "What was given contradicts itself ({error})."),
    (("SQLITE_IOERR",), Unavailable, "The disk of {path} does not answer ({error}): check it."),
)


def translate(error: Exception, path: Path) -> HadesError:
    """The HadesError that says in one sentence what SQLite or the system meant."""
    if isinstance(error, OSError):
        if error.errno in (28, 122):
            return Unavailable(_FULL.format(path=path))
        kind: type[HadesError] = Denied if isinstance(error, PermissionError) else Unavailable
        return kind(f"{path} cannot be used ({error.strerror or error}): check the path.")
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
        return Unavailable("This memory is closed: open it again.")
    if isinstance(error, sqlite3.InterfaceError | sqlite3.ProgrammingError):
        return InvalidInput(f"A value of a wrong type was given: {error}.")
    name = getattr(error, "sqlite_errorname", "") or ""
    for prefixes, error_kind, sentence in _SENTENCES:
        if name.startswith(prefixes):
            return error_kind(sentence.format(path=path, error=error))
    if isinstance(error, OverflowError):
        return InvalidInput("That number is too large.")
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput("That text has a lone surrogate: it is not valid Unicode.")
    if isinstance(error, UnicodeDecodeError) or "decode" in str(error):
        return Corrupt(_DAMAGED.format(path=path, error="text that is not UTF-8"))
    return Corrupt(_DAMAGED.format(path=path, error=error))


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Let nothing but HadesErrors out for what the file or the disk does."""
    try:
        yield
    except (*_FAULTS, OSError) as error:
        raise translate(error, path) from error
