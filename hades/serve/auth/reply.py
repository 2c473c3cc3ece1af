"""A reply on its way out: the headers that keep browsers safe, and refusals as problems."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any

from hades.serve.auth.limits import Body, Refused

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_SAFE = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_Line = tuple[bytes, bytes]
Whole = tuple[bytes, list[_Line]]
"""An answer that is all there: a body, and its headers."""
_NOT_KEPT: _Line | None = (b"cache-control", b"no-store")
_ASKED_ABOUT: _Line | None = (b"cache-control", b"private, no-cache")
"""With an ETag a copy may be kept, and is asked about before it is used."""
_NOTHING_ELSE: _Line | None = (b"content-security-policy", b"default-src 'none'")
_NOT_FRAMED: _Line | None = (b"content-security-policy", b"frame-ancestors 'none'")
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
    """What goes back for one request; `on_end` is told its status once, at the end."""

    def __init__(self, send: Send, request: str, on_end: Callable[[int], object]) -> None:
        self._send = send
        self._on_end = on_end
        self._request = request.encode()
        self.status = 0
        self.whole = False
        self.is_endless = False
        """It is a stream of events, which nobody can wait for the end of."""

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
            if self.whole:
                self._on_end(self.status)  # before its caller can know that it ended
        await self._send(message)

    def _with_headers(self, headers: Iterable[_Line]) -> list[_Line]:
        said = list(headers)
        self.is_endless = any(
            name == b"content-type" and value.startswith(b"text/event-stream")
            for name, value in said
        )
        return with_safe_headers(said, self._request)


def with_safe_headers(said: list[_Line], request: bytes) -> list[_Line]:
    """The headers of an answer, and those every answer has."""
    kept, policy = _NOT_KEPT, _NOTHING_ELSE
    for name, value in said:
        if name == b"etag" and kept is _NOT_KEPT:
            kept = _ASKED_ABOUT
        elif name == b"cache-control":
            kept = None
        elif name == b"content-type":
            if value.startswith(b"text/html") and policy is not None:
                policy = _NOT_FRAMED
        elif name == b"content-security-policy":
            policy = None
    more = [one for one in (kept, policy) if one is not None]
    return [*said, *_SAFE, *more, (b"x-request-id", request)]
