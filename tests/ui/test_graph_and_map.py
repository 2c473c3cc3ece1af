"""The map and the graph in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import hades
from hades.serve.auth.caller import Role
from tests.hierarchy.notes_making import remember_subjects
from tests.ui.browsing import SCREENSHOTS, Site, explored

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with explored(tmp_path_factory.mktemp("drawn")) as site:
        with hades.open(site.memory) as memory:
            memory.create_space("subjects")
            subjects = memory.in_space("subjects")
            remember_subjects(subjects)
            subjects.organise()
        yield site


def test_the_map_leads_from_clusters_to_passages_by_keyboard(site: Site) -> None:
    with site.visit(Role.READER) as page:
        site.open(page, "/map?space=subjects")
        cells = page.get_by_role("navigation", name="Clusters by size").get_by_role("link")
        cells.first.wait_for()
        assert cells.count() > 1
        while cells.count():
            before = page.url
            cells.first.focus()
            page.keyboard.press("Enter")
            page.wait_for_url(lambda url, before=before: url != before)
            page.locator(".map a, #passage-1").first.wait_for()
        page.get_by_text("Passages, the most typical first").wait_for()
        page.get_by_role("article").get_by_role("link").first.click()
        page.wait_for_url(re.compile("/source"))
        page.locator("mark").wait_for()


def test_a_space_without_hierarchy_says_how_to_get_one(site: Site) -> None:
    with site.visit(Role.READER) as page:
        site.open(page, "/map")
        page.get_by_text("hades organise groups them").wait_for()
        assert page.get_by_role("button", name="Organise").count() == 0
    with site.visit() as page:
        page.goto(f"{site.url}/map?cluster=c_999")
        page.get_by_text("There is no cluster 'c_999'").wait_for()
        site.open(page, "/map")
        page.get_by_role("button", name="Organise").click()
        page.get_by_text("A name with dots.").first.wait_for()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_map_and_graph_fit_their_width_in_both_themes(
    site: Site, tmp_path: Path, width: int, dark: bool
) -> None:
    folder = Path(SCREENSHOTS or tmp_path)
    folder.mkdir(exist_ok=True)
    pages = {
        "map": "/map?space=subjects",
        "cluster": "/map?space=subjects&cluster=c_2",
    }
    with site.visit(width=width, dark=dark) as page:
        for name, path in pages.items():
            site.open(page, path)
            page.locator("#content:not(:has-text('ing …'))").wait_for()
            shot = folder / f"{name}-{width}-{'dark' if dark else 'light'}.png"
            page.screenshot(path=shot, full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
