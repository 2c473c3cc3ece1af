"""Ownership: a page answers only to the session that loaded it.

NiceGUI finds a page by the id in a request or a message, and does not check the session. These ids
are in the addresses of polls, which proxies log. So this middleware compares the session of every
poll, message and upload with the session that loaded the page.
"""

from __future__ import annotations

import json
import re
from collections import deque
from weakref import WeakKeyDictionary

from nicegui import Client
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hades.errors import Denied, HadesError, InvalidInput
from hades.serve.auth.limits import replayed
from hades.serve.problems import problem, status_of

EVENTS = "/_nicegui_ws/"
UPLOADS = "/_nicegui/client/"
SOCKETS_AT_MOST = 4
"""The maximum number of open sockets of a page. After a lost connection, a page opens another."""
MESSAGE_BYTES_AT_MOST = 1_000_000
"""The limit of Engine.IO for one request."""
SEPARATOR = "\x1e"
NOT_YOURS = "This page belongs to another session: load it again."
_LOAD_AGAIN = (
    '0{"sid":"none","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}'
    f'{SEPARATOR}44{{"message":"Implicit handshake failed"}}'
)
"""Engine.IO 4 "open" and Socket.IO 5 "connect error", with the text that NiceGUI's script knows."""
_BARE_PACKETS = frozenset({"1", "3", "40", "41"})
"""Engine.IO "close" and "pong", Socket.IO "connect" and "disconnect"."""
_EVENT = re.compile(r"42[0-9]{0,9}(\[.*\])", re.DOTALL)
"""A Socket.IO event, optionally with an acknowledgement id. Binary events are not accepted."""
_EVENT_NAMES = frozenset({"handshake", "event", "javascript_response", "ack", "log"})
"""The events of NiceGUI's script."""


class OwnPages:
    """Middleware around NiceGUI that refuses requests for pages of other visitors."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._sockets: WeakKeyDictionary[Client, deque[str]] = WeakKeyDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        path: str = scope["path"]
        try:
            if path.startswith(UPLOADS):
                _own_page(request, path.removeprefix(UPLOADS).partition("/")[0])
            elif path.startswith(EVENTS):
                page = _own_page(request, request.query_params.get("client_id", ""))
                send = self._checked_socket(request, page, send)
                if request.method == "POST":
                    receive = await _checked_body(request, page)
        except HadesError as error:
            answer = refusal(request) or problem(status_of(error), str(error))
            await answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _checked_socket(self, request: Request, page: Client, send: Send) -> Send:
        """Raise Denied if a poll names a socket of another page; record the socket that it
        opens."""
        query = request.query_params
        if query.get("transport") != "polling" or "upgrade" in request.headers:
            raise InvalidInput("Send events by polling, not over a WebSocket.")
        sockets = self._sockets.setdefault(page, deque(maxlen=SOCKETS_AT_MOST))
        if "sid" in query:
            if query["sid"] not in sockets:
                raise Denied(NOT_YOURS)
            return send

        async def sending(message: Message) -> None:
            body: bytes = message.get("body", b"")
            if body.startswith(b"0{"):
                sockets.append(json.loads(body[1:].split(SEPARATOR.encode())[0])["sid"])
            await send(message)

        return sending


def refusal(request: Request) -> Response | None:
    """Return the response that makes a page reload; None if the request does not open a socket."""
    query = request.query_params
    opens = request.scope["path"].startswith(EVENTS) and request.method == "GET"
    if not opens or "client_id" not in query or "sid" in query:
        return None
    return PlainTextResponse(_LOAD_AGAIN)


def _own_page(request: Request, id: str) -> Client:
    """Return an open page of the visitor's session; raise Denied if it is not theirs."""
    page = Client.instances.get(id)
    visitor = request.scope["hades.visitor"]
    if page is None or not visitor.shares_session(page.request.scope["hades.visitor"]):
        raise Denied(NOT_YOURS)
    return page


async def _checked_body(request: Request, page: Client) -> Receive:
    """Read a request's messages, and return a `receive` that gives them again.

    Raise Denied if a message is for another page, InvalidInput if NiceGUI's script would not
    send it.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MESSAGE_BYTES_AT_MOST:
            raise InvalidInput(f"A message has at most {MESSAGE_BYTES_AT_MOST:,} bytes.")
    try:
        packets = body.decode().split(SEPARATOR)
        for packet in packets:
            if packet not in _BARE_PACKETS and _addressee(packet) != page.id:
                raise Denied(NOT_YOURS)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("This is not a message of a page.") from error
    return replayed(body, request.receive)


def _addressee(packet: str) -> str:
    """Return the id of the page that an event is for; raise ValueError if it is not an event."""
    event = _EVENT.fullmatch(packet)
    match json.loads(event[1]) if event else None:
        case [str(name), {"client_id": str(page)}] if name in _EVENT_NAMES:
            return page
    raise ValueError(packet[:100])
