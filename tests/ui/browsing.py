"""A real browser, Debian's Chromium, at a real `hades serve` over a small memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import hades
from hades.serve.auth.keys import Keys
from tests.callers import keys_of, new_key
from tests.debian import program
from tests.serve.process_making import Process, hades_serve

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCREENSHOTS = os.environ.get("SCREENSHOTS")
"""A folder that keeps the screenshots; without it they go to the test's own folder."""
HOSTILE = "notes/<script>alert(1)</script>"
PATIENCE_MS = 60_000
"""How long a machine busy with other tests may take."""


def remember_everything(place: Path) -> None:
    """Write the memory that the tests look at."""
    with hades.open(place) as memory:
        memory.remember(
            "design/approach_x",
            "Approach X was rejected because Bug Y leaks file handles.",
            valid_from="2024-02-01",
            tags=["design"],
        )
        memory.remember(
            "design/approach_x",
            "Approach X is adopted, and Ann Miller leads it.",
            valid_from="2025-03-02",
        )
        memory.remember(
            "bugs/bug_y", "Bug Y: the runtime leaks file handles.", valid_from="2024-01"
        )
        memory.remember(
            HOSTILE,
            "Cabbage: <img src=x onerror=alert(1)> **bold** [x](javascript:alert(1)) "
            "<svg onload=alert(1)></svg> `${alert(1)}` {{ 1 + 1 }} ![Walrus](/sign-out) "
            "[Sign in](/sign-out) <https://evil.test/> <a href=/sign-out>Next</a>\n\n"
            '[Tusk]: /sign-out\n\n[Tusk]\n\n```js"><img/src=x/onerror=alert(2)>\nalert(3)\n```',
            valid_from="2025-01-01",
            tags=["<b>x</b>"],
        )
        memory.remember("../../etc/passwd", "A name with dots.", valid_from="2025-01-01")
        memory.relate(
            "design/approach_x",
            "rejected_because",
            "bugs/bug_y",
            valid_from="2024-02-01",
            valid_to="2025-03-02",
        )
        memory.relate("design/approach_x", "led_by", "Ann Miller", valid_from="2025-03-02")
        memory.relate(HOSTILE, "<i>likes</i>", "<script>alert(2)</script>")
        memory.index()


@dataclass
class Site:
    """A server with pages, and the browser that visits it."""

    browser: Any
    process: Process
    memory: Path

    @property
    def url(self) -> str:
        return self.process.where("http")

    @property
    def keys(self) -> Keys:
        return keys_of(self.memory)

    @contextmanager
    def visit(
        self,
        role: str = "writer",
        *,
        width: int = 1280,
        dark: bool = False,
        spaces: Sequence[str] = (),
    ) -> Iterator[Any]:
        """A signed-in visitor's page; the console must stay free of errors."""
        name = f"{role}-{len(self.keys.listed())}"
        token = new_key(self.memory, role, *spaces, name=name)
        context = self.browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "dialog", lambda dialog: wrong.append(f"alert {dialog.message}") or dialog.dismiss()
        )
        page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
        home = (self.url, "data:", "blob:")
        page.on("request", lambda it: None if it.url.startswith(home) else wrong.append(it.url))
        page.wrong, page.key = wrong, name
        page.goto(f"{self.url}/")
        page.get_by_label("Your key").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("navigation").wait_for()
        try:
            yield page
        finally:
            context.close()
        assert wrong == [], wrong

    def open(self, page: Any, path: str) -> None:
        """Go to a page, and wait until it is drawn."""
        page.goto(self.url + path)
        page.get_by_role("heading", level=1).wait_for()

    def open_whole(self, page: Any, path: str) -> None:
        """Go to a page, and wait until nothing of it is loading any more."""
        page.goto(self.url + path)
        page.locator("#content:not([aria-busy]):not(:empty):not(:has([aria-busy]))").wait_for()

    @property
    def log(self) -> str:
        """All that the server has written to its log."""
        return (self.memory.parent / "stderr").read_text(encoding="utf-8")


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a browser."""
    place = program("chromium", "chromium")
    if place is None:
        pytest.skip("Chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=place, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def explored(
    folder: Path, browser: Any, remember: Callable[[Path], None] = remember_everything
) -> Iterator[Site]:
    """Write a memory into a folder and serve it, to be visited by a browser."""
    memory = folder / "notes.hades"
    remember(memory)
    with hades_serve(memory, "--port", "0", "--log-level", "warning") as process:
        yield Site(browser, process, memory)


def move_slider(page: Any, share: float) -> None:
    """Move the time slider as a hand does, and let it go."""
    slider = page.get_by_role("slider", name="Time")
    slider.evaluate(
        "(it, share) => { it.value = share * it.max; it.dispatchEvent(new Event('change')) }", share
    )
