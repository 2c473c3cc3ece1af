"""Limits of a request: its size, and the host it may name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

BODY_BYTES_AT_MOST = 32 * 1024 * 1024
QUESTION_BYTES_AT_MOST = 1024 * 1024
UPLOAD_BYTES_AT_MOST = 1024 * 1024 * 1024
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_FILES = re.compile(rb"/v1/admin/(import|restore)|/v1/spaces/[^/]+/jobs")
_QUESTIONS = re.compile(rb"/v1/spaces/[^/]+/(ask|rank|recall|search)|/graphql")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a request: the size of its body, and the host names it may use."""

    body_bytes: int = BODY_BYTES_AT_MOST
    upload_bytes: int = UPLOAD_BYTES_AT_MOST
    """Limit for bodies that are written to a file: uploads, imports, backups to restore."""
    hosts: frozenset[str] | None = LOOPBACK_NAMES
    """The host names that TCP requests may name; None: any."""

    def bytes_at_most(self, scope: Scope) -> int:
        """Return the limit for a request's body, in bytes."""
        # Use the encoded path: a topic may be named a/jobs, and its body is read into memory.
        path = scope.get("raw_path") or b""
        if _FILES.fullmatch(path):
            return self.upload_bytes
        if _QUESTIONS.fullmatch(path):
            return min(QUESTION_BYTES_AT_MOST, self.body_bytes)
        return self.body_bytes


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first returns a body that was already read, then later messages."""
    unread = [body]

    async def again() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return again


def limited_body(scope: Scope, receive: Receive, bytes_at_most: int) -> Receive:
    """Return a `receive` that raises HTTPException 413 beyond the limit; check the header now."""
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
