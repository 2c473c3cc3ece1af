"""Every page of the explorer over a memory of a year: accessible, tidy, robust, by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hades
from tests.callers import new_key, start_link
from tests.npm import packaged
from tests.serve.process_making import hades_serve
from tests.ui.browsing import SCREENSHOTS, Site, explored
from tests.ui.example_memory import remember_boat

pytestmark = pytest.mark.slow

AXE_VERSION = "4.14.0"
MOTOR = "/?q=Which%20motor%20do%20we%20choose%3F"
THEN = "at=2025-12-01T00:00:00Z"
PAGES = {
    "ask": "/",
    "answer": MOTOR,
    "talk": "/?before=Which%20motor%20do%20we%20choose%3F&q=Why%3F",
    "answer-then": f"{MOTOR}&{THEN}",
    "answer-paths": "/?q=How%20is%20Fjord%20Drives%20connected%20to%20the%20launch%3F",
    "answer-none": "/?q=zebra%20crossing",
    "about": "/about?name=Marlene",
    "about-none": "/about?name=zebra",
    "topics": "/topics",
    "topics-none": "/topics?search=zebra",
    "topic": "/topic?name=motor/choice",
    "sessions": "/sessions?space=crew",
    "sessions-none": "/sessions",
    "session": "/session?space=crew&name=chats/battery",
    "source": "/source?topic=motor/choice&version=1&chunk=0",
    "graph-start": "/graph",
    "graph": "/graph?name=Marlene&hops=2",
    "map": "/map",
    "cluster": "/map?cluster=c_1",
    "add": "/add",
    "add-then": f"/add?{THEN}",
    "review": "/review",
    "health": "/health",
    "keys": "/keys",
    "no-space": "/topics?space=gone",
    "no-topic": "/source?topic=nothing",
    "no-page": "/nothing",
    "sign-in": "/sign-in",
    "sign-in-again": "/sign-in?why=Your%20session%20has%20ended%3A%20sign%20in%20again.",
}


def remember_boat_and_chat(place: Path) -> None:
    """Write the example memory, and a conversation in a space of its own."""
    remember_boat(place)
    chat = "user: The battery is too heavy. Please never lift it without the crane."
    noted = {"files": ["wiring/plan.md"], "failed": ["make plan"]}
    with hades.open(place) as memory:
        memory.create_space("crew")
        crew = memory.in_space("crew")
        crew.remember("chats/battery", chat, kind="conversation", metadata=noted)
        crew.distil()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Site]:
    with explored(tmp_path_factory.mktemp("boat"), browser, remember_boat_and_chat) as site:
        yield site
        assert "Traceback" not in site.log


@pytest.fixture(scope="module")
def axe() -> str:
    folder = packaged("axe-core", AXE_VERSION)
    if folder is None:
        pytest.skip("axe-core cannot be fetched from npm")
    return (folder / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Any, axe: str) -> list[str]:
    """Return what breaks WCAG 2 A or AA on a page: the rule and the elements."""
    page.evaluate(axe)
    result = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa']})")
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
        for rule in result["violations"]
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_is_accessible_and_fits(
    site: Site, axe: str, tmp_path: Path, width: int, dark: bool
) -> None:
    folder = Path(SCREENSHOTS or tmp_path)
    folder.mkdir(exist_ok=True, parents=True)
    wrong: list[str] = []
    with site.visit("admin", width=width, dark=dark) as page:
        page.goto(site.url + start_link(site.memory))
        page.get_by_label("Your question").wait_for()
        for name, path in PAGES.items():
            if name.startswith(("sign-in", "no-page")):
                page.goto(site.url + path)
            else:
                site.open_whole(page, path)
            page.wait_for_timeout(300)
            shot = folder / f"{name}-{width}-{'dark' if dark else 'light'}.png"
            page.screenshot(path=shot, full_page=True)
            too_wide = page.evaluate("document.documentElement.scrollWidth") > width
            problems = violations(page, axe) + ["wider than the window"] * too_wide
            wrong += [f"{name}: {problem}" for problem in problems]
        page.wrong[:] = [line for line in page.wrong if "404" not in line]  # the missing page
    assert not wrong, "\n".join(wrong)


def test_the_main_journey_needs_only_the_keyboard(site: Site) -> None:
    """Ask, open a citation, compare then and now, move the slider: without a pointer."""
    with site.visit("reader") as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        tab_to(page, "Your question")
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.method))
        page.keyboard.type("Which motor do we choose?")
        assert "POST" not in sent, "typing sends nothing"
        page.keyboard.press("Enter")
        page.get_by_role("region", name="Answer").get_by_text("electric motor").first.wait_for()
        tab_to(page, "Time")
        for _ in range(20):
            page.keyboard.press("PageDown")
            page.wait_for_timeout(500)
            if "at=2025-1" in page.url:
                break
        page.get_by_text("a used diesel motor").first.wait_for()
        tab_to(page, "1")
        page.keyboard.press("Enter")
        page.get_by_text("You see version 2; version 3 holds now.").wait_for()
        tab_to(page, "What changed")
        page.keyboard.press("Enter")
        page.get_by_text("+Marlene gets an electric motor").wait_for()
        tab_to(page, "Now")
        page.keyboard.press("Enter")
        page.get_by_text("holds now", exact=True).wait_for()


def tab_to(page: Any, name: str) -> None:
    """Press Tab until the control of that name has the focus, which must be visible."""
    own = "document.activeElement.ariaLabel || document.activeElement.textContent"
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(own) == name:
            assert page.evaluate("document.activeElement.matches(':focus-visible')")
            return
    raise AssertionError(f"Tab never reached {name!r}")


ABSURD = ["%00", "1e9", "-1", "../../etc/passwd", "<script>alert(1)</script>", "x" * 20_000, "%ff"]
PARAMETERS = {
    "/": ("q", "before", "at", "axis", "space"),
    "/topics": ("search", "after", "at", "space"),
    "/topic": ("name", "before", "after", "at"),
    "/source": ("topic", "version", "chunk", "at"),
    "/sessions": ("search", "since", "until", "shown", "at", "space"),
    "/session": ("name", "at", "space"),
    "/graph": ("name", "search", "hops", "kind", "relation", "weight", "node", "at"),
    "/map": ("cluster", "passages", "at"),
    "/add": ("at", "space"),
    "/review": ("said", "at", "space"),
    "/health": ("at", "space"),
    "/keys": ("said", "at", "space"),
}


@pytest.mark.parametrize("path", PARAMETERS)
def test_absurd_addresses_get_a_page_or_a_sentence(site: Site, path: str) -> None:
    real = {"/topic": {"name": "motor/choice"}, "/source": {"topic": "motor/choice"}}
    with site.visit("admin") as page:
        for number, name in enumerate(PARAMETERS[path]):
            for value in (ABSURD[number % len(ABSURD)], ABSURD[(number + 3) % len(ABSURD)]):
                query = {**real.get(path, {}), name: value}
                site.open_whole(page, path + "?" + "&".join(f"{k}={v}" for k, v in query.items()))
                shown = page.locator("#content").inner_text()
                assert "The server failed" not in shown, f"{path} {name}={value[:50]}"
        page.goto(f"{site.url}{path}?{PARAMETERS[path][0]}={'x' * 100_000}")
        page.get_by_text("Invalid HTTP request").or_(page.locator("#content")).wait_for()
        page.wrong[:] = [line for line in page.wrong if "status of 400" not in line]
    assert "Traceback" not in site.log


def test_a_space_that_is_dropped_behind_its_page_is_said_and_can_be_left(site: Site) -> None:
    with hades.open(site.memory) as memory:
        memory.create_space("guests")
        memory.in_space("guests").remember("tea", "Ann drinks green tea.")
    with site.visit("admin") as page:
        site.open_whole(page, "/topics?space=guests")
        page.get_by_role("link", name="tea").wait_for()
        with hades.open(site.memory) as memory:
            memory.drop_space("guests")
        page.get_by_role("button", name="Search").click()
        page.get_by_text("There is no space 'guests'").wait_for()
        page.get_by_role("link", name="Leave this space").click()
        page.get_by_role("link", name="motor/choice").wait_for()


def test_a_page_survives_a_server_that_was_killed(tmp_path: Path, browser: Any) -> None:
    """The visitor signs in again and is back at the page; nothing that was remembered is lost."""
    with explored(tmp_path, browser) as site, site.visit() as page:
        token = new_key(site.memory, "writer", name="again")
        site.open_whole(page, "/topic?name=bugs/bug_y")
        port = site.url.rpartition(":")[2]
        site.process.process.kill()
        site.process.process.wait()
        with hades_serve(site.memory, "--port", port, "--log-level", "warning"):
            page.get_by_label("Your key").fill(token)
            page.get_by_role("button", name="Sign in").click()
            page.get_by_role("link", name="Version 1").wait_for()
            assert "Traceback" not in site.log
            page.goto("about:blank")
        page.wrong.clear()  # the browser reports the refused connections
