"""Array store: arrays of one kind saved together beside the memory.

Each saving replaces a whole file, so a reader finds the old arrays or the new ones, never a
mixture. Whatever is wrong with them, they can be made anew.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import secrets
import shutil
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
UNREADABLE = (OSError, ValueError, KeyError, TypeError, struct.error)
"""What reading a damaged file can raise."""
_MARK = b"HADESIX1"
_HEAD = struct.Struct("<8sII")
_ALIGNED = 64


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

    def load(self, stand: dict[str, Any], now: int) -> tuple[int, dict[str, Array]] | None:
        """The change and the arrays that were saved for this stand; None when there are none.

        What stands at a later change than `now` is of a file that was put back since.
        """
        try:
            header, arrays = _mapped(self._folder / self._name)
            change = int(header["change"])
            wanted = {"kind": self._name, **stand}
            is_of_it = all(header[key] == value for key, value in wanted.items())
            return (change, arrays) if is_of_it and change <= now else None
        except UNREADABLE:
            return None

    def save(
        self, stand: dict[str, Any], change: int, arrays: Mapping[str, Array | Sequence[Array]]
    ) -> dict[str, Array]:
        """Save arrays for a stand at a change, in place of older ones; as mapped arrays."""
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
        header = {"kind": self._name, **stand, "change": change, "arrays": places}
        text = json.dumps({**header, "bytes": end, "checksum": checksum}).encode()
        text += b" " * (-(_HEAD.size + len(text)) % _ALIGNED)
        draft = self._folder / f"{self._name}-{secrets.token_hex(6)}"
        with draft.open("wb") as file:
            file.write(_HEAD.pack(_MARK, len(text), zlib.crc32(text)) + text)
            for part in body:
                file.write(part.data)
        os.replace(draft, self._folder / self._name)
        for old in self._folder.glob(f"{self._name}-*"):  # of a process that was killed
            remove(old)
        return _mapped(self._folder / self._name)[1]


def _mapped(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header of a file and its arrays, mapped; ValueError when it is not whole.

    Plain arrays: each slice of numpy's own mapped kind takes 10 µs, a hundred of them a question.
    """
    data = np.asarray(np.memmap(path, np.uint8, "r"))
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
    return header, arrays


def remove(path: Path) -> None:
    """Remove a file or a folder, if it can be done."""
    with suppress(OSError):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process at a time; the lock itself is never removed."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def drop_files(folder: Path, space: int) -> None:
    """Remove what is derived from a space; whoever has it open makes it anew.

    All arrays hold something of it. The words of other spaces stay: nothing must show there.
    """
    with locked(folder):
        arrays = (path for path in folder.iterdir() if path.name not in ("lock", "spaces"))
        for path in (*arrays, *(folder / "spaces").glob(f"{space}.*")):
            remove(path)


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Replace a small file at once."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    draft.write_text(json.dumps(data))
    os.replace(draft, path)
