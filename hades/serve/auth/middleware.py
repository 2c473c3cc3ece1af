"""The middleware around the app: authentication, limits and the audit log.

It finds the caller, whose role is at most that of the listener. The executor decides what the
caller may do.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hades.errors import HadesError
from hades.serve.auth.audit import Audit, Mode
from hades.serve.auth.caller import CALL_RECORD, Caller, CallRecord
from hades.serve.auth.keys import Keys
from hades.serve.auth.limits import Limits, limited_body
from hades.serve.auth.sockets import ListenerKind
from hades.serve.problems import FAILED_INSIDE, problem

Observe = Callable[[str, Mode, int, float], object]

HEALTH_PAGES = frozenset({"/healthz", "/readyz"})
API_ROOTS = frozenset({"v1", "graphql", "mcp", "metrics", "openapi.json", "healthz", "readyz"})
"""First parts of the paths that are not pages of the explorer."""
NO_KEY = (
    "Send a key: `Authorization: Bearer KEY`, or HADES_KEY for commands and clients; "
    "`hades keys create` makes one."
)
UNKNOWN_KEY = "This key is not known: it may have been revoked."

SAFE_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
_GOOD_ID = re.compile("[A-Za-z0-9._-]{1,64}")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_log = logging.getLogger(__name__)


class AuthMiddleware:
    """Middleware that authenticates: it puts the caller into the scope, or refuses the request."""

    def __init__(
        self,
        app: ASGIApp,
        keys: Keys,
        limits: Limits | None = None,
        pages: ASGIApp | None = None,
    ) -> None:
        self._app = app
        self._pages = pages
        self._keys = keys
        self._limits = limits or Limits()
        self._by_tcp: ASGIApp = self._authenticate
        if self._limits.hosts is not None:
            # A web page could otherwise reach this server by DNS rebinding.
            hosts = [f"[{name}]" if ":" in name else name for name in self._limits.hosts]
            self._by_tcp = TrustedHostMiddleware(self._authenticate, hosts, www_redirect=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            kind: ListenerKind | None = scope.get("hades.listener")
            by_key = kind is not None and kind.by_key
            await (self._by_tcp if by_key else self._authenticate)(scope, receive, send)

    async def _authenticate(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        try:
            if self._is_page(scope):
                app = self._pages or app  # the pages authenticate their visitors themselves
                scope["hades.page"] = True
            else:
                self._identify(scope)
            body = limited_body(scope, receive, self._limits.bytes_at_most(scope))
        except HTTPException as refused:
            answer = problem(refused.status_code, refused.detail, headers=refused.headers)
            await answer(scope, receive, send)
        else:
            await app(scope, body, send)

    def _is_page(self, scope: Scope) -> bool:
        """Whether a request is for a page of the explorer: by TCP, without a key, not the API."""
        kind: ListenerKind | None = scope.get("hades.listener")
        if self._pages is None or kind is None or not kind.by_key:
            return False
        first = scope["path"].split("/", 2)[1:2]
        return first[0] not in API_ROOTS and "authorization" not in Headers(scope=scope)

    def _identify(self, scope: Scope) -> None:
        """Put the caller into the scope; raise HTTPException without one (not at health pages)."""
        kind: ListenerKind | None = scope.get("hades.listener")
        if kind is None:
            raise HTTPException(
                403, "This request came by a socket that does not belong to the server."
            )
        sent = Headers(scope=scope).get("authorization")
        uid = scope.get("hades.peer_uid")
        caller = None if sent is None else self._by_key(kind, sent)
        if sent is None and not kind.by_key:
            name = kind.name if uid is None else f"uid:{uid}"
            caller = Caller(name, kind.most, local=kind.local)
        if caller is None:
            if sent is None and scope["path"] in HEALTH_PAGES:
                return
            wrong = NO_KEY if sent is None else UNKNOWN_KEY
            raise HTTPException(401, wrong, {"WWW-Authenticate": "Bearer"})
        scope["hades.caller"] = caller

    def _by_key(self, kind: ListenerKind, sent: str) -> Caller | None:
        scheme, _, token = sent.partition(" ")
        try:
            key = self._keys.find(token.strip()) if scheme.lower() == "bearer" else None
        except HadesError as error:
            _log.error("%s", error)
            raise HTTPException(
                503, "The key cannot be checked: the server's log says why."
            ) from error
        if key is None:
            return None
        # A key cannot give a role above that of the listener.
        role = min(key.role, kind.most)
        return replace(key.caller, role=role, local=kind.local and role == kind.most)


@dataclass(frozen=True, slots=True)
class CallLogMiddleware:
    """Middleware that gives each request an id, adds security headers, and writes the audit log."""

    app: ASGIApp
    audit: Audit | None = None
    observe: Observe | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; answer 500 if it raises."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        record = CallRecord(_request_id(scope))
        token = CALL_RECORD.set(record)
        status = 0
        ended = False

        def log() -> None:
            self._log(scope, record, status, time.perf_counter() - started)

        async def sending(message: Message) -> None:
            nonlocal status, ended
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(MutableHeaders(scope=message), record.request)
            elif message["type"] == "http.response.body" and not message.get("more_body", False):
                ended = True
                log()  # before the caller sees the end of the answer
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except Exception:
            if not ended:
                _log.exception("%s failed", _call(scope))
                if status:
                    raise
                await problem(500, FAILED_INSIDE)(scope, receive, sending)
        finally:
            if not ended:
                log()
            CALL_RECORD.reset(token)

    def _log(self, scope: Scope, record: CallRecord, status: int, seconds: float) -> None:
        caller: Caller | None = scope.get("hades.caller")
        kind: ListenerKind | None = scope.get("hades.listener")
        writes = scope["method"] not in _READING if record.writes is None else record.writes
        mode: Mode = "RW" if writes else "RO"
        call = record.call or _call(scope)
        if scope.get("hades.page") and record.call is None:
            return  # the parts of a page; its calls to the memory are recorded one by one
        if self.audit is not None and scope["path"] not in HEALTH_PAGES:
            self.audit.add(
                mode,
                who="nobody" if caller is None else caller.name,
                listener="" if kind is None else kind.name,
                space=record.space,
                call=call,
                status=status,
                ms=round(seconds * 1000, 2),
                request=record.request,
            )
        if self.observe is not None:
            self.observe(call, mode, status, seconds)


def protected(
    app: ASGIApp,
    keys: Keys,
    *,
    limits: Limits | None = None,
    audit: Audit | None = None,
    observe: Observe | None = None,
    pages: ASGIApp | None = None,
) -> ASGIApp:
    """Wrap the app in authentication, limits and the audit log; `observe` gets every call.

    `pages` answers requests that are neither for the API nor sent with a key.
    """
    return CallLogMiddleware(AuthMiddleware(app, keys, limits, pages), audit, observe)


def _request_id(scope: Scope) -> str:
    given = Headers(scope=scope).get("x-request-id", "")
    return given if _GOOD_ID.fullmatch(given) else secrets.token_hex(8)


def _add_headers(headers: MutableHeaders, request: str) -> None:
    headers.update(SAFE_HEADERS)
    headers["x-request-id"] = request
    # With an ETag, clients may cache the answer but must revalidate it.
    headers.setdefault("cache-control", "private, no-cache" if "etag" in headers else "no-store")
    is_page = headers.get("content-type", "").startswith("text/html")
    policy = "frame-ancestors 'none'" if is_page else "default-src 'none'"
    headers.setdefault("content-security-policy", policy)


def _call(scope: Scope) -> str:
    """Return the method and route, without names of topics: the log must not contain them."""
    route = getattr(scope.get("route"), "path", None) or scope.get("root_path") or ""
    if not route and scope["path"] in (*HEALTH_PAGES, "/metrics"):
        route = scope["path"]
    return f"{scope['method']} {route or '(nothing)'}"
