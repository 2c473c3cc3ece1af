"""Quick: the two calls agents make most, without the machinery that describes them.

Reading the latest state of a topic takes 20 µs at the desk; finding its route and filling in
the arguments of its handler took 600. So the plain form of these calls is answered here, by
the same desk and with the same words. Whatever is unusual about a request (a query, a hold, a
body that does not fit) goes the long way, where its answer is described.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pydantic import ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hades.errors import HadesError
from hades.serve.desk.desk import Desk
from hades.serve.gate.caller import Caller
from hades.serve.problems import problem_of
from hades.serve.rest.asking import Recalling
from hades.serve.rest.bodies import SHORT_BYTES
from hades.serve.rest.etags import etag_of
from hades.serve.wire import JSON, to_json
from hades.view import View

GZIP_BYTES_AT_LEAST = 2_000
GZIP_LEVEL = 1
"""Of the nine, the one that costs least: JSON shrinks to a fifth with it already."""

PACKED_AT_ONCE_BYTES = 16_000
"""Compressed in some 0.1 ms, which is what the way to a thread and back takes."""
LONG_BYTES = 100_000
LONG_KNOWN_AT_MOST = 10_000

_STATE = re.compile(rb"/v1/spaces/([^/]+)/states/(.+)")
_RECALL = re.compile(rb"/v1/spaces/([^/]+)/recall")
_UNUSUAL = frozenset({b"hades-hold", b"if-none-match", b"if-match", b"content-encoding"})
_LOOKED_AT = _UNUSUAL | {b"accept-encoding", b"content-type"}

Headers = dict[bytes, bytes]
Found = tuple[bytes, list[tuple[bytes, bytes]]]
"""A body, and the headers that are its own."""


@dataclass(frozen=True, slots=True)
class _Route:
    """What the audit log, the metrics and traces call a request."""

    path: str


STATE = _Route("/v1/spaces/{space:name}/states/{topic:topic}")
RECALL = _Route("/v1/spaces/{space:name}/recall")


class Quick:
    """The app, with a short way for what is asked most."""

    def __init__(self, app: ASGIApp, desk: Desk) -> None:
        self._app = app
        self._desk = desk
        self._long: set[tuple[str, str]] = set()
        """Topics that turned out to be long: they are read in a thread."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer it here, or hand it on."""
        caller = scope.get("hades.caller")
        if caller is not None and not scope["query_string"]:
            path, method = scope.get("raw_path") or b"", scope["method"]
            if method == "GET" and (named := _STATE.fullmatch(path)) is not None:
                return await self._state(caller, named, scope, receive, send)
            if method == "POST" and (named := _RECALL.fullmatch(path)) is not None:
                return await self._recall(caller, named, scope, receive, send)
        return await self._app(scope, receive, send)

    async def _state(
        self, caller: Caller, named: re.Match[bytes], scope: Scope, receive: Receive, send: Send
    ) -> None:
        headers = _headers(scope)
        names = _names(named)
        if names is None or not _UNUSUAL.isdisjoint(headers):
            return await self._app(scope, receive, send)
        space, topic = names

        def read(view: View) -> Found:
            shown, etag = _shown(view, topic)
            return _packed(shown, headers, etag)

        scope["route"] = STATE
        if (space, topic) in self._long:
            return await _answer(self._desk.read(caller, space, read), scope, receive, send)
        return await _answer(self._at_once(caller, space, topic, headers), scope, receive, send)

    async def _at_once(self, caller: Caller, space: str, topic: str, headers: Headers) -> Found:
        shown, etag = self._desk.read_at_once(caller, space, lambda view: _shown(view, topic))
        if len(shown) > LONG_BYTES:
            # The next time others need not wait for it.
            self._long = self._long if len(self._long) < LONG_KNOWN_AT_MOST else set()
            self._long.add((space, topic))
        if len(shown) > PACKED_AT_ONCE_BYTES and _takes_gzip(headers):
            return await asyncio.to_thread(_packed, shown, headers, etag)
        return _packed(shown, headers, etag)

    async def _recall(
        self, caller: Caller, named: re.Match[bytes], scope: Scope, receive: Receive, send: Send
    ) -> None:
        headers = _headers(scope)
        names = _names(named)
        is_json = headers.get(b"content-type", b"").lower() == b"application/json"
        if names is None or not is_json or not _UNUSUAL.isdisjoint(headers):
            return await self._app(scope, receive, send)
        messages = await _received(receive)
        asked = _asked(messages)
        if asked is None:
            return await self._app(scope, _again(messages, receive), send)

        def read(view: View) -> Found:
            found = self._desk.told(view.recall(**asked.arguments()))
            return _packed(to_json(found), headers)

        scope["route"] = RECALL
        reading = self._desk.read(
            caller, names[0], read, valid=asked.as_of, known=asked.known_at, fresh=True
        )
        return await _answer(reading, scope, receive, send)


def _headers(scope: Scope) -> Headers:
    return {name: value for name, value in scope["headers"] if name in _LOOKED_AT}


def _names(named: re.Match[bytes]) -> list[str] | None:
    """The names in an address; None: they are not text."""
    try:
        return [unquote(one.decode("ascii"), errors="strict") for one in named.groups()]
    except UnicodeDecodeError:
        return None


async def _received(receive: Receive) -> list[Message]:
    """A body in the pieces it came in; the last may say that the caller went."""
    messages = [await receive()]
    while messages[-1]["type"] == "http.request" and messages[-1].get("more_body", False):
        messages.append(await receive())
    return messages


def _again(messages: list[Message], receive: Receive) -> Receive:
    """The same pieces once more, then what comes after them."""
    left = iter(messages)

    async def receiving() -> Message:
        message = next(left, None)
        return await receive() if message is None else message

    return receiving


def _asked(messages: list[Message]) -> Recalling | None:
    """A body as a question; None: it is none, or long, which is seen to elsewhere."""
    if messages[-1]["type"] != "http.request":
        return None
    body = b"".join(message.get("body", b"") for message in messages)
    if len(body) > SHORT_BYTES:
        return None
    try:
        return Recalling.model_validate(json.loads(body))
    except (ValueError, RecursionError, ValidationError):
        return None


def _shown(view: View, topic: str) -> tuple[bytes, tuple[bytes, bytes]]:
    """The latest state as JSON, and the header that names it."""
    state = view.get(topic)
    shown = to_json(state)
    return shown, (b"etag", etag_of(state, shown).encode())


def _takes_gzip(headers: Headers) -> bool:
    return b"gzip" in headers.get(b"accept-encoding", b"")


def _packed(body: bytes, headers: Headers, *more: tuple[bytes, bytes]) -> Found:
    """A body with its headers, compressed in this thread where the caller takes that."""
    said = [*more, (b"content-type", JSON.encode())]
    if len(body) >= GZIP_BYTES_AT_LEAST:
        said.append((b"vary", b"Accept-Encoding"))
        if _takes_gzip(headers):
            body = gzip.compress(body, GZIP_LEVEL, mtime=0)
            said.append((b"content-encoding", b"gzip"))
    return body, [*said, (b"content-length", b"%d" % len(body))]


async def _answer(reading: Awaitable[Found], scope: Scope, receive: Receive, send: Send) -> None:
    try:
        body, headers = await reading
    except HadesError as error:
        return await problem_of(error)(scope, receive, send)
    start: dict[str, Any] = {"type": "http.response.start", "status": 200, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})
    return None
