"""Attacks on open pages: strangers and other visitors who know a page's address.

An address of a poll has the ids of page, tab and socket; proxies write it into their logs. Each
attack returns whether the server accepted it. `PYTHONPATH=.:tests python -m
tests.attack.test_pages` prints which attacks have an effect.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest
from serve.process_making import Process, hades_serve
from ui.tabs import EVENTS, SEPARATOR, Tab

import hades
from tests.callers import keys_of, new_key, start_link

LONG = os.environ.get("HADES_ATTACK") == "long"
HIDDEN = "The safe is opened by 4711."
SIGN_INS = 1_000 if LONG else 120
WAIT_S = 0.5
"""How long an accepted message may take to have its effect."""
PLANTED = "planted"
"""The name of every key and topic that an attack tries to create."""


@dataclass
class Victims:
    """A server, with pages that others have open."""

    process: Process
    memory: Path

    @property
    def url(self) -> str:
        return self.process.where("http")

    def key(self, role: str, *spaces: str) -> str:
        return new_key(self.memory, role, *spaces)

    def add_page(self) -> Tab:
        """A writer's page to add notes to the space `secret`, drawn."""
        tab = Tab(self.url).sign_in(self.key("writer", "secret")).load("/add?space=secret")
        tab.wait_for("Added in this session")
        return tab

    @cached_property
    def owner(self) -> Tab:
        """The owner's page of keys, drawn."""
        tab = Tab(self.url)
        tab.http.get(start_link(self.memory)).raise_for_status()
        tab.load("/keys").wait_for("Create the space")
        return tab

    @cached_property
    def writer(self) -> Tab:
        return self.add_page()

    @cached_property
    def reader(self) -> Tab:
        """An open page of a reader of another space."""
        tab = Tab(self.url).sign_in(self.key("reader", "default")).load("/topics")
        tab.wait_for("public")
        return tab

    @property
    def stranger(self) -> Tab:
        """A browser with a cookie of the right name, without a session."""
        tab = Tab(self.url)
        port = self.url.rpartition(":")[2]
        tab.http.cookies.set(f"hades_{port}", "x", domain="127.0.0.1", path="/")
        return tab

    def planted(self) -> bool:
        """Whether an attack wrote something; what it wrote is removed."""
        time.sleep(WAIT_S)
        found = [key.name for key in keys_of(self.memory).listed() if key.name == PLANTED]
        for name in found:
            keys_of(self.memory).revoke(name)
        with self.process.client("admin") as admin:
            topics = admin.get("/v1/spaces/secret/topics").json()["items"]
            written = [it["name"] for it in topics if PLANTED in it["name"]]
            for name in written:
                admin.post("/v1/spaces/secret/purge", json={"name": name}).raise_for_status()
        return bool(found or written)


def posing_as(victim: Tab, attacker: Tab) -> Tab:
    """A tab with an attacker's cookies, and the ids of a victim's page."""
    tab = Tab(str(attacker.http.base_url))
    tab.http.cookies = attacker.http.cookies
    tab.page = victim.page
    tab.tab = victim.tab
    tab.socket = victim.socket
    return tab


def planted_key(tab: Tab) -> dict[str, object]:
    return tab.submission("role", name=PLANTED, role="admin", spaces="")


def new_note(tab: Tab) -> dict[str, object]:
    return tab.submission("content", topic=PLANTED, content="Pay Eve.", kind="note")


def receives(attacker: Tab, text: str) -> bool:
    try:
        return bool(attacker.wait_for(text))
    except AssertionError:
        return False


def stranger_creates_and_reads_an_admin_key(victims: Victims) -> bool:
    attacker = posing_as(victims.owner, victims.stranger)
    attacker.connect()
    if not receives(attacker, "Create the space"):
        return False
    attacker.emit("event", planted_key(attacker))
    return receives(attacker, "shown only this once")


def stranger_without_a_cookie_creates_a_key(victims: Victims) -> bool:
    attacker = posing_as(victims.owner, Tab(victims.url))
    return attacker.emit("event", planted_key(victims.owner)).is_success


def stranger_gives_a_parameter_twice(victims: Victims) -> bool:
    """Let the gate read one value and Engine.IO the other; then write into an owner's page."""
    attacker = victims.stranger
    attacker.page = victims.owner.page
    first = {**attacker.address, "implicit_handshake": "false"}
    query = f"{httpx.QueryParams(first)}&implicit_handshake=true"
    opened = attacker.http.get(f"{EVENTS}?{query}")
    if not opened.text.startswith("0{"):
        return False
    sid = json.loads(opened.text[1:].split(SEPARATOR)[0])["sid"]
    bodies = ("40", "42" + json.dumps(["event", planted_key(victims.owner)]))
    for body in bodies:
        answer = attacker.http.post(f"{EVENTS}?{query}&sid={sid}", content=body.encode())
    return answer.is_success


def reader_writes_by_the_socket_of_a_writer(victims: Victims) -> bool:
    note = new_note(victims.writer)
    by_own_page = victims.reader.emit("event", note, sid=victims.writer.socket)
    by_that_page = posing_as(victims.writer, victims.reader).emit("event", note)
    return by_own_page.is_success or by_that_page.is_success


def reader_writes_by_their_own_socket(victims: Victims) -> bool:
    """NiceGUI takes the page from the message, not from the socket."""
    return victims.reader.emit("event", new_note(victims.writer)).is_success


def reader_writes_beside_a_message_for_their_own_page(victims: Victims) -> bool:
    own = ["ack", {"client_id": victims.reader.page, "next_message_id": 1}]
    packets = ("42" + json.dumps(it) for it in (own, ["event", new_note(victims.writer)]))
    return victims.reader.post(SEPARATOR.join(packets)).is_success


def reader_writes_by_a_quoted_packet(victims: Victims) -> bool:
    """Engine.IO reads a message that is a JSON string as the string."""
    packet = "2" + json.dumps(["event", new_note(victims.writer)])
    return victims.reader.post("4" + json.dumps(packet)).is_success


def reader_writes_by_an_attachment(victims: Victims) -> bool:
    """Socket.IO puts the next message where a binary event has a placeholder."""
    held = {**new_note(victims.writer), "client_id": {"_placeholder": True, "num": 0}}
    begun = victims.reader.post("451-" + json.dumps(["event", held]))
    ended = victims.reader.post("4" + json.dumps(victims.writer.page))
    return begun.is_success or ended.is_success


def reader_writes_by_a_field_given_twice(victims: Victims) -> bool:
    note = {**new_note(victims.writer), "client_id": victims.reader.page}
    own_first = json.dumps(["event", note])[:-2] + f', "client_id": "{victims.writer.page}"}}]'
    return victims.reader.post("42" + own_first).is_success


def reader_writes_by_a_form_of_jsonp(victims: Victims) -> bool:
    packet = "42" + json.dumps(["event", new_note(victims.writer)])
    return victims.reader.post(str(httpx.QueryParams({"d": packet})), j="0").is_success


def reader_joins_by_an_event(victims: Victims) -> bool:
    """Call NiceGUI's own handlers, with the address of a page in the message."""
    address = {**victims.reader.address, "client_id": victims.writer.page}
    hidden = {"client_id": victims.reader.page, "QUERY_STRING": str(httpx.QueryParams(address))}
    messages = (("handshake", address), ("connect", address), ("connect", hidden))
    answers = [victims.reader.emit(event, message) for event, message in messages]
    return any(it.is_success for it in answers)


def reader_uploads_into_the_page_of_a_writer(victims: Victims) -> bool:
    files = {"file": (f"{PLANTED}.md", b"# Pay Eve")}
    return victims.reader.http.post(victims.writer.upload_url(), files=files).is_success


WRITING = (
    stranger_creates_and_reads_an_admin_key,
    stranger_without_a_cookie_creates_a_key,
    stranger_gives_a_parameter_twice,
    reader_writes_by_the_socket_of_a_writer,
    reader_writes_by_their_own_socket,
    reader_writes_beside_a_message_for_their_own_page,
    reader_writes_by_a_quoted_packet,
    reader_writes_by_an_attachment,
    reader_writes_by_a_field_given_twice,
    reader_writes_by_a_form_of_jsonp,
    reader_joins_by_an_event,
)


def _say_something(tab: Tab) -> None:
    """Let a page get a message, so that a poll of its socket need not wait."""
    tab.emit("event", tab.submission("content", topic="", content=HIDDEN, kind="note"))


def reader_joins_the_page_of_a_writer(victims: Victims) -> bool:
    attacker = posing_as(victims.writer, victims.reader)
    attacker.connect()
    return receives(attacker, "Added in this session")


def stranger_polls_the_socket_of_a_page(victims: Victims) -> bool:
    _say_something(victims.writer)
    return posing_as(victims.writer, victims.stranger).get().is_success


def reader_polls_the_socket_of_a_page(victims: Victims) -> bool:
    _say_something(victims.writer)
    if victims.reader.get(sid=victims.writer.socket).is_success:
        return True
    _say_something(victims.writer)
    return posing_as(victims.writer, victims.reader).get().is_success


def writer_goes_on_after_signing_out(victims: Victims) -> bool:
    tab = victims.add_page()
    tab.http.get("/sign-out")
    return tab.emit("event", new_note(tab)).is_success or tab.get().is_success


def writer_goes_on_after_the_key_was_revoked(victims: Victims) -> bool:
    tab = victims.add_page()
    keys = keys_of(victims.memory)
    keys.revoke(keys.listed()[-1].name)
    return tab.emit("event", new_note(tab)).is_success or tab.get().is_success


def visitor_reaches_engine_io_by_another_path(victims: Victims) -> bool:
    _say_something(victims.writer)
    ways = ("/", "/x/..", "/%2e", "/_nicegui_ws/..")
    paths = [f"{way}/_nicegui_ws/socket.io/" for way in ways]
    address = httpx.QueryParams({**victims.writer.address, "sid": victims.writer.socket})
    answers = [victims.reader.http.get(f"{victims.url}{path}?{address}") for path in paths]
    return any(it.is_success and it.text.startswith("4") for it in answers)


def visitor_upgrades_to_a_websocket(victims: Victims) -> bool:
    tab = posing_as(victims.reader, victims.reader)
    tab.http.headers.update({"connection": "upgrade", "upgrade": "websocket"})
    answers = [tab.get(transport=transport) for transport in ("polling", "websocket")]
    return any(it.is_success or it.is_server_error for it in answers)


def reader_signs_an_owner_out(victims: Victims) -> bool:
    owner, key = victims.owner, victims.key("reader", "default")
    with httpx.Client(base_url=victims.url, timeout=60) as http:
        for _ in range(SIGN_INS):
            http.post("/sign-in", data={"key": key})
    return owner.http.get("/keys").status_code != 200


OTHERS = (
    reader_joins_the_page_of_a_writer,
    reader_polls_the_socket_of_a_page,
    stranger_polls_the_socket_of_a_page,
    reader_uploads_into_the_page_of_a_writer,
    writer_goes_on_after_signing_out,
    writer_goes_on_after_the_key_was_revoked,
    visitor_reaches_engine_io_by_another_path,
    visitor_upgrades_to_a_websocket,
    reader_signs_an_owner_out,
)


@contextmanager
def serving(folder: Path) -> Iterator[Victims]:
    memory = folder / "notes.hades"
    with hades.open(memory) as notes:
        notes.remember("public", "Ann lives in Oslo.")
        notes.create_space("secret")
    with hades_serve(memory, "--port", "0", "--log-level", "warning") as process:
        yield Victims(process, memory)


@pytest.fixture(scope="module")
def victims(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victims]:
    with serving(tmp_path_factory.mktemp("pages")) as victims:
        yield victims


@pytest.mark.parametrize("attack", OTHERS)
def test_an_open_page_answers_only_the_session_that_loaded_it(
    victims: Victims, attack: Callable[[Victims], bool]
) -> None:
    assert not attack(victims)


def test_nobody_else_writes_by_an_open_page(victims: Victims) -> None:
    assert [attack.__name__ for attack in WRITING if attack(victims)] == []
    assert not victims.planted()


def test_a_poll_that_waits_ends_with_its_session(victims: Victims) -> None:
    tab = victims.add_page()
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(tab.wait_for, "what never comes")
        time.sleep(WAIT_S)
        posing_as(tab, tab).http.get("/sign-out")
        with pytest.raises(AssertionError, match="Your session has ended"):
            waiting.result()


def test_a_signed_out_page_is_told_to_load_again(victims: Victims) -> None:
    tab = victims.add_page()
    tab.http.get("/sign-out")
    answer = tab.http.get(EVENTS, params=tab.address)
    assert answer.text.endswith('44{"message":"Implicit handshake failed"}')


def test_what_no_page_sends_gets_a_sentence(victims: Victims) -> None:
    deep, large = "42" + "[" * 100_000 + "]", "1" * (10**6 + 1)
    for body in ("", "x", "4", "42", "42[", "42{}", "42[1,2]", "4\x1e", "\xff", deep, large):
        answer = victims.reader.post(body)
        assert answer.status_code == 422, body[:100]
        assert answer.json()["detail"]


def test_a_reader_of_one_space_sees_no_figures_of_the_server(victims: Victims) -> None:
    def health(*spaces: str) -> str:
        tab = Tab(victims.url).sign_in(victims.key("reader", *spaces)).load("/health")
        return tab.wait_for("Quality")

    figures = ("Time of questions", "Caches")
    assert [title in health() for title in figures] == [True, True]
    assert [title in health("default") for title in figures] == [False, False]


def test_a_page_takes_the_messages_and_files_of_its_own_session(victims: Victims) -> None:
    tab = victims.add_page()
    assert tab.emit("event", new_note(tab)).is_success
    tab.wait_for("Remembered as version 1")
    files = {"file": (f"{PLANTED}.md", b"# Pay Eve\n")}
    assert tab.http.post(tab.upload_url(), files=files).is_success
    assert victims.planted()


def main() -> None:
    """Print which attacks have an effect."""
    with TemporaryDirectory() as folder, serving(Path(folder)) as served:
        for attack in (*WRITING, *OTHERS):
            victims = Victims(served.process, served.memory)
            accepted = attack(victims)
            succeeded = victims.planted() if attack in WRITING else accepted
            done = "succeeds" if succeeded else "no effect" if accepted else "refused"
            print(f"| {attack.__name__.replace('_', ' ')} | {done} |", flush=True)


if __name__ == "__main__":
    main()
