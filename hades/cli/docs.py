"""The command `hades docs`: show the documentation that is part of the package."""

from __future__ import annotations

import re
import sys
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from html import escape
from itertools import pairwise
from mimetypes import guess_type
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Annotated
from urllib.parse import parse_qs, unquote

import typer

from hades.cli import app
from hades.cli.invocation import Invocation, command
from hades.errors import Conflict, NotFound

if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer

PLACES = (Path(__file__).parents[1] / "pages", Path(__file__).parents[2])
"""Folders that may have the pages: in the package, where a wheel puts them, or a checkout."""
START = "/docs/index.md"
_ELSEWHERE = {
    "/docs/lab/": "The laboratory notes are in the sources of HADES only.",
    "/docs/reference/": "This page is written from the code: run `make docs` in a checkout, and"
    " install from it again. `hades --help` and `hades settings` show commands and settings.",
}
"""What to say for a page that other pages link to and that is not installed, by its folder."""
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


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
    folder = next((place for place in PLACES if (place / START[1:]).is_file()), None)
    if folder is None:
        raise NotFound("The pages are not installed: read the folder docs/ of the sources.")
    with _server(pages_of(folder), port) as server:
        url = f"http://127.0.0.1:{server.server_port}{START}"
        invocation.show(
            {"url": url, "path": str(folder)},
            lambda out: out.print(f"{url} (Ctrl+C to stop)", markup=False),
        )
        sys.stdout.flush()
        if browser:
            webbrowser.open(url)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


def pages_of(folder: Path) -> dict[str, Path]:
    """Return the pages of a folder and their pictures, by the paths of their addresses."""
    files = [*sorted(folder.glob("docs/**/*.*")), *sorted(folder.glob("*.md"))]
    files = [file for file in files if folder / "docs/lab" not in file.parents]
    return {f"/{file.relative_to(folder).as_posix()}": file for file in files}


def answer(pages: Mapping[str, Path], address: str) -> tuple[str, bytes] | None:
    """Return the type and the content for an address; None if there is no such page."""
    sent, _, query = address.partition("?")
    path = unquote(sent)
    if path == "/search":
        words = parse_qs(query).get("q", [""])[0]
        page = _page(_found(pages, words.casefold().split()), words)
    elif path not in pages:
        reason = next((why for place, why in _ELSEWHERE.items() if path.startswith(place)), None)
        if reason is None:
            return None
        page = _page(f"# Not installed\n\n{reason}")
    elif path.endswith(".md"):
        page = _page(pages[path].read_text("utf-8"))
    else:
        return guess_type(path)[0] or "text/plain; charset=utf-8", pages[path].read_bytes()
    return "text/html; charset=utf-8", page.encode("utf-8", "replace")


def _page(text: str, words: str = "") -> str:
    """Return Markdown as a page, whose headings have the anchors that GitHub gives them."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark").enable("table")
    tokens = markdown.parse(text)
    for opening, heading in pairwise(tokens):
        if opening.type == "heading_open":
            anchor = _NOT_IN_ANCHORS.sub("", heading.content.lower()).replace(" ", "-")
            opening.attrSet("id", anchor)
    body = markdown.renderer.render(tokens, markdown.options, {})
    frame = Template(Path(__file__).with_suffix(".html").read_text("utf-8"))
    return frame.substitute(title=_title(text), words=escape(words), body=body)


def _found(pages: Mapping[str, Path], words: list[str]) -> str:
    """Return a page with links to the pages that have all these words."""
    texts = {path: file.read_text("utf-8") for path, file in pages.items() if file.suffix == ".md"}
    fitting = [path for path, text in texts.items() if all(it in text.casefold() for it in words)]
    return "\n".join(["# Found", *(f"- [{_title(texts[path])}]({path})" for path in fitting)])


def _title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ")


def _server(pages: Mapping[str, Path], port: int) -> ThreadingHTTPServer:
    """Return a server for these files by their paths, at this machine's own address only."""
    # Imported here because it takes 20 ms, which no other command should pay.
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class PageHandler(BaseHTTPRequestHandler):
        """Answers GET; requests are not logged."""

        def do_GET(self) -> None:
            if self.path == "/":
                self.send_response(302)
                self.send_header("Location", START)
                self.end_headers()
                return
            page = answer(pages, self.path)
            if page is None:
                self.send_error(404)
                return
            kind, body = page
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:
            pass

    try:
        return ThreadingHTTPServer(("127.0.0.1", port), PageHandler)
    except OSError as error:
        raise Conflict(f"Port {port} cannot be used: {error.strerror}.") from error
