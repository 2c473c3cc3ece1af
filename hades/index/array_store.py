"""Array store: arrays of one kind saved together beside the memory.

Each saving replaces a whole file, so a reader finds the old arrays or the new ones, never a
mixture. Whatever is wrong with them, they can be made anew.
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
"""What reading a damaged file can raise."""
VERIFIED_AT_ONCE_BYTES = 64_000_000
"""So much is read in 40 ms; more is verified beside the questions."""
LOCK_SECONDS = 60.0
"""So long a process waits for another that writes to the indexes."""
_LOOK_AGAIN_SECONDS = 0.02
_BLOCK_BYTES = 8_000_000
_MARK = b"HADESIX1"
_HEAD = struct.Struct("<8sII")
_ALIGNED = 64
_OWN = re.compile(r"\.?(?:arrays|links|graph\d+|spaces|words)\b.*")
_LOG = logging.getLogger(__name__)


class Stored(Protocol):
    """What is kept as arrays: it gives them to be saved, and takes those that were saved."""

    def arrays(self, name: str) -> Mapping[str, Array | Sequence[Array]]:
        """Its arrays by name; one may come in parts that follow each other."""
        ...

    def take(self, name: str, arrays: Mapping[str, Array]) -> None:
        """Be what these arrays say; ValueError when they do not belong together."""
        ...


class ArrayStore:
    """One kind of arrays: a file of the index folder, mapped rather than copied.

    It begins with a mark, the length of its header and a checksum of that. The header (JSON)
    says which memory the arrays are of, at which change, and where each lies behind it.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name

    def load(self, revision: dict[str, Any], now: int) -> tuple[int, dict[str, Array]] | None:
        """The change and the arrays that were saved for this revision; None when there are none.

        What stands at a later change than `now` is of a file that was put back since. A
        damaged file is set aside.
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
        """Save arrays for a revision at a change, in place of older ones; as mapped arrays."""
        body, places, end = [], {}, 0
        for name, given in arrays.items():
            # In parts as they come: joined in memory they would be there twice.
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
            for old in self._folder.glob(f"{self._name}-*"):  # also of a process that was killed
                remove_path(old)
        return mapped


def _mapped(file: BinaryIO) -> tuple[dict[str, Any], dict[str, Array], int]:
    """The header of a file, its arrays, mapped, and where they begin.

    Plain arrays: each slice of numpy's own mapped kind takes 10 µs, a hundred of them a question.
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
    """See whether a file of arrays is as it was written; ValueError when it is not."""
    with path.open("rb") as file:
        header, _, first = _mapped(file)
    verify({path: (first, header["bytes"], header["checksum"])})


Bodies = Mapping[Path, tuple[int, int, int]]
"""By file: where what is verified begins, how many bytes it has, and their checksum."""


_late: Counter[Path] = Counter()
_verifying: list[threading.Thread] = []


def late_damage(folder: Path, *, wait: bool = False) -> int:
    """How often something of an index folder was in use when it turned out to be damaged.

    `wait` until what is being verified is done.
    """
    for thread in _verifying if wait else ():
        thread.join()
    return _late[folder]


def verify(bodies: Bodies, folder: Path | None = None) -> None:
    """See whether files are as they were written; ValueError when they are not.

    Their lengths are looked at now. What is in them, too, where that is a matter of
    milliseconds or no index folder is given; else in a thread, which notes `late_damage`.
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

    def look() -> None:
        with kept:
            if why := _damage(files, bodies):
                _LOG.warning("the index %s is damaged (%s): rebuilding it", folder, why)
                _late[folder] += 1

    _verifying[:] = [one for one in _verifying if one.is_alive()]
    _verifying.append(threading.Thread(target=look, name="hades-verify", daemon=True))
    _verifying[-1].start()


def _damage(files: Sequence[BinaryIO], bodies: Bodies) -> str:
    """Which file is not as it was written; nothing when all are."""
    for file, (first, _, expected) in zip(files, bodies.values(), strict=True):
        if checksum(file, first) != expected:
            return f"{Path(file.name).name} is not as it was written"
    return ""


def checksum(file: BinaryIO, first: int = 0) -> int:
    """The checksum of a file from somewhere on."""
    found = 0
    file.seek(first)
    while block := file.read(_BLOCK_BYTES):
        found = zlib.crc32(block, found)
    return found


def set_aside(path: Path, why: object) -> None:
    """Say that a derived file cannot be used, and remove it: it is made anew."""
    _LOG.warning("the index %s is damaged (%s): rebuilding it", path, why)
    remove_path(path)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process at a time; the lock itself is never removed.

    Unavailable when another holds it for too long: it may be making a large index.
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
                        f"{lock.read(20) or '?'}, which may be making it: ask again later."
                    ) from None
                time.sleep(_LOOK_AGAIN_SECONDS)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def own_files(folder: Path) -> list[Path]:
    """What we wrote into a folder of indexes, besides its lock."""
    return [one for one in folder.iterdir() if _OWN.fullmatch(one.name)]


def drop_files(folder: Path) -> bool:
    """Remove everything that is derived; whoever has it open makes it anew.

    Whether all is gone. What is not ours stays: the folder may be a link to another.
    """
    with locked(folder):
        for path in own_files(folder):
            remove_path(path)
        return not own_files(folder)


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Replace a small file at once."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    draft.write_text(json.dumps([data, zlib.crc32(json.dumps(data).encode())]))
    os.replace(draft, path)


def read_json(path: Path) -> dict[str, Any]:
    """What was written; ValueError and the like when it is not whole."""
    data, checksum = json.loads(path.read_text())
    if zlib.crc32(json.dumps(data).encode()) != checksum:
        raise ValueError("its checksum is wrong")
    return dict(data)
