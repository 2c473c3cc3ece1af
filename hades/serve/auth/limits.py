"""Limits: how often, how much and how slowly anybody may ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

REQUESTS_PER_S = 200.0
BURST = 2.0
"""How many seconds' worth of requests may come at once."""
BODY_BYTES_AT_MOST = 32 * 1024 * 1024
QUESTION_BYTES_AT_MOST = 1024 * 1024
UPLOAD_BYTES_AT_MOST = 1024 * 1024 * 1024
BODY_PATIENCE_S = 30.0
BODY_BYTES_PER_S = 10_000
"""A body has its patience to begin with, and must then come at least this fast."""
_NAMES_AT_MOST = 10_000


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


class Refused(Exception):
    """A request that does not get through, and what its caller is told."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers or {}


class Body:
    """A request's body as it comes in; too much or too slow, and it is cut off."""

    def __init__(
        self,
        receive: Receive,
        bytes_at_most: int,
        patience_s: float = BODY_PATIENCE_S,
        *,
        is_empty: bool = False,
    ) -> None:
        self._receive = receive
        self._bytes_at_most = bytes_at_most
        self._patience_s = patience_s
        self._since = time.monotonic()
        self._bytes = 0
        self._whole = is_empty
        self.refused: Refused | None = None

    async def __call__(self) -> Message:
        """The next piece; once cut off, it looks as if the caller had gone."""
        if self.refused is not None:
            return {"type": "http.disconnect"}
        if self._whole:
            return await self._receive()
        allowed_s = self._patience_s + self._bytes / BODY_BYTES_PER_S
        left_s = allowed_s - (time.monotonic() - self._since)
        try:
            async with asyncio.timeout(max(0.0, left_s)):
                message = await self._receive()
        except TimeoutError:
            return self._cut(408, "The request came too slowly: send it again, faster.")
        self._bytes += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._bytes > self._bytes_at_most:
            return self._cut(413, too_large(self._bytes_at_most))
        return message

    def _cut(self, status: int, detail: str) -> Message:
        self.refused = Refused(status, detail)
        return {"type": "http.disconnect"}


def too_large(bytes_at_most: int) -> str:
    """What is said of a request that is too large."""
    return f"A request has at most {bytes_at_most:,} bytes: send it in parts."
