"""Access to the pages: sign-in, sessions that end, foreign sites, and calls with a key's rights."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hades.errors import Denied, InvalidInput, NotFound, Unavailable
from hades.serve.auth import browsers
from hades.serve.auth.audit import Audit
from hades.serve.auth.browsers import BrowserSessions, SignedOut, StartLinks
from hades.serve.auth.caller import Role
from hades.serve.auth.keys import Keys
from hades.serve.auth.middleware import protected
from hades.serve.auth.sockets import LISTENERS
from hades.serve.executor import Executor
from hades.serve.jobs import Jobs
from hades.serve.telemetry.metrics import Metrics
from hades.serve.uploads import Uploads
from hades.ui.calls import Calls
from hades.ui.gate import Gate
from tests.ui.visiting import CalledMemory, called

HTML = {"accept": "text/html"}
HOME = "http://127.0.0.1:8674"


class Site:
    """The gate in front of a page that says who sees it, as the middleware calls it."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.keys = Keys(folder / "notes.hades.keys")
        self.links = StartLinks(folder / "notes.hades", lambda: self.now)
        self.sessions = BrowserSessions(self.keys, lambda: self.now)
        self.executor = Executor.open(folder / "notes.hades")
        self.audit = Audit(folder / "audit")
        calls = Calls(
            self.executor,
            self.sessions,
            self.audit,
            Jobs(self.executor),
            Uploads(None),
            Metrics(),
            self.keys,
        )
        gate = Gate(_page, calls, self.keys, self.links)
        self._app = protected(_api, self.keys, pages=gate)
        self.cookies = httpx.Cookies()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        scope["hades.listener"] = LISTENERS["http"]
        await self._app(scope, receive, send)

    def send(
        self, method: str, path: str, *, peer: str = "127.0.0.1", home: str = HOME, **given: Any
    ) -> httpx.Response:
        async def sent() -> httpx.Response:
            transport = httpx.ASGITransport(self, client=(peer, 5000))
            async with httpx.AsyncClient(
                transport=transport, base_url=home, cookies=self.cookies
            ) as client:
                answer = await client.request(method, path, **given)
                self.cookies = client.cookies
                return answer

        return asyncio.run(sent())

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self.send("GET", path, headers=HTML, **given)

    def sign_in(self, role: Role = Role.READER, **given: Any) -> httpx.Response:
        _, token = self.keys.create("ann", role)
        return self.send("POST", "/sign-in", data={"key": token}, **given)


async def _page(scope: Any, receive: Any, send: Any) -> None:
    from starlette.responses import HTMLResponse

    await HTMLResponse(f"hello {scope['hades.caller'].name}")(scope, receive, send)


async def _api(scope: Any, receive: Any, send: Any) -> None:
    from starlette.responses import PlainTextResponse

    await PlainTextResponse("api")(scope, receive, send)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.executor.close()
    made.audit.close()


def test_a_stranger_is_sent_to_the_sign_in_page(site: Site) -> None:
    answer = site.get("/topics?search=x")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=%2Ftopics%3Fsearch%3Dx"
    form = site.get("/sign-in")
    assert form.status_code == 200
    assert "Your key" in form.text


def test_nothing_of_the_pages_answers_a_stranger(site: Site) -> None:
    for path in ("/_nicegui/3/static/nicegui.js", "/_nicegui_ws/socket.io/?EIO=4", "/topics"):
        answer = site.send("GET", path)
        assert answer.status_code == 401
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_key_signs_in_with_a_cookie_that_scripts_and_other_sites_cannot_use(site: Site) -> None:
    cookie = site.sign_in().headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert site.get("/").text == "hello key:ann"


def test_pages_cannot_be_framed_or_load_from_elsewhere(site: Site) -> None:
    site.sign_in()
    headers = site.get("/").headers
    assert headers["x-frame-options"] == "DENY"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src-attr 'none'" in policy
    assert "http:" not in policy


@pytest.mark.parametrize("key", ["", "hades_x", "hades_0_" + "0" * 64, "é\x00", "x" * 5000])
def test_an_unknown_key_gets_a_sentence(site: Site, key: str) -> None:
    answer = site.send("POST", "/sign-in", data={"key": key})
    assert answer.status_code in (401, 413)
    assert 'role="alert"' in answer.text
    assert site.get("/").status_code == 303


def test_a_revoked_key_ends_its_sessions_with_a_sentence(site: Site) -> None:
    site.sign_in()
    site.keys.revoke("ann")
    answer = site.get("/")
    assert answer.status_code == 303
    assert "Your%20key%20was%20revoked" in answer.headers["location"]


def test_an_unused_session_ends(site: Site) -> None:
    site.sign_in()
    site.now = browsers.IDLE_S - 1
    assert site.get("/").status_code == 200
    site.now += browsers.IDLE_S + 1
    assert "session%20has%20ended" in site.get("/").headers["location"]


def test_signing_out_ends_the_session(site: Site) -> None:
    site.sign_in()
    assert site.get("/sign-out").status_code == 303
    assert site.get("/").status_code == 303


@pytest.mark.parametrize(
    "place",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "/\r\\evil.example",
        "\t//evil.example",
        " //evil.example",
    ],
)
def test_signing_in_never_leads_to_another_site(site: Site, place: str) -> None:
    _, token = site.keys.create("ann", Role.READER)
    answer = site.send("POST", "/sign-in", params={"next": place}, data={"key": token})
    assert "evil" not in answer.text
    assert "url=/" in answer.text


def test_signing_in_leads_back_to_the_page_that_was_asked_for(site: Site) -> None:
    _, token = site.keys.create("ann", Role.READER)
    place = "/topics?search=caf%C3%A9&at=2024-01-01T00%3A00%3A00Z"
    answer = site.send("POST", "/sign-in", params={"next": place}, data={"key": token})
    assert f"url={place.replace('&', '&amp;')}" in answer.text


@pytest.mark.parametrize(
    "path", ["/?a=1&a=1", "/_nicegui_ws/socket.io/?sid=x&sid=y", "/sign-in?why&why"]
)
def test_a_parameter_given_twice_is_refused(site: Site, path: str) -> None:
    site.sign_in()
    answer = site.get(path)
    assert answer.status_code == 400
    assert "given twice" in answer.json()["detail"]


def test_many_sign_ins_end_only_sessions_of_their_own_key(site: Site) -> None:
    ann, _ = site.keys.create("ann", Role.ADMIN)
    eve, _ = site.keys.create("eve", Role.READER)
    sessions = [site.sessions.begin(ann), site.sessions.begin(None)]
    first = site.sessions.begin(eve)
    for _ in range(browsers.SESSIONS_PER_KEY_AT_MOST + 1_000):
        site.now += 1
        last = site.sessions.begin(eve)
    callers = [site.sessions.caller(token).name for token in (*sessions, last)]
    assert callers == ["key:ann", "owner", "key:eve"]
    with pytest.raises(browsers.SignedOut):
        site.sessions.caller(first)


def test_text_in_the_address_is_escaped(site: Site) -> None:
    answer = site.get('/sign-in?why=<script>alert(1)</script>&next=/"><script>')
    assert "<script" not in answer.text


@pytest.mark.parametrize(
    "headers", [{"sec-fetch-site": "cross-site"}, {"origin": "http://evil.example"}]
)
def test_a_page_of_another_site_cannot_sign_in_or_send_events(
    site: Site, headers: dict[str, str]
) -> None:
    assert site.sign_in(headers=headers).status_code == 403
    assert site.send("POST", "/_nicegui_ws/socket.io/", headers=headers).status_code == 403


def test_a_start_link_signs_the_owner_in_once(site: Site) -> None:
    token = site.links.create()
    assert site.get(f"/start/{token}").status_code == 200
    assert site.get("/").text == "hello owner"
    site.cookies.clear()
    again = site.get(f"/start/{token}")
    assert again.status_code == 401
    assert "hades ui" in again.text


def test_a_start_link_expires(site: Site) -> None:
    token = site.links.create()
    site.now += browsers.LINK_S + 1
    assert site.get(f"/start/{token}").status_code == 401


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"peer": "192.0.2.7"},
        {"headers": {"x-forwarded-for": "192.0.2.7", **HTML}},
    ],
)
def test_a_start_link_works_on_this_machine_only(site: Site, elsewhere: dict[str, Any]) -> None:
    token = site.links.create()
    assert site.send("GET", f"/start/{token}", **elsewhere).status_code == 403
    assert site.get(f"/start/{token}").status_code == 200, "the refused attempt did not use it up"


def test_start_links_are_stored_as_hashes_in_a_private_file(site: Site) -> None:
    token = site.links.create()
    assert token not in site.links.path.read_text()
    assert site.links.path.stat().st_mode & 0o077 == 0


def test_a_browser_is_handed_a_start_link_in_a_private_file(site: Site, tmp_path: Path) -> None:
    token = site.links.create()
    address = site.links.hand_over(f"{HOME}/start/{token}")
    page = tmp_path / "notes.hades.start.html"
    assert address == page.as_uri()
    assert token not in address
    assert f"url={HOME}/start/{token}" in page.read_text()
    assert page.stat().st_mode & 0o077 == 0
    assert site.get(f"/start/{token}").status_code == 200
    assert not page.exists()


def test_the_api_is_as_before(site: Site) -> None:
    assert site.send("GET", "/v1/spaces").status_code == 401
    assert site.send("GET", "/", headers={"authorization": "Bearer wrong"}).status_code == 401
    _, token = site.keys.create("bot", Role.READER)
    for path in ("/v1", "/graphql", "/mcp", "/metrics", "/v1/nothing"):
        answer = site.send("GET", path, headers={"authorization": f"Bearer {token}"})
        assert answer.text == "api"


def test_another_host_name_gets_no_page(site: Site) -> None:
    """So that a web page cannot reach the explorer under a name of its own (DNS rebinding)."""
    assert site.get("/sign-in", home="http://evil.example").status_code == 400


@pytest.fixture
def called_site(tmp_path: Path) -> Iterator[CalledMemory]:
    made = CalledMemory(tmp_path)
    called(made.visitor(Role.WRITER), "remember", topic="a", content="Ann lives in Oslo.")
    yield made
    made.close()


def test_a_reader_reads_and_cannot_write(called_site: CalledMemory) -> None:
    reader = called_site.visitor(Role.READER)
    assert called(reader, "get", topic="a").content == "Ann lives in Oslo."
    assert not reader.may(Role.WRITER, "default")
    for name, given in {
        "remember": {"topic": "a", "content": "changed"},
        "forget": {"topic": "a"},
        "feedback": {"recall": "x", "useful": ["1"]},
        "relate": {"source": "a", "relation": "r", "target": "b"},
    }.items():
        with pytest.raises(Denied, match="role writer"):
            called(reader, name, **given)
    assert called(reader, "get", topic="a").version == 1


def test_figures_of_the_whole_server_need_a_key_for_all_spaces(called_site: CalledMemory) -> None:
    asyncio.run(called_site.visitor(Role.READER).measured())
    with pytest.raises(Denied, match="all spaces"):
        asyncio.run(called_site.visitor(Role.ADMIN, ["default"]).measured())


def test_a_reader_adds_no_files_and_only_the_owner_uses_keys(called_site: CalledMemory) -> None:
    reader, writer = called_site.visitor(Role.READER), called_site.visitor(Role.WRITER)
    with pytest.raises(Denied, match="role writer"):
        asyncio.run(reader.add_files("default", []))
    for visitor in (reader, writer):
        for work in (
            visitor.keys(),
            visitor.create_key("new", Role.ADMIN, None),
            visitor.revoke_key(reader.caller.name.removeprefix("key:")),
            visitor.create_space("new"),
        ):
            with pytest.raises(Denied, match="role admin"):
                asyncio.run(work)
    with pytest.raises(Denied, match="own machine"):
        asyncio.run(called_site.visitor(Role.ADMIN).create_key("new", Role.ADMIN, None))
    with pytest.raises(Denied, match="role admin"):
        called(writer, "approve", proposal=1)
    assert "new" not in [key.name for key in called_site.keys.listed()]
    assert reader.caller.role == Role.READER


def test_a_key_for_some_spaces_sees_only_those(called_site: CalledMemory) -> None:
    limited = called_site.visitor(Role.ADMIN, ["other"])
    assert asyncio.run(limited.spaces()) == []
    with pytest.raises(Denied, match="space 'default'"):
        called(limited, "topics")


def test_a_revoked_key_ends_what_is_open(called_site: CalledMemory) -> None:
    writer = called_site.visitor(Role.WRITER)
    called_site.keys.revoke(writer.caller.name.removeprefix("key:"))
    with pytest.raises(SignedOut):
        called(writer, "remember", topic="a", content="too late")


def test_arguments_are_checked_as_requests_are(called_site: CalledMemory) -> None:
    reader = called_site.visitor(Role.READER)
    for given in ({"budget": 3}, {"budget": "many"}, {"mode": "loud"}, {"depth": 1}):
        with pytest.raises(InvalidInput):
            called(reader, "ask", question="Where does Ann live?", **given)


def test_a_space_that_is_gone_is_said(called_site: CalledMemory) -> None:
    with pytest.raises(NotFound, match="no space 'gone'"):
        called(called_site.visitor(Role.ADMIN), "topics", "gone")


def test_a_read_only_server_refuses_writes_of_all(tmp_path: Path) -> None:
    called_site = CalledMemory(tmp_path, read_only=True)
    writer = called_site.visitor(Role.WRITER)
    assert not writer.may(Role.WRITER, "default")
    with pytest.raises(Unavailable, match="read-only"):
        called(writer, "remember", topic="a", content="b")
    called_site.close()


def test_calls_of_pages_are_in_the_audit_log(called_site: CalledMemory) -> None:
    reader = called_site.visitor(Role.READER)
    called(reader, "topics")
    with pytest.raises(Denied):
        called(reader, "forget", topic="a")
    refused, listed = called_site.audit.tail(2)
    assert (listed["call"], listed["mode"], listed["status"]) == ("page topics", "RO", 200)
    assert (refused["call"], refused["mode"], refused["status"]) == ("page forget", "RW", 403)
    assert refused["who"] == reader.caller.name
