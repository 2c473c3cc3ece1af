"""Limits: how large a request may be, and which host it may be for."""

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
    """How much a request may send, and to whom."""

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
