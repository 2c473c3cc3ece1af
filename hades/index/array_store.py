"""Array store: arrays of one kind saved together beside the memory.

Each save replaces the whole file, so a reader finds the old arrays or the new ones, never a mix.
The arrays are derived from the store, so a damaged file is rebuilt.
"""

from __future__ import annotations

import fcntl
import json
import logging
import math
import os
import re
import secrets
import struct
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from hades.errors import Unavailable
from hades.store.drafts import remove_path

Array = npt.NDArray[Any]
UNREADABLE = (OSError, ValueError, LookupError, TypeError, struct.error)
"""The errors that reading a damaged file can raise."""
VERIFIED_AT_ONCE_BYTES = 64_000_000
"""Larger files are verified in a thread; reading this much takes 40 ms."""
LOCK_SECONDS = 60.0
"""How long a process waits for another that writes to the indexes."""
_LOOK_AGAIN_SECONDS = 0.02
_BLOCK_BYTES = 1_000_000
_MARK = b"HADESIX1"
_HEAD = struct.Struct("<8sII")
_ALIGNED = 64
_OWN = re.compile(r"\.?(?:arrays|links|graph\d+|spaces|words)\b.*")
_LOG = logging.getLogger(__name__)


class Stored(Protocol):
    """An object that can be saved as arrays and restored from them."""

    def arrays(self, name: str) -> Mapping[str, Array | Sequence[Array]]:
        """Return its arrays under keys that begin with `name`; one may be a list of its parts."""
        ...

    def take(self, name: str, arrays: Mapping[str, Array]) -> None:
        """Restore the object from saved arrays. Raise ValueError if they contradict each other."""
        ...


class ArrayStore:
    """A file of the index folder with arrays of one kind, mapped rather than copied.

    The file begins with a mark, the length of its header and the header's checksum. The header
    (JSON) holds the revision of the memory and the offset of each array behind the header.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name

    def load(self, revision: dict[str, Any], now: int) -> tuple[int, dict[str, Array]] | None:
        """Return change number and arrays saved for a revision (format, generation …), or None.

        Arrays of a later change than `now` are ignored, because the memory was restored from a
        backup since. A damaged file is removed.
        """
        path = self._folder / self._name
        try:
            with path.open("rb") as file:
                header, arrays, first = _mapped(file)
            change = int(header["change"])
            wanted = {"kind": self._name, **revision}
            if change > now or any(header[key] != value for key, value in wanted.items()):
                return None
            verify({path: (first, header["bytes"], header["checksum"])}, self._folder)
            return change, arrays
        except FileNotFoundError:
            return None
        except UNREADABLE as error:
            set_aside(path, error)
            return None

    def save(
        self, revision: dict[str, Any], change: int, arrays: Mapping[str, Array | Sequence[Array]]
    ) -> dict[str, Array]:
        """Replace the file by these arrays, for a revision and a change. Return them mapped."""
        body = []
        places = {}
        end = 0
        for name, given in arrays.items():
            # Parts are written one by one: joining them would hold the array in memory twice.
            parts = [given] if isinstance(given, np.ndarray) else list(given)
            shape = (sum(map(len, parts)), *parts[0].shape[1:])
            size = sum(part.nbytes for part in parts)
            places[name] = parts[0].dtype.str, shape, end
            body += [np.ascontiguousarray(part) for part in parts]
            body.append(np.zeros(-size % _ALIGNED, np.uint8))
            end += size + len(body[-1])
        checksum = 0
        for part in body:
            checksum = zlib.crc32(part.data, checksum)
        header = {"kind": self._name, **revision, "change": change, "arrays": places}
        text = json.dumps({**header, "bytes": end, "checksum": checksum}).encode()
        text += b" " * (-(_HEAD.size + len(text)) % _ALIGNED)
        draft = self._folder / f"{self._name}-{secrets.token_hex(6)}"
        try:
            with draft.open("wb+") as file:
                file.write(_HEAD.pack(_MARK, len(text), zlib.crc32(text)) + text)
                for part in body:
                    file.write(part.data)
                file.flush()
                mapped = _mapped(file)[1]
            os.replace(draft, self._folder / self._name)
        finally:
            for old in self._folder.glob(f"{self._name}-*"):  # drafts of killed processes too
                remove_path(old)
        return mapped


def _mapped(file: BinaryIO) -> tuple[dict[str, Any], dict[str, Array], int]:
    """Return the header of a file, its mapped arrays, and the offset where they begin.

    The arrays are plain ndarrays, because slicing a `memmap` takes 10 µs and a question slices a
    hundred times.
    """
    data = np.asarray(np.memmap(file, np.uint8, "r"))
    mark, length, checksum = _HEAD.unpack(data[: _HEAD.size].tobytes())
    first = _HEAD.size + length
    text = data[_HEAD.size : first].tobytes()
    if mark != _MARK or zlib.crc32(text) != checksum:
        raise ValueError("its header is damaged")
    header = json.loads(text)
    body = data[first:]
    if len(body) != header["bytes"]:
        raise ValueError("its length is wrong")
    arrays = {}
    for name, (kind, shape, start) in header["arrays"].items():
        size = math.prod(shape) * np.dtype(kind).itemsize
        arrays[name] = body[start : start + size].view(kind).reshape(shape)
    return header, arrays, first


def verify_arrays(path: Path) -> None:
    """Check the length and checksum of a file of arrays. Raise ValueError if it is damaged."""
    with path.open("rb") as file:
        header, _, first = _mapped(file)
    verify({path: (first, header["bytes"], header["checksum"])})


Bodies = Mapping[Path, tuple[int, int, int]]
"""For each file, the offset from which it is verified, the number of bytes, and their checksum."""


_late: Counter[Path] = Counter()
_verifying: list[threading.Thread] = []


def late_damage(folder: Path, *, wait: bool = False) -> int:
    """Return how often a file of an index folder was found damaged while it was in use.

    With `wait`, first wait for the verifications in progress.
    """
    for thread in _verifying if wait else ():
        thread.join()
    return _late[folder]


def verify(bodies: Bodies, folder: Path | None = None) -> None:
    """Check the lengths and checksums of files. Raise ValueError if one is damaged.

    Lengths are checked at once. Checksums of large files are checked in a thread if `folder` is
    given; the thread counts damage for `late_damage`.
    """
    with ExitStack() as opened:
        files = [opened.enter_context(path.open("rb")) for path in bodies]
        for file, (first, size, _) in zip(files, bodies.values(), strict=True):
            if os.fstat(file.fileno()).st_size != first + size:
                raise ValueError(f"{Path(file.name).name} has another length")
        size = sum(size for _, size, _ in bodies.values())
        if folder is None or size <= VERIFIED_AT_ONCE_BYTES:
            if why := _damage(files, bodies):
                raise ValueError(why)
            return
        kept = opened.pop_all()

    def check() -> None:
        with kept:
            if why := _damage(files, bodies):
                _LOG.warning("the index %s is damaged (%s): rebuilding it", folder, why)
                _late[folder] += 1

    _verifying[:] = [thread for thread in _verifying if thread.is_alive()]
    _verifying.append(threading.Thread(target=check, name="hades-verify", daemon=True))
    _verifying[-1].start()


def _damage(files: Sequence[BinaryIO], bodies: Bodies) -> str:
    """Return a sentence that names the first damaged file, or an empty text."""
    for file, (first, _, expected) in zip(files, bodies.values(), strict=True):
        if checksum(file, first) != expected:
            return f"{Path(file.name).name} is not as it was written"
    return ""


def checksum(file: BinaryIO, first: int = 0) -> int:
    """Return the CRC-32 of a file from the offset `first` on."""
    crc = 0
    file.seek(first)
    while block := file.read(_BLOCK_BYTES):
        crc = zlib.crc32(block, crc)
    return crc


def set_aside(path: Path, why: object) -> None:
    """Log that a derived file is damaged, and remove it so that it is rebuilt."""
    _LOG.warning("the index %s is damaged (%s): rebuilding it", path, why)
    remove_path(path)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of an index folder, which one process has at a time. Create the folder.

    Wait up to LOCK_SECONDS, then raise Unavailable. The lock file is never removed.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "lock").open("a+") as lock:
        ends = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > ends:
                    lock.seek(0)
                    raise Unavailable(
                        f"The index {folder} has been locked for {LOCK_SECONDS:g} s by process "
                        f"{lock.read(20) or '?'}, which may be building it: ask again later."
                    ) from None
                time.sleep(_LOOK_AGAIN_SECONDS)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def own_files(folder: Path) -> list[Path]:
    """Return the files and folders that HADES wrote into an index folder, without the lock."""
    return [path for path in folder.iterdir() if _OWN.fullmatch(path.name)]


def drop_files(folder: Path) -> bool:
    """Remove all index files of a folder and return whether all are gone.

    Processes that have them open rebuild them. Other files stay: the folder may be a link.
    """
    with locked(folder):
        for path in own_files(folder):
            remove_path(path)
        return not own_files(folder)


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write data with a checksum to a small file, replacing it atomically."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    draft.write_text(json.dumps([data, zlib.crc32(json.dumps(data).encode())]))
    os.replace(draft, path)


def read_json(path: Path) -> dict[str, Any]:
    """Return the data that `write_json` wrote. Raise an error of UNREADABLE if it is damaged."""
    data, checksum = json.loads(path.read_text())
    if zlib.crc32(json.dumps(data).encode()) != checksum:
        raise ValueError("its checksum is wrong")
    return dict(data)
