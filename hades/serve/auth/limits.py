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
_FILES = re.compile(rb"/v1/admin/(import|restore)|/v1/spaces/[^/]+/jobs")
_QUESTIONS = re.compile(rb"/v1/spaces/[^/]+/(ask|rank|recall|search)|/graphql")


@dataclass(frozen=True, slots=True)
class Limits:
    """How often and how much a caller may ask."""

    requests_per_s: float = REQUESTS_PER_S
    """Of one key; 0: as many as it likes."""
    body_bytes: int = BODY_BYTES_AT_MOST
    upload_bytes: int = UPLOAD_BYTES_AT_MOST
    """Of what is written to a file as it comes: uploads, imports, backups to restore."""
    hosts: frozenset[str] | None = LOOPBACK_NAMES
    """The host names TCP requests may be for; None: any."""

    def bytes_at_most(self, scope: Scope) -> int:
        """The most bytes the body of a request may have."""
        # The path as it was sent: a topic may be called a/jobs, and its body is read into memory.
        path = scope.get("raw_path") or b""
        if _FILES.fullmatch(path):
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
        self._buckets: dict[str, tuple[float, float]] = {}
        """By name: how many tokens there were, and when."""

    def take(self, name: str) -> float:
        """Take one; 0, or the seconds until there is one again."""
        if not self._per_s:
            return 0.0
        now = self._clock()
        if name not in self._buckets:
            self._make_room(now)
        tokens, at = self._buckets.get(name, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._per_s)
        taken = tokens >= 1
        self._buckets[name] = (tokens - taken, now)
        return 0.0 if taken else (1 - tokens) / self._per_s

    def _make_room(self, now: float) -> None:
        if len(self._buckets) < _NAMES_AT_MOST:
            return
        full_s = self._burst / self._per_s
        fresh = {name: one for name, one in self._buckets.items() if now - one[1] < full_s}
        # All of them busy at once: forgetting them only forgives.
        self._buckets = fresh if len(fresh) < _NAMES_AT_MOST else {}
