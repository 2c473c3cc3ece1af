"""A reply on its way out: the headers that keep browsers safe, and refusals as problems."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any

from hades.serve.limits import Body, Refused

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

SEND_S = 60.0
"""A caller who does not read their answer for so long is let go."""

_SAFE = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_CODES = {
    401: "Denied",
    403: "Denied",
    408: "Unavailable",
    413: "InvalidInput",
    421: "Denied",
    429: "Unavailable",
    503: "Unavailable",
}
"""The errors of ours a client raises for a refusal."""


class Reply:
    """What goes back for one request."""

    def __init__(self, send: Send, request: str, abort: Callable[[], None] | None = None) -> None:
        self._send = send
        self._request = request.encode()
        self._abort = abort
        self.status = 0
        self.whole = False

    def passing(self, body: Body) -> Send:
        """A `send` for the app; it is not heard once the body was cut off."""

        async def send(message: MutableMapping[str, Any]) -> None:
            if body.refused is None or self.status:
                await self._pass(message)

        return send

    async def refuse(self, refused: Refused) -> None:
        """Tell why a request does not get through."""
        problem = {
            "type": "about:blank",
            "title": HTTPStatus(refused.status).phrase,
            "status": refused.status,
            "detail": refused.detail,
            "code": _CODES.get(refused.status, "HadesError"),
        }
        await self.tell(refused.status, problem, "application/problem+json", refused.headers)

    async def tell(
        self,
        status: int,
        what: dict[str, Any],
        kind: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> None:
        """Answer with JSON."""
        body = json.dumps(what).encode()
        said = {"content-type": kind, "content-length": str(len(body)), **(headers or {})}
        lines = [(name.lower().encode(), value.encode()) for name, value in said.items()]
        await self._pass({"type": "http.response.start", "status": status, "headers": lines})
        await self._pass({"type": "http.response.body", "body": body})

    async def _pass(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = self._with_headers(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            self.whole = not message.get("more_body", False)
        try:
            async with asyncio.timeout(SEND_S):
                await self._send(message)
        except TimeoutError:
            if self._abort is not None:
                self._abort()
            raise

    def _with_headers(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        said = list(headers)
        names = {name.lower() for name, _ in said}
        said += _SAFE
        said.append((b"x-request-id", self._request))
        if b"cache-control" not in names:
            # With an ETag a copy may be kept, and is asked about before it is used.
            kept = b"private, no-cache" if b"etag" in names else b"no-store"
            said.append((b"cache-control", kept))
        if b"content-security-policy" not in names:
            is_page = any(n.lower() == b"content-type" and b"html" in v for n, v in said)
            policy = b"frame-ancestors 'none'" if is_page else b"default-src 'none'"
            said.append((b"content-security-policy", policy))
        return said
