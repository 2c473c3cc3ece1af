"""The gate: every request passes here before the app, and every answer after it.

It finds out who is asking, keeps to the limits, gives the request an id, adds the headers
that keep browsers safe, and writes the audit log. What a caller may do is not decided here
but at the desk; the gate only says who they are, and never lets them be more than the way
they came allows.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs

from hades.errors import HadesError
from hades.serve.auth import call_record as noted
from hades.serve.auth.audit import Audit, Mode
from hades.serve.auth.caller import Caller
from hades.serve.auth.keys import Key, Keys
from hades.serve.auth.limits import (
    BODY_BYTES_AT_MOST,
    BODY_PATIENCE_S,
    QUESTION_BYTES_AT_MOST,
    REQUESTS_PER_S,
    UPLOAD_BYTES_AT_MOST,
    Body,
    Buckets,
    Receive,
    Refused,
    too_large,
)
from hades.serve.auth.link import PATH as LINK
from hades.serve.auth.link import FirstLink
from hades.serve.auth.listener import Way
from hades.serve.auth.reply import Reply, Send, Whole, with_safe_headers

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Observe = Callable[[str, Mode, int, float], object]

OPEN_TO_ALL = frozenset({"/healthz", "/readyz"})
WRONG_KEYS_PER_S = 5.0
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

_WANTED = frozenset(
    {b"authorization", b"content-length", b"host", b"transfer-encoding", b"x-request-id"}
)
_GOOD_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_UPLOADS = re.compile(rb"/v1/(spaces/[^/]+/jobs|admin/(import|restore))")
_ASKING = re.compile(rb"/v1/spaces/[^/]+/(ask|rank|recall|search)|/graphql")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the gate lets through."""

    requests_per_s: float = REQUESTS_PER_S
    """Of one key; 0: as many as it likes."""
    body_bytes: int = BODY_BYTES_AT_MOST
    question_bytes: int = QUESTION_BYTES_AT_MOST
    upload_bytes: int = UPLOAD_BYTES_AT_MOST
    """Of what goes to a file as it comes: uploads, and what operators send."""
    body_patience_s: float = BODY_PATIENCE_S
    hosts: frozenset[str] | None = LOOPBACK_NAMES
    """The names this server goes by; None: any. Another's page could use another name."""


class Gate:
    """The app, with somebody at its door."""

    def __init__(
        self,
        app: App,
        keys: Keys,
        *,
        audit: Audit | None = None,
        observe: Observe | None = None,
        link: FirstLink | None = None,
        limits: Limits | None = None,
        quick: Callable[[Caller, Scope], Whole | None] | None = None,
    ) -> None:
        self._app = app
        self._keys = keys
        self._audit = audit
        self._observe = observe
        self._link = link
        self._limits = limits or Limits()
        self._quick = quick
        self._asked = Buckets(self._limits.requests_per_s)
        self._wrong = Buckets(WRONG_KEYS_PER_S, burst=20)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the app's start and end."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        headers = _headers(scope)
        note = noted.Note(_request_id(headers))
        token = noted.current.set(note)

        def written_down(status: int) -> None:
            self._write_down(scope, note, status, time.perf_counter() - started)

        reply = scope["hades.reply"] = Reply(send, note.request, written_down)
        bytes_at_most = self._bytes_at_most(scope)
        is_empty = b"content-length" not in headers and b"transfer-encoding" not in headers
        body = Body(receive, bytes_at_most, self._limits.body_patience_s, is_empty=is_empty)
        try:
            _check_length(headers, bytes_at_most)
            await self._admit(scope, headers)
            if scope["path"] == LINK and self._link is not None:
                if scope["method"] != "GET":  # whoever only looks must not use it up
                    raise Refused(405, "Open this link with GET.", {"Allow": "GET"})
                await reply.tell(200, await self._linked(scope))
            else:
                await self._app(scope, body, reply.passing(body))
        except Refused as refused:
            await reply.refuse(refused)
        except Exception:
            if body.refused is None and not reply.whole:
                _log.exception("%s failed", _call(scope))
                if reply.status:
                    raise
                await reply.refuse(Refused(500, "Something went wrong; the log says what."))
        finally:
            if body.refused is not None and not reply.status:
                await reply.refuse(body.refused)
            if not reply.whole:
                written_down(reply.status)
            noted.current.reset(token)

    def at_once(self, scope: Scope) -> Whole | None:
        """The answer to a request without a body, where there is one without the app.

        None: let it pass as any other. So does whatever is refused here, to be refused there.
        """
        started = time.perf_counter()
        headers = _headers(scope)
        way: Way | None = scope.get("hades.way")
        has_body = b"content-length" in headers or b"transfer-encoding" in headers
        if self._quick is None or way is None or has_body:
            return None
        note = noted.Note(_request_id(headers))
        token = noted.current.set(note)
        try:
            if way.by_key:
                self._check_host(headers)
            caller = self._known(scope, way, headers.get(b"authorization"))
            found = None if caller is None else self._quick(caller, scope)
            if caller is None or found is None or (way.by_key and self._asked.take(caller.name)):
                return None
        except (HadesError, Refused):
            return None  # it comes again the long way, and is told there
        except Exception:  # noqa: BLE001 - logged, and answered the long way
            _log.exception("what could be answered at once goes the long way")
            return None
        finally:
            noted.current.reset(token)
        scope["hades.caller"] = caller
        self._write_down(scope, note, 200, time.perf_counter() - started)
        body, said = found
        return body, with_safe_headers(said, note.request.encode())

    # Who is asking

    async def _admit(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """Let the app know who is asking, or raise Refused."""
        way: Way | None = scope.get("hades.way")
        if way is None:
            raise Refused(403, "Nobody knows by which way this came.")
        if way.by_key:
            self._check_host(headers)
        caller = self._caller(scope, way, headers.get(b"authorization"))
        if caller is None:
            return
        scope["hades.caller"] = caller
        if way.by_key and (wait_s := self._asked.take(caller.name)):
            raise Refused(429, "Too many requests with this key: slow down.", _after(wait_s))

    def _caller(self, scope: Scope, way: Way, shown: bytes | None) -> Caller | None:
        """Who is asking; None where anybody may."""
        caller = self._known(scope, way, shown)
        if caller is not None:
            return caller
        if shown is not None:
            raise self._not_known(scope, "This key is not known: it may have been revoked.")
        path = scope["path"]
        if path in OPEN_TO_ALL or (path == LINK and self._link is not None):
            return None
        raise self._not_known(
            scope,
            "Show a key: `Authorization: Bearer KEY`, or HADES_KEY for commands and clients; "
            "`hades keys create` makes one.",
        )

    def _known(self, scope: Scope, way: Way, shown: bytes | None) -> Caller | None:
        """Who is asking; None: somebody without a key that is known, where one is needed."""
        if shown is not None:
            key = self._key(shown)
            if key is None or way.by_key:
                return None if key is None else key.caller
            role = min(key.role, way.most)
            return replace(key.caller, role=role, local=way.local and role == way.most)
        if way.by_key:
            return None
        uid = scope.get("hades.peer")
        return Caller(way.name if uid is None else f"uid:{uid}", way.most, local=way.local)

    def _key(self, shown: bytes) -> Key | None:
        kind, _, token = shown.decode("latin-1").partition(" ")
        try:
            return self._keys.find(token.strip()) if kind.lower() == "bearer" else None
        except HadesError as error:
            # Nobody is let in on trust.
            _log.error("%s", error)
            raise Refused(503, "Keys cannot be checked right now: the log says why.") from error

    def _not_known(self, scope: Scope, sentence: str) -> Refused:
        wait_s = self._wrong.take(_address(scope))
        if wait_s:
            return Refused(429, "Too many requests without a good key.", _after(wait_s))
        return Refused(401, sentence, {"WWW-Authenticate": "Bearer"})

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        """Refuse names that are not ours: a page of another's may point one at this machine."""
        if self._limits.hosts is None:
            return
        named = headers.get(b"host", b"").decode("latin-1").lower()
        host = named.rpartition(":")[0] if re.search(r":\d+$", named) else named
        if host.strip("[]") not in self._limits.hosts:
            raise Refused(421, "This server does not go by that name: see --allow-host.")

    async def _linked(self, scope: Scope) -> dict[str, str]:
        assert self._link is not None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        made = await asyncio.to_thread(self._link.exchange, given)
        if made is None:
            raise self._not_known(
                scope, "This link was used, or its time is over: `hades keys create` makes a key."
            )
        return made

    def _bytes_at_most(self, scope: Scope) -> int:
        # As it was sent: a topic may be called a/jobs, and its body is read into memory.
        path = scope.get("raw_path") or b""
        if _UPLOADS.fullmatch(path) is not None:
            return self._limits.upload_bytes
        if _ASKING.fullmatch(path) is not None:
            return min(self._limits.question_bytes, self._limits.body_bytes)
        return self._limits.body_bytes

    # What came of it

    def _write_down(self, scope: Scope, note: noted.Note, status: int, seconds: float) -> None:
        caller: Caller | None = scope.get("hades.caller")
        writes = scope["method"] not in _READING if note.writes is None else note.writes
        mode: Mode = "RW" if writes else "RO"
        call = note.call or _call(scope)
        if self._audit is not None and scope["path"] not in OPEN_TO_ALL:
            way: Way | None = scope.get("hades.way")
            self._audit.add(
                who="nobody" if caller is None else caller.name,
                way="" if way is None else way.name,
                space=note.space,
                call=call,
                mode=mode,
                status=status,
                ms=seconds * 1000,
                request=note.request,
            )
        if self._observe is not None:
            self._observe(call, mode, status, seconds)


def _headers(scope: Scope) -> dict[bytes, bytes]:
    return {name: value for name, value in scope["headers"] if name in _WANTED}


def _request_id(headers: dict[bytes, bytes]) -> str:
    given = headers.get(b"x-request-id", b"")
    return given.decode() if _GOOD_ID.fullmatch(given) else secrets.token_hex(8)


def _check_length(headers: dict[bytes, bytes], bytes_at_most: int) -> None:
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or int(length) > bytes_at_most:
        raise Refused(413, too_large(bytes_at_most))


def _after(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, math.ceil(seconds)))}


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])


def _call(scope: Scope) -> str:
    """What was called, without the names in its address: they are what memories are about."""
    if named := scope.get("hades.call"):
        return str(named)
    route = getattr(scope.get("route"), "path", None) or scope.get("root_path") or ""
    if not route and scope["path"] in (*OPEN_TO_ALL, "/metrics", LINK):
        route = scope["path"]
    return f"{scope['method']} {route or '(nothing)'}"
