"""The gate: lets visitors in, by a key or by a one-time start link, and keeps others out.

Nothing of NiceGUI answers before a visitor has signed in; the sign-in page is plain HTML.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from dataclasses import dataclass
from html import escape
from urllib.parse import parse_qs, quote, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hades.errors import HadesError
from hades.serve.auth.browsers import ENDED, REVOKED, SignedOut, StartLinks
from hades.serve.auth.caller import name_call
from hades.serve.auth.keys import Keys
from hades.serve.auth.limits import LOOPBACK_NAMES
from hades.serve.pool import STOPPING
from hades.serve.problems import problem
from hades.ui.calls import Calls, Visitor
from hades.ui.ownership import EVENTS, refusal
from hades.ui.theme import CSS

FORM_BYTES_AT_MOST = 4_096
LOOK_EVERY_S = 1.0
"""The interval at which a waiting request checks whether its session or the server has ended."""
_OWN_PLACE = re.compile(r"/(?![/\\])[^\x00-\x20\\\x7f]*")
"""A path of this server. Browsers drop tabs and line breaks and take a backslash for a slash."""
POLICY = "; ".join(
    (
        "default-src 'none'",
        # NiceGUI starts from an inline script and compiles handlers in the browser.
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "script-src-attr 'none'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
PLAIN_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'"
PLAIN_POLICY += "; frame-ancestors 'none'"
SIGNED_OUT = "You are signed out."
USED_LINK = "This link was used or has expired: run `hades ui` for a new one."


@dataclass(frozen=True, slots=True)
class Gate:
    """The pages with their sign-in, as one ASGI application."""

    pages: ASGIApp
    calls: Calls
    keys: Keys
    links: StartLinks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        path = scope["path"]
        token = request.cookies.get(_cookie(scope), "")
        names = [name for name, _ in request.query_params.multi_items()]
        reads = request.method in ("GET", "HEAD") and not path.startswith(EVENTS)
        answer: Response
        if not reads and not _is_same_origin(request):
            answer = problem(403, "This request came from a page of another site.")
        elif len(names) > len(set(names)):
            # Two parsers of one address could pick different values.
            answer = problem(400, "A parameter of this address is given twice.")
        elif path == "/sign-in":
            answer = await self._sign_in(request)
        elif path.startswith("/start/"):
            answer = self._start(request)
        elif path == "/sign-out":
            self.calls.sessions.end(token)
            answer = RedirectResponse(f"/sign-in?why={quote(SIGNED_OUT)}", 303)
        else:
            try:
                scope["hades.caller"] = self.calls.sessions.caller(token)
            except SignedOut as error:
                # The refusal makes an open page load again, which leads to the sign-in page.
                answer = refusal(request) or _elsewhere(request, str(error) if token else "")
            else:
                scope["hades.visitor"] = Visitor(self.calls, token)
                pages = self._poll if path.startswith(EVENTS) else self.pages
                await pages(scope, receive, _with_policy(send))
                return
        await answer(scope, receive, send)

    async def _poll(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that may wait for events; end it with the session or the server."""
        waiting = asyncio.ensure_future(self.pages(scope, receive, send))
        try:
            while not (await asyncio.wait({waiting}, timeout=LOOK_EVERY_S))[0]:
                if self.calls.executor.leaving:
                    await problem(503, STOPPING)(scope, receive, send)
                    return
                scope["hades.caller"] = scope["hades.visitor"].caller
            waiting.result()
        except SignedOut as error:
            await problem(401, str(error))(scope, receive, send)
        finally:
            waiting.cancel()

    async def _sign_in(self, request: Request) -> Response:
        if request.method != "POST":
            # only known sentences are shown, because anybody can write an address
            why = request.query_params.get("why", "")
            return _form(why if why in (ENDED, REVOKED, SIGNED_OUT) else "", _next(request))
        name_call("POST /sign-in")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > FORM_BYTES_AT_MOST:
                return _form("This is too long for a key.", "/", 413)
        fields = parse_qs(body.decode("utf-8", "replace"))
        try:
            key = self.keys.find(fields.get("key", [""])[0].strip())
        except HadesError as error:
            return _form(str(error), _next(request), 503)
        if key is None:
            return _form("This key is not known: it may have been revoked.", _next(request), 401)
        return self._enter(request, self.calls.sessions.begin(key), _next(request))

    def _start(self, request: Request) -> Response:
        name_call("GET /start")
        if not _is_here(request):
            return _form("A start link works on the server's own machine only.", "/", 403)
        try:
            if not self.links.use(request.scope["path"].removeprefix("/start/")):
                return _form(USED_LINK, "/", 401)
        except HadesError as error:
            return _form(str(error), "/", 503)
        return self._enter(request, self.calls.sessions.begin(None), "/")

    def _enter(self, request: Request, token: str, place: str) -> Response:
        # A page, not a redirect: after a redirect from another site, browsers withhold the cookie.
        moving = f'<meta http-equiv="refresh" content="0;url={escape(place)}">'
        answer = _page("Signed in", f'{moving}<p><a href="{escape(place)}">Go on</a></p>')
        answer.set_cookie(
            _cookie(request.scope),
            token,
            httponly=True,
            samesite="strict",
            secure=request.headers.get("x-forwarded-proto") == "https",
        )
        return answer


def _cookie(scope: Scope) -> str:
    """Return the cookie's name, with the port: ports of one host share their cookies."""
    return f"hades_{(scope.get('server') or ('', 0))[1]}"


def _is_same_origin(request: Request) -> bool:
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin in (None, "null") or urlsplit(origin).netloc == request.headers.get("host")


def _is_here(request: Request) -> bool:
    """Whether a request comes from this machine and not through a proxy."""
    host = request.url.hostname or ""
    peer = request.client.host if request.client else ""
    try:
        is_loopback = ipaddress.ip_address(peer).is_loopback
    except ValueError:
        return False
    return is_loopback and host in LOOPBACK_NAMES and "x-forwarded-for" not in request.headers


def _next(request: Request) -> str:
    """Return the page to show after the sign-in; never another site's."""
    place = request.query_params.get("next", "/")
    return place if _OWN_PLACE.fullmatch(place) else "/"


def _elsewhere(request: Request, why: str) -> Response:
    """Send a browser that asks for a page to the sign-in page; refuse any other request."""
    if request.method != "GET" or "text/html" not in request.headers.get("accept", ""):
        return problem(401, why or "Sign in at /sign-in, or send a key.")
    place = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    query = f"?next={quote(place, safe='')}" + (f"&why={quote(why)}" if why else "")
    return RedirectResponse(f"/sign-in{query}", 303)


def _form(why: str, place: str, status: int = 200) -> HTMLResponse:
    alert = f'<p class="error" role="alert">{escape(why[:300])}</p>' if why else ""
    return _page(
        "Sign in",
        f"""{alert}<form method="post" action="/sign-in?next={escape(quote(place, safe=""))}">
        <label for="key">Your key</label>
        <input id="key" name="key" type="password" autocomplete="off" required autofocus>
        <button type="submit">Sign in</button></form>
        <p class="muted">No key yet? On the server’s machine, run <code>hades ui</code> for a
        start link, or <code>hades keys create NAME</code> for a key.</p>""",
        status,
    )


def _page(title: str, body: str, status: int = 200) -> HTMLResponse:
    html = f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
    <title>{title} – HADES</title>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <style>{CSS}</style></head><body class="plain"><main class="sign-in"><h1>HADES</h1>
    <p class="muted">Long-term memory, every version kept.</p>{body}</main></body></html>"""
    return HTMLResponse(html, status, {"content-security-policy": PLAIN_POLICY})


def _with_policy(send: Send) -> Send:
    """Add the policy for NiceGUI's pages to answers that are HTML."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if headers.get("content-type", "").startswith("text/html"):
                headers["content-security-policy"] = POLICY
        await send(message)

    return sending
