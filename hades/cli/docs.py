"""The command `hades docs`: show the documentation that is part of the package."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hades.cli import app
from hades.cli.invocation import Invocation, command
from hades.errors import Conflict, NotFound

if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer

SITE = Path(__file__).parent.parent / "site"
"""`make site` builds the pages here, from where they go into the wheel."""


@command(app, "docs", of_memory=False)
def docs(
    invocation: Invocation,
    port: Annotated[
        int, typer.Option(help="The TCP port (default: a free one).", min=0, max=65535)
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the pages in the browser.")
    ] = True,
) -> None:
    """Read this documentation in a browser, offline.

    The pages are served until Ctrl+C, on this machine only. They load nothing from the network.
    """
    if not (SITE / "index.html").is_file():
        raise NotFound(
            "The pages are not built: run `make site` in a checkout, or read its folder docs/."
        )
    with _server(SITE, port) as server:
        url = f"http://127.0.0.1:{server.server_port}/"
        invocation.show(
            {"url": url, "path": str(SITE)},
            lambda out: out.print(f"{url} (Ctrl+C to stop)", markup=False),
        )
        sys.stdout.flush()
        if browser:
            webbrowser.open(url)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def _server(folder: Path, port: int) -> ThreadingHTTPServer:
    """Return a server for the files of a folder, at this machine's own address only."""
    # Imported here because it takes 20 ms, which every other command would pay.
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    class SiteHandler(SimpleHTTPRequestHandler):
        """Answers GET and HEAD of files; folders are not listed, requests are not logged."""

        def __init__(self, *request: Any) -> None:
            super().__init__(*request, directory=str(folder))

        def send_head(self) -> Any:
            try:
                return super().send_head()
            except ValueError:  # a file name with a NUL or a lone surrogate
                self.send_error(404)
                return None

        def list_directory(self, path: Any) -> None:
            self.send_error(404)

        def log_message(self, format: str, *values: Any) -> None:
            pass

    try:
        return ThreadingHTTPServer(("127.0.0.1", port), SiteHandler)
    except OSError as error:
        raise Conflict(f"Port {port} cannot be used: {error.strerror}.") from error
