"""Pages that write, in a real browser: add, review, health, keys and spaces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ui.browsing import Site, explored

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with explored(tmp_path_factory.mktemp("writing")) as site:
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
