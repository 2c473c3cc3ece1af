"""Bodies of states: whole texts, or deltas that are small and quick to apply.

A delta is a list of steps: insert these bytes, then copy a range of the old version. It is a format
of our own because a version usually differs from its parent in a few lines. Without the common
start and end there is little to compare, and applying a delta takes a few slices of about a
microsecond each.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from difflib import SequenceMatcher
from hashlib import blake2b
from itertools import accumulate

from hades.domain.rules import CONTENT_BYTES_AT_MOST
from hades.errors import Corrupt
from hades.store.database import intact

WHOLE, WHOLE_ZIPPED, DELTA, DELTA_ZIPPED = range(4)
"""The encodings of a stored body."""

LINES_COMPARED_AT_MOST = 2_000
"""A longer changed part is stored as one block, because comparing lines is quadratic."""

WHOLE_EVERY = 64
"""The most versions between two whole copies."""

ZIP_FROM_BYTES = 120
"""Shorter bodies gain nothing from compression."""

_ZIP_LEVEL = 6


def pack(
    new: bytes | None, old: bytes | None = None, depth: int = 0
) -> tuple[int | None, int, bytes | None]:
    """Return (encoding, depth, body) for a content, which is None for a forgotten topic.

    `old` is the content of the version before, and `depth` the number of deltas from its whole
    copy. The body is a delta if that has at most half of the bytes.
    """
    if new is None:
        return None, 0, None
    if old is not None and depth + 1 < WHOLE_EVERY:
        delta = make_delta(old, new)
        if 2 * len(delta) <= len(new):
            encoding, body = _zip(DELTA, delta)
            return encoding, depth + 1, body
    encoding, body = _zip(WHOLE, new)
    return encoding, 0, body


def digest_of(topic: str, version: int, content: bytes) -> bytes:
    """Return the hash of a state: of its content, its topic and its version."""
    digest = blake2b(f"{topic}\0{version}\0".encode(), digest_size=16)
    digest.update(content)
    return digest.digest()


def unpacked(
    topic: str, version: int, encoding: int | None, body: bytes | None, old: bytes | None
) -> bytes:
    """Return the content of a stored body. A delta needs `old`, the content of its parent.

    Raise Corrupt if it is damaged.
    """
    with intact(f"The state {topic}@{version}"):
        if encoding is None or not isinstance(body, bytes):
            raise ValueError("a version between it and the last whole copy is missing")
        if encoding in (WHOLE_ZIPPED, DELTA_ZIPPED):
            body = unzip(body, CONTENT_BYTES_AT_MOST)
        if encoding in (WHOLE, WHOLE_ZIPPED):
            return body
        if old is None:
            raise ValueError("the parent of a delta is missing")
        return apply_delta(old, body)


def checked(topic: str, version: int, content: bytes, digest: bytes) -> bytes:
    """Return a content as it is. Raise Corrupt if it does not match its hash."""
    if digest_of(topic, version, content) != digest:
        raise Corrupt(
            f"The content of {topic}@{version} does not match its hash: run `hades check`, or "
            "restore a backup."
        )
    return content


def make_delta(old: bytes, new: bytes) -> bytes:
    """Return the delta that turns `old` into `new`."""
    out = bytearray()
    insert_from = 0
    for old_start, new_start, size in _matches(old, new):
        _put_varint(out, new_start - insert_from)
        out += new[insert_from:new_start]
        _put_varint(out, old_start)
        _put_varint(out, size)
        insert_from = new_start + size
    return bytes(out)


def apply_delta(old: bytes, delta: bytes) -> bytes:
    """Return the new version from the old one and a delta; ValueError if they do not match."""
    parts = []
    at = total = 0
    while at < len(delta):
        inserted, at = _varint(delta, at)
        if at + inserted > len(delta):
            raise ValueError("the delta ends too early")
        parts.append(delta[at : at + inserted])
        at += inserted
        start, at = _varint(delta, at)
        size, at = _varint(delta, at)
        if start + size > len(old):
            raise ValueError("the delta copies from beyond its parent")
        parts.append(old[start : start + size])
        total += inserted + size
        if total > CONTENT_BYTES_AT_MOST:
            raise ValueError("it is larger than a text may be")
    return b"".join(parts)


def _matches(old: bytes, new: bytes) -> list[tuple[int, int, int]]:
    """Return common blocks as (old start, new start, size). The last may be empty."""
    most = min(len(old), len(new))
    prefix = _length_shared(most, lambda low, high: old[low:high] == new[low:high])
    suffix = _length_shared(
        most - prefix,
        lambda low, high: (
            old[len(old) - high : len(old) - low] == new[len(new) - high : len(new) - low]
        ),
    )
    blocks = [(0, 0, prefix)] if prefix else []
    old_lines = old[prefix : len(old) - suffix].splitlines(keepends=True)
    new_lines = new[prefix : len(new) - suffix].splitlines(keepends=True)
    # Two single lines differ: equal ones would be part of the common start.
    if 2 < len(old_lines) + len(new_lines) <= LINES_COMPARED_AT_MOST and old_lines and new_lines:
        blocks += _line_blocks(old_lines, new_lines, prefix)
    blocks.append((len(old) - suffix, len(new) - suffix, suffix))
    return blocks


def _line_blocks(old: list[bytes], new: list[bytes], offset: int) -> list[tuple[int, int, int]]:
    old_starts = list(accumulate(map(len, old), initial=offset))
    new_starts = list(accumulate(map(len, new), initial=offset))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        (old_starts[a], new_starts[b], old_starts[a + size] - old_starts[a])
        for a, b, size in matcher.get_matching_blocks()
        if size
    ]


def _length_shared(at_most: int, is_same: Callable[[int, int], bool]) -> int:
    """Return the length of the common start, or end, of two texts, by bisection.

    `is_same` compares the parts of both texts between two distances from that start or end.
    """
    low = 0
    high = at_most
    while low < high:
        middle = (low + high + 1) // 2
        if is_same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _zip(encoding: int, body: bytes) -> tuple[int, bytes]:
    if len(body) >= ZIP_FROM_BYTES:
        # For a short text, setting up zlib's full tables takes longer than compressing.
        window_bits, memory_level = (12, 4) if len(body) <= 1024 else (15, 8)
        press = zlib.compressobj(_ZIP_LEVEL, zlib.DEFLATED, window_bits, memory_level)
        zipped = press.compress(body) + press.flush()
        if len(zipped) < len(body) * 3 // 4:
            return encoding + 1, zipped
    return encoding, body


def unzip(body: bytes, bytes_at_most: int) -> bytes:
    """Return bytes that zlib compressed; ValueError if they end too early or are too many."""
    reader = zlib.decompressobj()
    whole = reader.decompress(body, bytes_at_most + 1)
    if not reader.eof or len(whole) > bytes_at_most:
        raise ValueError(f"it ends too early, or has more than {bytes_at_most:,} bytes")
    return whole


def _put_varint(out: bytearray, number: int) -> None:
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(data):
            raise ValueError("the delta ends too early")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
