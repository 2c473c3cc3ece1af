"""Quick: the two calls agents make most, without the machinery that describes them.

Reading the latest state of a topic takes 50 µs at the desk; finding its route and filling in
the arguments of its handler took 600, and a task, its events and messages 200 more. So the
plain form of these calls is answered here, by the same desk and with the same words: a
question as a layer of the app, a latest state as soon as the head of its request is there.
Whatever is unusual about a request (a query, a hold, a body that does not fit, an error) goes
the long way, where its answer is described.
"""

from __future__ import annotations

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
from hades.serve.auth.caller import Caller
from hades.serve.auth.reply import Whole
from hades.serve.executor.executor import Executor
from hades.serve.problems import problem_of
from hades.serve.rest.asking import Recalling
from hades.serve.rest.bodies import SHORT_BYTES
from hades.serve.rest.etags import etag_of
from hades.serve.wire import JSON, to_json
from hades.view import View

GZIP_BYTES_AT_LEAST = 2_000
GZIP_LEVEL = 1
"""Of the nine, the one that costs least: JSON shrinks to a fifth with it already."""

LONG_BYTES = 16_000
"""Longer answers are made in a thread, and others need not wait for them. So many bytes are
compressed in 0.1 ms, which is what the way to a thread and back takes."""
LONG_KNOWN_AT_MOST = 10_000
KEPT_BYTES_AT_MOST = 16_000_000
KEPT_BESIDE_BYTES = 1_000
"""What an answer that is kept takes beside its body, about."""

_STATE = re.compile(rb"/v1/spaces/([^/?#]+)/states/([^?#]+)")
_RECALL = re.compile(rb"/v1/spaces/([^/]+)/recall")
_UNUSUAL = frozenset({b"hades-hold", b"if-none-match", b"if-match", b"content-encoding"})
_LOOKED_AT = _UNUSUAL | {b"accept-encoding", b"content-type"}

Headers = dict[bytes, bytes]


@dataclass(frozen=True, slots=True)
class _Route:
    """What the audit log, the metrics and traces call a request."""

    path: str


STATE = _Route("/v1/spaces/{space:name}/states/{topic:topic}")
RECALL = _Route("/v1/spaces/{space:name}/recall")


class Latest:
    """The latest state of a topic, read in the thread that asks; what the gate answers with.

    Answers are kept until something is written: reading the number of the last write takes a
    tenth of the time of reading, checking and showing a state. One that ends by itself, at a
    time that is known already, is not kept.
    """

    def __init__(self, desk: Executor) -> None:
        self._desk = desk
        self._kept: dict[tuple[str, str, bool], Whole] = {}
        self._kept_bytes = 0
        self._change = -1
        self._long: set[tuple[str, str]] = set()
        """Topics that turned out to be long."""

    def __call__(self, caller: Caller, scope: Scope) -> Whole | None:
        """The answer to a request by GET without a body; None: it has to go the long way."""
        named = _STATE.fullmatch(scope["raw_path"])
        names = None if named is None else _names(named)
        headers = _headers(scope)
        if names is None or not _UNUSUAL.isdisjoint(headers):
            return None
        space, topic = names
        if (space, topic) in self._long:
            return None
        self._desk.check_reader(caller, space)
        self._forget_what_changed()
        key = (space, topic, _takes_gzip(headers))
        found = self._kept.get(key) or self._read(caller, space, topic, headers)
        if found is not None:
            scope["route"] = STATE
        return found

    def _read(self, caller: Caller, space: str, topic: str, headers: Headers) -> Whole | None:
        state = self._desk.read_at_once(caller, space, lambda view: view.get(topic))
        shown = to_json(state)
        if len(shown) > LONG_BYTES:
            # The next time others need not wait for it.
            self._long = self._long if len(self._long) < LONG_KNOWN_AT_MOST else set()
            self._long.add((space, topic))
            return None
        found = _packed(shown, headers, (b"etag", etag_of(state, shown).encode()))
        if state.valid_to is None and self._kept_bytes < KEPT_BYTES_AT_MOST:
            self._kept[space, topic, _takes_gzip(headers)] = found
            self._kept_bytes += len(found[0]) + KEPT_BESIDE_BYTES
        return found

    def _forget_what_changed(self) -> None:
        change = self._desk.memory.change
        if change != self._change:
            self._kept, self._kept_bytes, self._change = {}, 0, change


class Quick:
    """The app, with a short way for questions."""

    def __init__(self, app: ASGIApp, desk: Executor) -> None:
        self._app = app
        self._desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer it here, or hand it on."""
        caller: Caller | None = scope.get("hades.caller")
        if caller is None or scope["method"] != "POST" or scope["query_string"]:
            return await self._app(scope, receive, send)
        headers = _headers(scope)
        named = _RECALL.fullmatch(scope.get("raw_path") or b"")
        names = None if named is None else _names(named)
        is_json = headers.get(b"content-type", b"").lower() == b"application/json"
        if names is None or not is_json or not _UNUSUAL.isdisjoint(headers):
            return await self._app(scope, receive, send)
        messages = await _received(receive)
        asked = _asked(messages)
        if asked is None:
            return await self._app(scope, _again(messages, receive), send)

        def read(view: View) -> Whole:
            found = self._desk.told(view.recall(**asked.arguments()))
            return _packed(to_json(found), headers)

        scope["route"] = RECALL
        valid, known = asked.as_of, asked.known_at
        reading = self._desk.read(caller, names[0], read, valid=valid, known=known, fresh=True)
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


def _takes_gzip(headers: Headers) -> bool:
    return b"gzip" in headers.get(b"accept-encoding", b"")


def _packed(body: bytes, headers: Headers, *more: tuple[bytes, bytes]) -> Whole:
    """A body with its headers, compressed in this thread where the caller takes that."""
    said = [*more, (b"content-type", JSON.encode())]
    if len(body) >= GZIP_BYTES_AT_LEAST:
        said.append((b"vary", b"Accept-Encoding"))
        if _takes_gzip(headers):
            body = gzip.compress(body, GZIP_LEVEL, mtime=0)
            said.append((b"content-encoding", b"gzip"))
    return body, [*said, (b"content-length", b"%d" % len(body))]


async def _answer(reading: Awaitable[Whole], scope: Scope, receive: Receive, send: Send) -> None:
    try:
        body, headers = await reading
    except HadesError as error:
        return await problem_of(error)(scope, receive, send)
    start: dict[str, Any] = {"type": "http.response.start", "status": 200, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})
    return None
