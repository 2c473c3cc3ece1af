"""Limits: how often a caller may ask, and how large a request may be."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

REQUESTS_PER_S = 200.0
BURST = 2.0
"""How many seconds' worth of requests may come at once."""
BODY_BYTES_AT_MOST = 32 * 1024 * 1024
QUESTION_BYTES_AT_MOST = 1024 * 1024
UPLOAD_BYTES_AT_MOST = 1024 * 1024 * 1024
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_NAMES_AT_MOST = 10_000
_FILES = re.compile(rb"/v1/admin/(import|restore)")
_JOBS = re.compile(rb"/v1/spaces/[^/]+/jobs")
_HELD_IN_MEMORY = ("application/json", "multipart/")
_QUESTIONS = re.compile(rb"/v1/spaces/[^/]+/(ask|rank|recall|search)|/graphql")


@dataclass(frozen=True, slots=True)
class Limits:
    """What requests are held to."""

    requests_per_s: float = REQUESTS_PER_S
    """Of one key; 0: as many as it likes."""
    body_bytes: int = BODY_BYTES_AT_MOST
    upload_bytes: int = UPLOAD_BYTES_AT_MOST
    """Of what is written to a file as it comes: uploads, imports, backups to restore."""
    hosts: frozenset[str] | None = LOOPBACK_NAMES
    """The host names TCP requests may be for; None: any."""

    def bytes_at_most(self, scope: Scope) -> int:
        """The most bytes the body of a request may have."""
        # The path as it was sent: a topic may be called a/jobs, and its body is held in memory.
        path = scope.get("raw_path") or b""
        kind = Headers(scope=scope).get("content-type", "").strip().lower()
        is_file = _JOBS.fullmatch(path) and not kind.startswith(_HELD_IN_MEMORY)
        if is_file or _FILES.fullmatch(path):
            return self.upload_bytes
        if _QUESTIONS.fullmatch(path):
            return min(QUESTION_BYTES_AT_MOST, self.body_bytes)
        return self.body_bytes


def limited_body(scope: Scope, receive: Receive, bytes_at_most: int) -> Receive:
    """The body of a request; HTTPException 413 for whoever reads more than the limit."""
    sentence = f"A request has at most {bytes_at_most:,} bytes: send it in parts."
    length = Headers(scope=scope).get("content-length", "0")
    if not length.isdecimal() or int(length) > bytes_at_most:
        raise HTTPException(413, sentence)
    received = 0

    async def limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > bytes_at_most:
            raise HTTPException(413, sentence)
        return message

    return limited


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Buckets:
    """Token buckets by name: so many requests a second, and a burst."""

    def __init__(
        self,
        per_s: float,
        burst: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_s = per_s
        self._burst = max(1.0, per_s * BURST if burst is None else burst)
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def take(self, name: str) -> float:
        """Take one; 0, or the seconds until there is one again."""
        if not self._per_s:
            return 0.0
        now = self._clock()
        bucket = self._buckets.get(name)
        if bucket is None:
            self._make_room(now)
            bucket = self._buckets[name] = _Bucket(self._burst, now)
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.at) * self._per_s)
        bucket.at = now
        if bucket.tokens < 1:
            return (1 - bucket.tokens) / self._per_s
        bucket.tokens -= 1
        return 0.0

    def _make_room(self, now: float) -> None:
        if len(self._buckets) < _NAMES_AT_MOST:
            return
        full_s = self._burst / self._per_s
        fresh = {name: one for name, one in self._buckets.items() if now - one.at < full_s}
        # All of them busy at once: forgetting them only forgives.
        self._buckets = fresh if len(fresh) < _NAMES_AT_MOST else {}
