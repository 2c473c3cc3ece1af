"""An open page without a browser: what its script sends, and what a stranger would send instead.

The protocols are Engine.IO 4 by polling and Socket.IO 5, with the messages of NiceGUI 3.
"""

from __future__ import annotations

import json
import re
import uuid
from html import unescape
from typing import Any

import httpx

EVENTS = "/_nicegui_ws/socket.io/"
PATIENCE_S = 60.0
POLLS_AT_MOST = 40
"""How many answers may come until the awaited text is among them."""
SEPARATOR = "\x1e"


class Tab:
    """One tab of one browser: a page, and the socket through which it gets its content."""

    def __init__(self, url: str) -> None:
        unkept = httpx.Limits(max_keepalive_connections=0)  # so that nothing must be closed
        self.http = httpx.Client(base_url=url, timeout=PATIENCE_S, limits=unkept)
        self.http.headers["accept"] = "text/html"
        self.page = ""
        """The id of the page, as NiceGUI calls it."""
        self.tab = str(uuid.uuid4())
        self.socket = ""
        self.received = ""

    def sign_in(self, key: str) -> Tab:
        assert self.http.post("/sign-in", data={"key": key}).status_code == 200
        return self

    def load(self, path: str) -> Tab:
        """Load a page and connect it."""
        html = self.http.get(path).text
        (self.page,) = re.findall(r"'client_id': '([0-9a-f-]{36})'", html)
        drawn = re.search(r"parseElements\(String\.raw`([^`]*)`", html)
        if drawn:  # what was ready with the first response does not come by the socket
            self.received = f'42["update",{unescape(drawn[1])}]'
        self.connect().raise_for_status()
        return self

    @property
    def address(self) -> dict[str, str]:
        """The parameters of a page's polls, which proxies write into their logs."""
        return {
            "client_id": self.page,
            "next_message_id": "0",
            "implicit_handshake": "true",
            "document_id": "d",
            "tab_id": self.tab,
            "old_tab_id": "",
            "EIO": "4",
            "transport": "polling",
        }

    def connect(self, **address: str) -> httpx.Response:
        """Open a socket for the page, as its script does."""
        opened = self.http.get(EVENTS, params={**self.address, **address})
        sid = re.match(r'0\{"sid":"([^"]+)"', opened.text)
        self.socket = sid[1] if sid else ""
        return self.post("40", **address) if opened.is_success else opened

    def get(self, **address: str) -> httpx.Response:
        return self.http.get(EVENTS, params={**self.address, "sid": self.socket, **address})

    def post(self, body: str, **address: str) -> httpx.Response:
        params = {**self.address, "sid": self.socket, **address}
        return self.http.post(EVENTS, params=params, content=body.encode())

    def emit(self, event: str, message: dict[str, Any], **address: str) -> httpx.Response:
        return self.post("42" + json.dumps([event, message]), **address)

    def wait_for(self, text: str) -> str:
        """Poll until the page has got a text, and return all that it has got."""
        for _ in range(POLLS_AT_MOST):
            if text in self.received:
                return self.received
            answer = self.get()
            assert answer.is_success, answer.text
            self.received += SEPARATOR + answer.text
            if answer.text == "2":
                self.post("3")
        raise AssertionError(f"{text!r} did not come: {self.received[-2000:]}")

    def elements(self) -> dict[str, dict[str, Any]]:
        """The elements of the page, by their ids, as far as they came by the socket."""
        known: dict[str, dict[str, Any]] = {}
        for packet in self.received.split(SEPARATOR):
            if packet.startswith('42["update"'):
                known |= {id: it for id, it in json.loads(packet[2:])[1].items() if it}
        return {id: it for id, it in known.items() if isinstance(it, dict)}

    def submission(self, holding: str, **fields: str) -> dict[str, Any]:
        """The message that submits the form with a field of this name."""
        known = self.elements()
        held = {id for id, it in known.items() if it.get("props", {}).get("name") == holding}
        for id, it in known.items():
            if it["tag"] == "form" and held & _below(known, it):
                (event,) = it["events"]
                return {
                    "id": int(id),
                    "client_id": self.page,
                    "listener_id": event["listener_id"],
                    "args": [json.dumps(fields)],
                }
        raise AssertionError(f"no form has the field {holding}")

    def upload_url(self) -> str:
        """The address to which the page sends files."""
        properties = [it.get("props", {}) for it in self.elements().values()]
        (url,) = (it["url"] for it in properties if "url" in it)
        return str(url)


def _below(known: dict[str, dict[str, Any]], element: dict[str, Any]) -> set[str]:
    ids = {str(id) for id in element.get("children", ())}
    return ids.union(*(_below(known, known[id]) for id in ids if id in known))
