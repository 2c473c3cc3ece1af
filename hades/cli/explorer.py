"""The command `hades ui`: open the explorer, and serve it if no server runs."""

from __future__ import annotations

import os
import sys
import webbrowser
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hades.cli import app
from hades.cli.invocation import Invocation, command, require_extra
from hades.errors import Conflict

if TYPE_CHECKING:
    from hades.serve.auth.browsers import StartLinks
    from hades.ui.app import Explorer

PROBE_S = 2.0


def explorer_pages(parts: tuple[Any, ...], links: StartLinks) -> Explorer:
    """Return the explorer of a server, from the parts that its calls need; it loads NiceGUI."""
    from hades.ui.app import Explorer
    from hades.ui.calls import Calls

    calls = Calls(*parts)
    return Explorer(calls, calls.keys, links)


@command(app, "ui", spaced=False)
def ui(
    invocation: Invocation,
    port: Annotated[
        int | None, typer.Option(help="The TCP port (default: 8674, or a free one).")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the link in the browser.")
    ] = True,
) -> None:
    """Open the explorer: web pages to ask, read and time-travel.

    It prints a start link, which signs in once, on this machine, within ten minutes. If no server
    with pages runs for this memory, this command serves it until Ctrl+C, on this machine only.
    """
    require_extra("ui", "fastapi", "uvicorn", "uvloop", "prometheus_client", "nicegui")
    from hades.serve.auth.browsers import StartLinks
    from hades.serve.running import Options, run
    from hades.serve.telemetry.logs import logging_to
    from hades.settings import load_settings
    from hades.store.opening import files_of

    links = StartLinks(files_of(invocation.place()))
    running = _running(links)
    if running is not None:
        _start(invocation, links, running, browser)
        return
    settings = load_settings()
    executor = {"encoder": settings.own_encoder, "busy_timeout_s": settings.busy_timeout_s}
    options = Options(invocation.place(), executor, port=port, pages=explorer_pages)
    with logging_to(level="warning", shape="auto"):
        try:
            run(options, lambda started: _start(invocation, links, started.pages, browser))
        except Conflict:
            if port is not None:
                raise
            free = replace(options, port=0)  # another program has the usual port
            run(free, lambda started: _start(invocation, links, started.pages, browser))


def _running(links: StartLinks) -> str | None:
    """Return the address of a server that has the pages of this memory; None if none runs."""
    import httpx

    for url, pid in links.servers().items():
        with suppress(OSError, httpx.HTTPError):
            os.kill(pid, 0)  # raises OSError if the process is gone
            if httpx.get(f"{url}/healthz", timeout=PROBE_S).is_success:
                return url
    return None


def _start(invocation: Invocation, links: StartLinks, url: str, browser: bool) -> None:
    """Print a start link, and open it."""
    link = f"{url}/start/{links.create()}"
    invocation.show({"url": url, "link": link}, lambda out: out.print(link, markup=False))
    sys.stdout.flush()
    if browser:
        webbrowser.open(links.hand_over(link))
