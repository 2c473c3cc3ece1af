"""The pages as one application: NiceGUI inside an app of its own, behind the gate."""

from __future__ import annotations

import importlib

from fastapi import FastAPI
from nicegui import app as nicegui_app
from nicegui import ui

from hades.serve.auth.browsers import StartLinks
from hades.serve.auth.keys import Keys
from hades.ui.calls import Calls
from hades.ui.controls import box, link, text
from hades.ui.gate import Gate
from hades.ui.ownership import OwnPages
from hades.ui.theme import CSS

RECONNECT_S = 60.0
"""How long the server keeps a page whose browser is not connected, for example because a phone
sleeps.

An open page is asked for a sign of life after 0.8 of this time, which must be less than the timeout
of proxies (60 s).
"""
_PAGES = (
    "ask",
    "about",
    "topics",
    "sessions",
    "graph",
    "map",
    "source",
    "add",
    "review",
    "health",
    "keys",
)


class Explorer:
    """The explorer of one server. NiceGUI allows one in a process."""

    def __init__(self, calls: Calls, keys: Keys, links: StartLinks) -> None:
        for name in _PAGES:
            importlib.import_module(f"hades.ui.pages.{name}")
        self.app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
        # events come as requests, not over a WebSocket, so that each passes the gate and its limits
        nicegui_app.config.socket_io_js_transports = ["polling"]
        nicegui_app.config.quasar_config["loadingBar"] = {"skipHijack": True}
        ui.add_head_html(f"<style>{CSS}</style><script>{_BACK}</script>", shared=True)
        ui.run_with(
            self.app,
            root=_not_here,
            title="HADES",
            favicon=_ICON,
            dark=None,
            language="en-US",
            tailwind=False,
            binding_refresh_interval=None,
            reconnect_timeout=RECONNECT_S,
            gzip_middleware_factory=None,
            show_welcome_message=False,
        )
        self.gate = Gate(OwnPages(self.app), calls, keys, links)


_BACK = """addEventListener("popstate", () => {
  if (window.hadesPlace && window.hadesPlace !== location.pathname + location.search)
    location.reload();
});"""
"""Script: the browser's Back button draws the page that it leads to; a jump within a page does
not."""


def _not_here() -> None:
    with box("page", "main"):
        text("There is no such page", "", "h1")
        link("Ask the memory something", "/")


_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" '
    'rx="7" fill="#0a5a9c"/><path d="M9 7v18M23 7v18M9 16h14" stroke="#fff" stroke-width="4" '
    'stroke-linecap="round"/></svg>'
)
