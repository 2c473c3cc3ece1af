"""Pages that write, in a real browser: add, review, health, keys and spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import hades
from hades.serve.auth.caller import Role
from hades.ui.sessions import StartLinks
from tests.ui.browsing import SCREENSHOTS, Site, chromium, explored

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with chromium() as browser, explored(tmp_path_factory.mktemp("writing"), browser) as site:
        yield site


def test_a_note_is_added_found_and_undone(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/add")
        page.get_by_label("Topic, such as").fill("pets/<b>otter</b>")
        page.get_by_label("The text").fill("The otter Quibble eats <i>clams</i>.")
        page.get_by_label("Tags").fill("pets, river")
        page.get_by_label("True since").fill("2024-05-01")
        page.get_by_role("button", name="Remember").click()
        page.get_by_text("Remembered as version 1.").wait_for()
        page.get_by_role("button", name="Remember").click()
        page.get_by_text("says this already").wait_for()
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("Undone: 1 topic.").wait_for()
        page.get_by_label("The text").fill("The otter Quibble eats mussels.")
        page.get_by_label("True since").fill("")
        page.get_by_role("button", name="Remember").click()
        page.get_by_text("Remembered as version").nth(1).wait_for()
        site.open(page, "/?q=what%20does%20the%20otter%20Quibble%20eat")
        page.get_by_role("region", name="Answer").get_by_text("mussels").first.wait_for()


def test_files_are_ingested_and_what_failed_is_said(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/add")
        files = [
            {"name": "walrus.md", "mimeType": "text/plain", "buffer": b"# Walrus\n\nIt has tusks."},
            {"name": "noise.bin", "mimeType": "text/plain", "buffer": b"\xff\x00\x01" * 99},
        ]
        page.locator("input[type=file]").set_input_files(files)
        page.get_by_text("1 added, 0 changed, 0 unchanged.").wait_for()
        page.get_by_role("alert").get_by_text("noise.bin").wait_for()
        page.get_by_role("link", name="walrus.md").wait_for()
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("Undone: 1 topic.").wait_for()
        site.open(page, "/topics?search=walrus")
        page.get_by_text("No topic matches").wait_for()


def test_a_huge_paste_is_refused_with_a_sentence(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/add")
        page.get_by_label("Topic, such as").fill("huge")
        page.get_by_label("The text").evaluate("it => { it.value = 'x'.repeat(10000000) }")
        page.get_by_role("button", name="Remember").click()
        page.get_by_text("This text has 10.0 MB, too much to paste").wait_for()


def test_an_admin_accepts_and_rejects_by_key_and_conflicts_are_said(site: Site) -> None:
    with hades.open(site.memory) as memory:
        edit = memory.propose("bugs/bug_y", content="Bug Y: <b>mended</b>.", confidence=0.3)
        memory.propose("bugs/bug_y", "seen_by", "<i>Zoe</i>", confidence=0.3)
        other = memory.propose("bugs/bug_y", "kept_by", "Max", confidence=0.3)
    with site.visit(Role.ADMIN) as page:
        site.open(page, "/review")
        page.get_by_text("-Bug Y: the runtime leaks file handles.").wait_for()
        page.get_by_text("+Bug Y: <b>mended</b>.").wait_for()
        page.keyboard.press("a")
        page.get_by_text(f"Accepted proposal {edit.id}.").wait_for()
        page.get_by_text("+ bugs/bug_y seen_by <i>Zoe</i>").wait_for()
        page.keyboard.press("r")
        page.get_by_text(f"Rejected proposal {edit.id + 1}.").wait_for()
        accept = page.get_by_role("article").filter(has_text="kept_by")
        accept.get_by_role("button", name="Accept").wait_for()
        with hades.open(site.memory) as memory:
            memory.reject(other.id)
        accept.get_by_role("button", name="Accept").click()
        page.get_by_text("Not done:").wait_for()
    with hades.open(site.memory) as memory:
        assert memory.get("bugs/bug_y").content == "Bug Y: <b>mended</b>."


def test_a_writer_sees_proposals_without_a_control_that_decides(site: Site) -> None:
    with hades.open(site.memory) as memory:
        memory.propose("bugs/bug_y", "asked_by", "Kim", confidence=0.3)
    with site.visit() as page:
        site.open(page, "/review")
        card = page.get_by_role("article").filter(has_text="asked_by")
        card.wait_for()
        assert card.get_by_role("button").count() == 0


def test_health_shows_sizes_stages_and_quality(site: Site) -> None:
    with site.visit(Role.READER) as page:
        site.open(page, "/?q=who%20leads%20approach%20X")
        page.get_by_role("article").first.wait_for()
        site.open(page, "/health")
        page.get_by_role("columnheader", name="P95, ms").wait_for()
        page.get_by_role("cell", name="open edges").wait_for()
        page.get_by_role("cell", name="orphans").wait_for()


def test_the_owner_creates_and_revokes_keys_and_spaces(site: Site) -> None:
    token = StartLinks(site.memory).create()
    with site.visit(Role.ADMIN) as page:
        site.open(page, "/keys")
        page.get_by_text("Keys are managed on the server’s own machine.").wait_for()
        page.goto(f"{site.url}/start/{token}")
        page.get_by_label("Your question").wait_for()
        site.open(page, "/keys")
        page.get_by_label("Name of the key").fill("<b>ann</b>")
        page.get_by_role("button", name="Create the key").click()
        shown = page.locator("pre").inner_text()
        assert site.keys.find(shown) is not None
        page.get_by_role("button", name="Close").click()
        page.get_by_role("button", name="Revoke <b>ann</b>").click()
        page.get_by_text("Revoked <b>ann</b>.").wait_for()
        assert site.keys.find(shown) is None
        for sentence in ("Created research.", "Not done:"):
            page.get_by_label("Name of the space").fill("research")
            page.get_by_role("button", name="Create the space").click()
            page.get_by_text(sentence).wait_for()
        page.get_by_role("cell", name="research").wait_for()


PAGES = {"add": "/add", "review": "/review", "health": "/health", "keys": "/keys"}


@pytest.mark.parametrize("path", ["/add", "/review", "/keys"])
def test_a_reader_has_no_page_that_writes(site: Site, path: str) -> None:
    with site.visit(Role.READER) as page:
        page.goto(site.url + path)
        page.get_by_text("This needs the role").wait_for()
        assert page.locator("#content").get_by_role("button").count() == 0
        assert page.get_by_role("link", name=re.compile("^(Add|Review|Keys)")).count() == 0


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_these_pages_fit_their_width_in_both_themes(
    site: Site, tmp_path: Path, width: int, dark: bool
) -> None:
    folder = Path(SCREENSHOTS or tmp_path)
    folder.mkdir(exist_ok=True)
    with site.visit(Role.ADMIN, width=width, dark=dark) as page:
        for name, path in PAGES.items():
            site.open(page, path)
            page.locator("#content:not(:has-text('ing …'))").wait_for()
            page.wait_for_timeout(700)
            shot = folder / f"{name}-{width}-{'dark' if dark else 'light'}.png"
            page.screenshot(path=shot, full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
