"""The map and the graph in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import hades
from tests.hierarchy.notes_making import remember_subjects
from tests.ui.browsing import HOSTILE, Site, explored, move_slider

pytestmark = pytest.mark.slow
SPOKES = 5_000


class Chart:
    """The chart of the graph on a page: its options, and where its nodes are on the screen."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.canvas = page.locator(".network canvas")
        self.canvas.wait_for()
        page.wait_for_function(f"{_METHOD}('getOption')?.series")

    @property
    def series(self) -> Any:
        return self.page.evaluate(f"{_METHOD}('getOption').series[0]")

    def node(self, name: str) -> Any:
        return next(node for node in self.series["data"] if node["name"] == name)

    def place(self, name: str) -> tuple[float, float]:
        """Where a node is on the screen."""
        self.canvas.scroll_into_view_if_needed()
        node, frame = self.node(name), self.canvas.bounding_box()
        x, y = self.page.evaluate(
            f"(at) => {_METHOD}('convertToPixel', {{seriesIndex: 0}}, at)", [node["x"], node["y"]]
        )
        return frame["x"] + x, frame["y"] + y


_METHOD = "getElement(document.querySelector('.nicegui-echart')?.id.slice(1))?.run_chart_method?."


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Site]:
    with explored(tmp_path_factory.mktemp("drawn"), browser) as site:
        with hades.open(site.memory) as memory:
            memory.create_space("empty")
            memory.create_space("subjects")
            subjects = memory.in_space("subjects")
            remember_subjects(subjects)
            subjects.organise()
            with subjects.batch():
                for number in range(SPOKES):
                    subjects.relate("hub", "joins", f"spoke {number}")
            subjects.index()
        yield site


def test_the_map_leads_from_clusters_to_passages_by_keyboard(site: Site) -> None:
    with site.visit("reader") as page:
        site.open(page, "/map?space=subjects")
        clusters = page.locator("article .spread").get_by_role("link")
        clusters.first.wait_for()
        assert clusters.count() > 1
        while clusters.count():
            before = page.url
            clusters.first.focus()
            page.keyboard.press("Enter")
            page.wait_for_url(lambda url, before=before: url != before)
            page.locator("article").first.wait_for()
        page.get_by_text("Passages, the most typical first").wait_for()
        page.get_by_role("article").get_by_role("link").first.click()
        page.wait_for_url(re.compile("/source"))
        page.locator("mark").wait_for()


def test_a_click_on_the_map_opens_a_cluster(site: Site) -> None:
    with site.visit("reader") as page:
        site.open(page, "/map?space=subjects")
        page.locator(".network canvas").click(position={"x": 40, "y": 80})
        page.wait_for_url(re.compile("cluster=c_"))
        page.get_by_role("link", name="Map").first.wait_for()


def test_a_space_without_hierarchy_says_how_to_get_one(site: Site) -> None:
    with site.visit("reader") as page:
        site.open(page, "/map")
        page.get_by_text("hades organise groups them").wait_for()
        assert page.get_by_role("button", name="Organise").count() == 0
    with site.visit() as page:
        page.goto(f"{site.url}/map?cluster=c_999")
        page.get_by_text("There is no cluster 'c_999'").wait_for()
        site.open(page, "/map")
        page.get_by_role("button", name="Organise").click()
        page.get_by_role("status").get_by_text("The space was organised.").wait_for()
        site.open(page, "/map?space=empty")
        page.get_by_role("button", name="Organise").click()
        page.get_by_role("alert").get_by_text("There is nothing to organise").wait_for()


def test_the_graph_opens_on_what_is_most_linked_with_the_notes_that_mention_it(site: Site) -> None:
    with site.visit("reader") as page:
        site.open(page, "/graph")
        names = {node["name"] for node in Chart(page).series["data"]}
        assert {"design/approach_x", "bugs/bug_y", "Ann Miller"} <= names
        assert page.get_by_label("Relation").count() == 0
        page.get_by_label("Kind of node").select_option("entity")
        page.wait_for_url(re.compile("kind=entity"))
        nodes = page.get_by_role("region", name="Nodes")
        nodes.get_by_role("button", name="bugs/bug_y").wait_for(state="detached")
        site.open(page, "/graph?space=empty")
        page.get_by_text("This space is empty.").wait_for()


def test_facts_are_added_corrected_ended_and_taken_back_in_the_drawing(site: Site) -> None:
    def click(name: str, said: str) -> None:
        page.get_by_role("button", name=name, exact=True).first.click()
        page.get_by_role("status").get_by_text(said, exact=True).wait_for()
        page.locator("#content:not([aria-busy]):not(:has([aria-busy]))").wait_for()

    def facts() -> list[tuple[str, str]]:
        with hades.open(site.memory) as memory:
            return [(edge.relation, edge.target.name) for edge in memory.edges("bugs/bug_y")]

    before = facts()
    with site.visit() as page:
        site.open(page, "/graph?name=bugs/bug_y")
        page.get_by_label("Relation, such as").first.fill("found_by")
        page.get_by_label("The name or topic it leads to").first.fill("<b>Zoe</b>")
        click("Add", "Added.")
        Chart(page).node("<b>Zoe</b>")
        assert facts() == [*before, ("found_by", "<b>Zoe</b>")]
        click("Undo", "Undone.")
        assert facts() == before
        page.get_by_label("Relation, such as").first.fill("seen_by")
        page.get_by_label("The name or topic it leads to").first.fill("Kim")
        click("Add", "Added.")
        card = page.locator(".card.small").filter(has_text="seen by")
        card.get_by_text("Correct").first.click()
        card.get_by_label("The name or topic it leads to").fill("Tim")
        card.get_by_label("Since").fill("2024-05-01")
        card.get_by_role("button", name="Correct").last.click()
        page.get_by_role("status").get_by_text("Corrected.").wait_for()
        assert facts() == [*before, ("seen_by", "Tim")]
        click("Undo", "Undone.")
        assert facts() == [*before, ("seen_by", "Kim")]
        card = page.locator(".card.small").filter(has_text="seen by Kim")
        card.get_by_role("button", name="End").click()
        page.get_by_role("status").get_by_text("Ended.").wait_for()
        assert facts() == before
        click("Undo", "Undone.")
        assert facts() == [*before, ("seen_by", "Kim")]
        page.get_by_label("Relation, such as").first.fill("seen_by")
        page.get_by_label("The name or topic it leads to").first.fill("Kim")
        page.get_by_label("Until").first.fill("in the year of the dragon")
        page.get_by_role("button", name="Add", exact=True).first.click()
        page.get_by_role("alert").wait_for()
    with site.visit("reader") as page:
        site.open(page, "/graph?name=bugs/bug_y")
        Chart(page)
        for name in ("Add", "End", "Correct"):
            assert page.get_by_role("button", name=name, exact=True).count() == 0


def test_a_search_starts_a_graph_whose_nodes_open_expand_and_collapse(site: Site) -> None:
    with site.visit("reader") as page:
        site.open(page, "/graph")
        page.get_by_label("Part of a name or topic").fill("approach_x")
        page.keyboard.press("Enter")
        details = page.get_by_role("region", name="Details")
        details.get_by_role("heading", name="design/approach_x").wait_for()
        page.wait_for_url(re.compile("search="))
        site.open(page, "/graph?name=design/approach_x")
        page.mouse.click(*Chart(page).place("Ann Miller"))
        details.get_by_role("heading", name="Ann Miller").wait_for()
        details.get_by_text("led by").first.wait_for()
        details.get_by_role("article").get_by_text("Ann Miller leads it").wait_for()
        details.get_by_role("button", name="Expand").click()
        page.wait_for_url(re.compile("name2=Ann"))
        page.reload()
        page.get_by_role("button", name="Collapse").click()
        page.wait_for_url(re.compile("^((?!name2).)*$"))
        page.locator("#content:not([aria-busy]):not(:has([aria-busy]))").wait_for()
        page.get_by_label("Relation").select_option("led_by")
        page.get_by_text("2 nodes, 1 edge").wait_for()


def test_all_of_the_graph_is_within_reach_of_the_keyboard(site: Site) -> None:
    with site.visit("reader") as page:
        site.open(page, "/graph?name=design/approach_x")
        chart = Chart(page)
        page.get_by_role("application", name="The graph, drawn").focus()
        before = chart.series
        page.keyboard.press("+")
        page.keyboard.press("ArrowRight")
        after = chart.series
        assert after["zoom"] > before["zoom"]
        assert after["center"][0] > before["center"][0]
        nodes = page.get_by_role("region", name="Nodes")
        nodes.get_by_role("button", name="Ann Miller").focus()
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Ann Miller").wait_for()
        assert chart.series["zoom"] == after["zoom"]
        page.wait_for_url(re.compile("node=Ann"))
        page.reload()
        page.get_by_role("heading", name="Ann Miller").wait_for()
        assert Chart(page).node("Ann Miller")["selected"]


def test_the_wheel_zooms_and_dragging_moves(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/graph?name=design/approach_x")
        chart = Chart(page)
        before, (x, y) = chart.series, chart.place("Ann Miller")
        page.mouse.move(x, y + 100)
        page.mouse.wheel(0, -300)
        page.wait_for_function(f"{_METHOD}('getOption').series[0].zoom > {before['zoom']}")
        page.mouse.down()
        page.mouse.move(x + 50, y + 150, steps=5)
        page.mouse.up()
        assert chart.series["center"] != before["center"]
        page.get_by_role("button", name="-", exact=True).click()
        page.get_by_role("button", name="+", exact=True).click()


def test_the_drawing_is_saved(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/graph?space=subjects&name=hub")
        Chart(page)
        with page.expect_download() as download:
            page.get_by_role("button", name="PNG", exact=True).click()
        assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
        assert download.value.suggested_filename == "graph.png"


def test_a_path_between_two_names_is_marked_and_told(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/graph?name=design/approach_x&at=2024-06-01T00:00:00Z")
        page.get_by_label("Name or topic to find a path to").fill("bugs/bug_y")
        page.keyboard.press("Enter")
        page.get_by_role("article").get_by_text("rejected because →").wait_for()
        assert any(link["lineStyle"]["width"] == 4 for link in Chart(page).series["links"])
        page.get_by_label("Name or topic to find a path to").fill("no such name")
        page.keyboard.press("Enter")
        page.get_by_role("alert").get_by_text("no such name").wait_for()
        Chart(page)


def test_the_slider_moves_the_graph_and_plays_its_history(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/graph?name=design/approach_x&at=2024-06-01T00:00:00Z")
        nodes = page.get_by_role("region", name="Nodes")
        nodes.get_by_role("button", name="bugs/bug_y", exact=True).wait_for()
        assert nodes.get_by_role("button", name="Ann Miller").count() == 0
        play = page.get_by_role("button", name="Play")
        play.focus()
        page.keyboard.press("Enter")
        nodes.get_by_role("button", name="Ann Miller").wait_for()
        page.get_by_role("button", name="Stop").press("Enter")
        play.wait_for()
        assert "at=" in page.url
        move_slider(page, 0.94)
        page.wait_for_url(re.compile("at=2026"))
        play.click()
        page.wait_for_url(re.compile("^((?!at=).)*$"))
        play.wait_for()


def test_hostile_names_are_only_names(site: Site) -> None:
    with site.visit() as page:
        site.open(page, f"/graph?name={quote(HOSTILE)}&hops=2")
        chart = Chart(page)
        page.mouse.move(*chart.place("<script>a…(2)</script>"))
        page.mouse.click(*chart.place("<script>a…(2)</script>"))
        page.get_by_role("heading", name="<script>alert(2)</script>").wait_for()
        assert page.locator("#content script, #content i i").count() == 0
        site.open(page, "/graph?search=zzz")
        page.get_by_text("No name or topic matches").wait_for()
        site.open(page, "/graph?name=nothing-of-this-name")
        page.get_by_role("alert").wait_for()
        site.open(page, "/graph?name=../../etc/passwd")
        page.get_by_role("heading", name="../../etc/passwd").wait_for()


def test_of_a_large_neighbourhood_the_nearest_are_drawn_and_the_rest_is_said(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/graph?space=subjects&name=hub")
        page.get_by_text("The 100 nearest nodes are drawn").wait_for()
        page.get_by_text(f"{SPOKES - 99:,} neighbours of theirs are left out").wait_for()
        page.get_by_role("button", name="Draw up to 1,000").click()
        page.get_by_text(f"{SPOKES - 999:,} neighbours of theirs are left out").wait_for()
        assert len(Chart(page).series["data"]) == 1_000
        nodes = page.get_by_role("region", name="Nodes")
        nodes.get_by_role("button", name="List all 1,000").click()
        nodes.get_by_role("button").nth(999).wait_for()
        details = page.get_by_role("region", name="Details")
        details.locator(".card.small").nth(29).wait_for()
        assert details.locator(".card.small").count() == 30
        details.get_by_role("button", name="Show more edges").click()
        details.get_by_role("button", name="Show more edges").wait_for(state="detached")
        details.get_by_text("Only the first 1,000 edges are listed").wait_for()
        site.open(page, "/graph?space=subjects")
        assert len(Chart(page).series["data"]) > 20
