"""The map and the graph in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import hades
from hades.serve.auth.caller import Role
from tests.hierarchy.notes_making import remember_subjects
from tests.ui.browsing import HOSTILE, SCREENSHOTS, Site, chromium, explored

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with chromium() as browser, explored(tmp_path_factory.mktemp("drawn"), browser) as site:
        with hades.open(site.memory) as memory:
            memory.create_space("subjects")
            subjects = memory.in_space("subjects")
            remember_subjects(subjects)
            subjects.organise()
            with subjects.batch():
                for number in range(350):
                    subjects.relate("hub", "joins", f"spoke {number}")
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


def test_a_search_starts_a_graph_whose_nodes_open_expand_and_collapse(site: Site) -> None:
    with site.visit(Role.READER) as page:
        site.open(page, "/graph")
        page.get_by_label("Part of a name or topic").fill("approach_x")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="design/approach_x", exact=True).click()
        drawn = page.get_by_label("The graph, drawn")
        drawn.get_by_role("link", name=re.compile("Ann Miller, entity")).focus()
        page.keyboard.press("Enter")
        details = page.get_by_role("region", name="Details")
        details.get_by_role("heading", name="Ann Miller").wait_for()
        details.get_by_text("led by").first.wait_for()
        details.get_by_role("article").get_by_text("Ann Miller leads it").wait_for()
        details.get_by_role("button", name="Expand").click()
        page.wait_for_url(re.compile("name2=Ann"))
        page.reload()
        page.get_by_role("button", name="Collapse").click()
        page.wait_for_url(re.compile("^((?!name2).)*$"))
        page.get_by_label("Relation").select_option("led_by")
        drawn.get_by_role("link").nth(1).wait_for()
        page.get_by_text("2 nodes, 1 edge").wait_for()
        with page.expect_download() as download:
            page.get_by_role("button", name="GraphML").click()
        assert "led_by" in Path(download.value.path()).read_text()
        with page.expect_download() as download:
            page.get_by_role("button", name="SVG").click()
        assert Path(download.value.path()).read_text().startswith("<svg")


def test_the_slider_moves_the_graph_and_hostile_names_are_only_names(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/graph?name=design/approach_x&at=2024-06-01T00:00:00Z")
        drawn = page.get_by_label("The graph, drawn")
        drawn.get_by_role("link", name="bugs/bug_y, topic").wait_for()
        assert drawn.get_by_role("link", name=re.compile("Ann Miller")).count() == 0
        page.get_by_role("button", name="Now").click()
        drawn.get_by_role("link", name=re.compile("Ann Miller")).wait_for()
        site.open(page, f"/graph?name={quote(HOSTILE)}&size=rank&hops=2")
        hostile = drawn.get_by_role("link", name=re.compile(re.escape("<script>alert(2)")))
        hostile.locator(".shape").click()
        page.get_by_role("heading", name="<script>alert(2)</script>").wait_for()
        site.open(page, "/graph?search=zzz")
        page.get_by_text("No name or topic matches").wait_for()
        site.open(page, "/graph?name=nothing-of-this-name")
        page.get_by_role("alert").wait_for()


def test_of_a_large_neighbourhood_the_nearest_are_drawn_and_the_rest_is_said(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/graph?space=subjects&name=hub")
        page.get_by_text("The 100 nearest nodes are drawn; 251 neighbours").wait_for()
        page.get_by_role("button", name="Draw up to 300").click()
        page.get_by_text("The 300 nearest nodes are drawn; 51 neighbours").wait_for()
        assert page.get_by_label("The graph, drawn").get_by_role("link").count() == 300


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_map_and_graph_fit_their_width_in_both_themes(
    site: Site, tmp_path: Path, width: int, dark: bool
) -> None:
    folder = Path(SCREENSHOTS or tmp_path)
    folder.mkdir(exist_ok=True)
    pages = {
        "map": "/map?space=subjects",
        "graph": "/graph?name=design/approach_x&hops=2",
        "graph-subjects": "/graph?space=subjects&name=hub&name2=boats/1&hops=2",
        "graph-start": "/graph",
        "cluster": "/map?space=subjects&cluster=c_2",
    }
    with site.visit(width=width, dark=dark) as page:
        for name, path in pages.items():
            site.open(page, path)
            page.locator(".map, h3, article, section a").first.wait_for()
            shot = folder / f"{name}-{width}-{'dark' if dark else 'light'}.png"
            page.screenshot(path=shot, full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
