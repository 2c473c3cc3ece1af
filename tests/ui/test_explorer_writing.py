"""Pages that write, in a real browser: add, review, health, keys and spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hades
from tests.callers import new_key, start_link
from tests.ui.browsing import HOSTILE, PATIENCE_MS, Site, explored

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Site]:
    with explored(tmp_path_factory.mktemp("writing"), browser) as site:
        yield site


def test_a_note_is_added_found_and_undone(site: Site) -> None:
    from playwright.sync_api import expect

    with site.visit() as page:
        site.open(page, "/add")
        for sentence in ("Remembered as version 1.", "says this already"):
            page.get_by_label("Topic, such as").fill("pets/<b>otter</b>")
            page.get_by_label("The text").fill("The otter Quibble eats <i>clams</i>.")
            page.get_by_label("Tags").fill("pets, river")
            page.get_by_label("True since").fill("2024-05-01")
            page.get_by_role("button", name="Remember").click()
            page.get_by_text(sentence).wait_for()
            expect(page.get_by_label("The text")).to_have_value("", timeout=PATIENCE_MS)
        site.open(page, "/add")  # what was added stays listed
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("Undone: 1 topic.").wait_for()
        page.reload()
        page.get_by_text("Undone: 1 topic.").wait_for()
        page.get_by_label("Topic, such as").fill("pets/<b>otter</b>")
        page.get_by_label("The text").fill("The otter Quibble eats mussels.")
        page.get_by_role("button", name="Remember").click()
        page.get_by_text("Remembered as version").nth(1).wait_for()
        site.open(page, "/?q=what%20does%20the%20otter%20Quibble%20eat")
        page.get_by_role("region", name="Answer").get_by_text("mussels").first.wait_for()
        assert page.get_by_text("clams").count() == 0


def test_files_are_ingested_and_what_failed_is_said(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/add")
        files = [
            {"name": "walrus.md", "mimeType": "text/plain", "buffer": b"# Walrus\n\nIt has tusks."},
            {"name": "noise.bin", "mimeType": "text/plain", "buffer": b"\xff\x00\x01" * 99},
        ]
        page.locator("input[type=file]").set_input_files(files)
        page.get_by_text("1 added, 0 changed, 0 unchanged.").wait_for()
        site.open(page, "/add")
        page.get_by_role("alert").get_by_text("noise.bin").wait_for()
        page.get_by_role("link", name="walrus.md").wait_for()
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("Undone: 1 topic.").wait_for()
        site.open(page, "/topics?search=walrus")
        page.get_by_text("No topic matches").wait_for()
        site.open(page, "/add")
        page.locator("input[type=file]").set_input_files(files[:1] * 51)
        page.get_by_text("At most 50 files").wait_for()


def test_a_huge_paste_is_refused_with_a_sentence_and_stays(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/add")
        page.get_by_label("Topic, such as").fill("huge")
        page.get_by_label("The text").evaluate(
            "it => { it.value = 'x'.repeat(10000000); it.dispatchEvent(new Event('input')) }"
        )
        page.get_by_role("button", name="Remember").click()
        page.get_by_text("This text has 10.0 MB, too much to paste").wait_for()
        assert page.get_by_label("The text").evaluate("it => it.value.length") == 10_000_000


def test_a_text_survives_a_revoked_key_and_the_sign_in(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/add")
        page.get_by_label("Topic, such as").fill("kept")
        page.get_by_label("The text").fill("A long thought.")
        site.keys.revoke(page.key)
        page.get_by_role("button", name="Remember").click()
        page.get_by_text("Your key was revoked").wait_for()
        token = new_key(site.memory, "writer", name="another")
        page.get_by_label("Your key").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Add to the memory").wait_for()
        page.wait_for_function("document.querySelector('textarea').value === 'A long thought.'")
        page.get_by_role("link", name="Sign out").click()
        page.get_by_text("You are signed out.").wait_for()
        assert page.evaluate("sessionStorage.getItem('hades content')") is None
        page.wrong.clear()  # the browser reports the refused requests of the first key


def test_a_space_that_is_dropped_behind_the_page_is_said(site: Site) -> None:
    with site.process.client("admin") as admin:
        admin.post("/v1/spaces", json={"name": "brief"}).raise_for_status()
    with site.visit() as page:
        site.open(page, "/add?space=brief")
        page.get_by_label("Topic, such as").fill("late")
        page.get_by_label("The text").fill("Too late.")
        with site.process.client("admin") as admin:
            admin.delete("/v1/spaces/brief").raise_for_status()
        page.get_by_role("button", name="Remember").click()
        page.get_by_role("alert").get_by_text("There is no space 'brief'").wait_for()
        assert page.get_by_label("The text").input_value() == "Too late."
        for path in ("/?q=x&", "/topics?", "/health?", "/review?", "/source?topic=a&"):
            site.open(page, f"{path}space=brief") if "source" not in path else page.goto(
                f"{site.url}{path}space=brief"
            )
            page.get_by_role("alert").get_by_text("There is no space 'brief'").first.wait_for()


@pytest.mark.parametrize("path", ["/review?said=Paid.", "/keys?said=Paid.", "/sign-in?why=Paid."])
def test_a_crafted_link_shows_no_false_sentence(site: Site, path: str) -> None:
    with site.visit("admin") as page:
        site.open(page, path)
        page.wait_for_timeout(300)
        assert page.get_by_text("Paid.").count() == 0


def test_an_admin_decides_on_one_or_a_group_takes_it_back_and_conflicts_are_said(
    site: Site,
) -> None:
    with hades.open(site.memory) as memory:
        memory.propose("bugs/bug_y", content="Bug Y: <b>mended</b>.", confidence=0.3)
        memory.propose("bugs/bug_y", "seen_by", "<i>Zoe</i>", confidence=0.3)
        memory.propose("bugs/bug_y", "known_to", "Ida", confidence=0.3)
        other = memory.propose(HOSTILE, "kept_by", "../../max", confidence=0.4)
        before = memory.get("bugs/bug_y").content
    with site.visit("admin") as page:
        said = page.get_by_role("status")
        site.open(page, "/review")
        page.get_by_text("-Bug Y: the runtime leaks file handles.").wait_for()
        page.get_by_text("+Bug Y: <b>mended</b>.").wait_for()
        page.get_by_text("Looking for").wait_for(state="detached")
        page.locator(".chosen").get_by_text(f"+ {HOSTILE} kept_by ../../max").wait_for()
        page.keyboard.press("ArrowDown")
        group = page.locator(".chosen").filter(has_text="bugs/bug_y (3)")
        group.get_by_text("+ bugs/bug_y known_to Ida").wait_for()
        group.get_by_role("button", name="Reject", exact=True).first.click()
        said.get_by_text("Rejected: relate bugs/bug_y").wait_for()
        page.locator(".chosen").filter(has_text="bugs/bug_y (2)").wait_for()
        page.keyboard.press("a")
        said.get_by_text("Accepted: 2 items").wait_for()
        with hades.open(site.memory) as memory:
            assert memory.get("bugs/bug_y").content == "Bug Y: <b>mended</b>."
            assert [edge.target.name for edge in memory.edges("bugs/bug_y", relation="seen_by")]
        page.get_by_role("button", name="Undo").click()
        said.get_by_text("Undone.").wait_for()
        page.get_by_role("article").filter(has_text="bugs/bug_y (2)").wait_for()
        page.get_by_text("Looking for").wait_for(state="detached")
        with hades.open(site.memory) as memory:
            assert memory.get("bugs/bug_y").content == before
            assert memory.edges("bugs/bug_y", relation="seen_by") == []
            memory.reject(other.id)
        page.get_by_role("article").filter(has_text="kept_by").get_by_text("Accept").click()
        page.get_by_text("Not done:").wait_for()
        page.get_by_text("kept_by").wait_for(state="detached")


def test_suggestions_refused_writes_and_contradictions_are_decided_by_key(
    tmp_path: Path, site: Site
) -> None:
    with explored(tmp_path, site.browser) as own:
        with hades.open(own.memory) as memory:
            memory.remember("soup/leek", "Leeks, potatoes and cream make a good soup.")
            memory.remember("soup/potato", "A good soup: leeks, potatoes and cream, as always.")
            with pytest.raises(hades.Refused):
                memory.remember("talk", "Thank you very much!", gate=True)
            memory.relate("Ann Miller", "lives_in", "Rome", valid_from="2024-01-01")
            memory.relate("Ann Miller", "lives_in", "Oslo", valid_from="2024-06-01")
            memory.relate("Bo", "lives_in", "Lima", valid_from="2024-01-01")
            memory.relate("Bo", "lives_in", "Cusco", valid_from="2024-06-01")
            memory.remember("atlas/a", "The Atlas release is due on 3 June.")
            memory.remember("atlas/b", "The Atlas release is due on 10 June.", valid_from="2024")
            links = len(memory.suggest(limit=50))
        assert links >= 2
        decided = ["small talk", "contradiction about Ann Miller", "contradiction about Bo"]
        with own.visit("admin") as page:
            own.open(page, "/review")
            page.get_by_text("Looking for").wait_for(state="detached")
            cards = page.get_by_role("article")
            for name in [*decided, "link soup"]:
                cards.filter(has_text=name).first.wait_for()
            talk = cards.filter(has_text="small talk")
            assert talk.get_by_role("button", name="Reject").count() == 0
            for name, key, sentence in (
                ("small talk", "a", "Accepted: remember talk"),
                ("contradiction about Ann Miller", "a", "Accepted: contradiction"),
                ("contradiction about Bo", "r", "Rejected: contradiction"),
                ("link soup", "a", "Accepted: link"),
                ("link ", "r", "Rejected: link"),
            ):
                cards.filter(has_text=name).first.focus()
                page.locator(".chosen").filter(has_text=name).wait_for()
                page.keyboard.press(key)
                page.get_by_role("status").get_by_text(sentence).wait_for()
        with hades.open(own.memory) as memory:
            assert memory.get("talk").content == "Thank you very much!"
            assert [e.target.name for e in memory.edges("Ann Miller", relation="lives_in")] == [
                "Oslo"
            ]
            assert len(memory.edges("Bo", relation="lives_in")) == 2
            assert len(memory.suggest(limit=50)) <= links - 1
            assert all("Bo" not in str(it) for it in memory.quality().disagreements)


def test_a_writer_sees_proposals_without_a_control_that_decides(site: Site) -> None:
    with hades.open(site.memory) as memory:
        memory.propose("bugs/bug_y", "asked_by", "Kim", confidence=0.3)
    with site.visit() as page:
        site.open(page, "/review")
        card = page.get_by_role("article").filter(has_text="asked_by")
        card.wait_for()
        assert card.get_by_role("button").count() == 0


def test_health_shows_growth_latencies_sizes_and_quality(site: Site) -> None:
    with site.visit("reader") as page:
        site.open(page, "/?q=who%20leads%20approach%20X")
        page.get_by_role("article").first.wait_for()
        site.open(page, "/health")
        page.get_by_role("img", name="Topics and versions over time").locator("svg").wait_for()
        page.get_by_role("img", name="Time of the stage question").locator("svg").wait_for()
        page.get_by_role("columnheader", name="P95, ms").wait_for()
        page.get_by_label("Stage", exact=True).select_option("seeds")
        page.get_by_role("img", name="Time of the stage seeds").locator("svg").wait_for()
        page.get_by_role("cell", name="open edges").wait_for()
        page.get_by_text("orphans").wait_for()


def test_the_owner_creates_and_revokes_keys_and_spaces(site: Site) -> None:
    link = start_link(site.memory)
    with site.visit("admin") as page:
        site.open(page, "/keys")
        page.get_by_text("Keys are managed on the server’s own machine.").wait_for()
        page.goto(site.url + link)
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
        name = "../<script>alert(3)</script>"
        for sentence in (f"Created {name}.", "already"):
            page.get_by_label("Name of the space", exact=True).fill(name)
            page.get_by_role("button", name="Create the space").click()
            page.get_by_text(sentence).wait_for()
        page.get_by_label("Space", exact=True).select_option(name)
        page.wait_for_url(re.compile("space="))
        page.get_by_role("button", name=f"Drop {name}").click()
        for typed, sentence in (("no", "This is not the name"), (name, f"Dropped {name}.")):
            page.get_by_label("Name of the space to drop").fill(typed)
            page.get_by_role("button", name="Drop the space").click()
            page.get_by_text(sentence).wait_for()
        assert page.get_by_label("Space", exact=True).input_value() == "default"
        page.get_by_role("button", name=f"Drop {name}").wait_for(state="detached")


PAGES = {"add": "/add", "review": "/review", "health": "/health", "keys": "/keys"}


@pytest.mark.parametrize("path", ["/add", "/review", "/keys"])
def test_a_reader_has_no_page_that_writes(site: Site, path: str) -> None:
    with site.visit("reader") as page:
        page.goto(site.url + path)
        page.get_by_text("This needs the role").wait_for()
        assert page.locator("#content").get_by_role("button").count() == 0
        assert page.get_by_role("link", name=re.compile("^(Add|Review|Keys)")).count() == 0
