"""The explorer in a real browser: the journeys of a reader and a writer, and what goes wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import hades
from tests.callers import new_key
from tests.serve.process_making import hades_serve
from tests.ui.browsing import HOSTILE, Site, explored, move_slider

TOPIC = "/topic?name=design/approach_x"
QUESTION = "/?q=why%20was%20approach%20X%20rejected"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Site]:
    with explored(tmp_path_factory.mktemp("explorer"), browser) as site:
        yield site


def test_a_question_is_answered_and_its_citation_opens_the_source(site: Site) -> None:
    with site.visit() as page:
        page.get_by_label("Your question").fill("Who leads approach X?")
        page.keyboard.press("Enter")
        answer = page.get_by_role("region", name="Answer")
        answer.get_by_text("Ann Miller").first.wait_for()
        page.get_by_text("Explain").click()
        page.get_by_role("region", name="How it was found").wait_for()
        page.get_by_role("article").filter(has_text="is adopted").get_by_role("link").first.click()
        assert (
            page.locator("mark").inner_text() == "Approach X is adopted, and Ann Miller leads it."
        )


@pytest.mark.slow
def test_the_slider_changes_the_answer_and_sources_tell_then_from_now(site: Site) -> None:
    with site.visit() as page:
        site.open(page, QUESTION)
        answer = page.get_by_role("region", name="Answer")
        answer.get_by_text("adopted").first.wait_for()
        move_slider(page, 0.3)
        page.wait_for_url(re.compile("at=2024"))
        answer.get_by_text("adopted").first.wait_for(state="detached")
        answer.get_by_text("rejected because").first.wait_for()
        answer.get_by_role("link", name="1", exact=True).first.click()
        page.get_by_text("You see version 1; version 2 holds now.").wait_for()
        assert "rejected because" in page.locator("mark").inner_text()
        page.get_by_role("link", name="What changed").click()
        page.get_by_text("+Approach X is adopted").wait_for()
        page.get_by_role("button", name="Now").click()
        page.get_by_text("holds now", exact=True).wait_for()
        page.wait_for_url(re.compile("^[^=]*topic[?]((?!at=).)*$"))
        page.go_back()
        page.get_by_text("held then", exact=True).wait_for()


@pytest.mark.slow
def test_topics_are_searched_and_hostile_names_are_only_names(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/topics")
        page.get_by_label(re.compile("Part of a name")).fill("<script>")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name=HOSTILE).click()
        page.get_by_role("heading", name=HOSTILE, level=1).wait_for()
        page.get_by_text("<script>alert(2)</script>").wait_for()
        page.get_by_role("link", name="Version 1").click()
        page.get_by_text("<img src=x onerror=alert(1)>").wait_for()
        site.open(page, "/?q=cabbage")
        page.get_by_role("article").get_by_text("<svg onload=alert(1)></svg>").wait_for()
        site.open(page, f"/topic?name={quote('../../etc/passwd')}")
        page.get_by_role("heading", name="../../etc/passwd").wait_for()


def test_markdown_of_an_answer_is_rendered_and_nothing_in_it_runs_loads_or_leads_away(
    site: Site,
) -> None:
    with site.visit() as page:
        site.open_whole(page, "/?q=cabbage")
        for part in (page.get_by_role("region", name="Answer"), page.get_by_role("article").first):
            shown = part.locator(".prose").first
            shown.get_by_text("bold", exact=True).wait_for()
            assert shown.locator("strong").inner_text() == "bold"
            assert "<img src=x onerror=alert(1)>" in shown.inner_text()
            assert shown.locator("a, img, svg, script, [onerror], [onload]").count() == 0
        site.open_whole(page, f"/topic?name={quote(HOSTILE, safe='')}")
        assert "alert(3)" in page.locator(".answer pre").inner_text()
        assert page.locator(".answer").locator("a, img, svg, script").count() == 0
        site.open(page, "/topics")
        page.get_by_role("link", name=HOSTILE).wait_for()


def test_a_conversation_is_in_the_address_and_follows_what_was_said(site: Site) -> None:
    with site.visit() as page:
        site.open_whole(page, "/?q=Who%20leads%20approach%20X%3F")
        page.get_by_label("Your question").fill("When was it adopted?")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="When was it adopted?").wait_for()
        page.get_by_role("region", name="Answer").nth(1).wait_for()
        page.reload()
        answers = page.get_by_role("region", name="Answer")
        answers.nth(1).wait_for()
        assert "Ann Miller" in answers.first.inner_text()
        assert "2 March 2025" in answers.nth(1).inner_text()
        page.get_by_role("link", name="Who leads approach X?").click()
        page.get_by_role("heading", name="Who leads approach X?").wait_for()
        assert page.get_by_role("region", name="Answer").count() == 1
        page.get_by_role("link", name="New conversation").click()
        page.get_by_role("region", name="What changed lately").wait_for()


def test_a_doubtful_answer_says_so_first_and_marks_nothing(site: Site) -> None:
    with site.visit() as page:
        site.open_whole(page, "/?q=What%20colour%20is%20the%20runtime%3F")
        shown = page.get_by_role("region", name="Answer").inner_text()
        assert shown.startswith("N")
        assert page.locator(".doubt").inner_text() in shown.splitlines()[0]
        assert page.locator("mark").count() == 0
        page.get_by_text("Explain").click()
        page.get_by_role("region", name="How it was found").wait_for()


def test_the_home_page_shows_what_holds_and_questions_that_are_answered(site: Site) -> None:
    with site.visit() as page:
        site.open_whole(page, "/")
        page.get_by_role("region", name="What changed lately").wait_for()
        sample = page.locator(".ask").first
        asked = sample.inner_text()
        sample.click()
        page.get_by_role("heading", name=asked).wait_for()
        page.get_by_role("region", name="Answer").wait_for()
        assert page.locator(".doubt").count() == 0


def test_topics_are_sorted_by_time_and_a_topic_shows_its_text(site: Site) -> None:
    with site.visit() as page:
        site.open_whole(page, "/topics")
        page.get_by_label("Order").select_option("latest")
        page.wait_for_url(re.compile("order=latest"))
        rows = page.get_by_role("row")
        page.wait_for_function("document.querySelectorAll('td')[0]?.innerText.includes('design')")
        assert "Approach X is adopted" in rows.nth(1).inner_text()
        rows.nth(1).get_by_role("link").click()
        shown = page.locator(".answer")
        assert shown.inner_text() == "Approach X is adopted, and Ann Miller leads it."


@pytest.mark.slow
def test_a_writer_restores_a_version_and_judges_a_passage(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/?q=who%20leads%20approach%20X")
        page.get_by_role("button", name="passage 1 was useful").click()
        page.get_by_text("Thank you: noted.").wait_for()
        site.open(page, "/topic?name=bugs/bug_y")
        assert not page.get_by_role("button", name=re.compile("Restore")).count()
        site.open(page, TOPIC)
        page.get_by_role("button", name="Restore version 1 as a new version").click()
        page.get_by_role("link", name="Version 3").wait_for()
        page.get_by_text("+Approach X was rejected").wait_for()
        page.get_by_role("button", name="Restore version 2 as a new version").click()
        page.get_by_role("link", name="Version 4").wait_for()


@pytest.mark.slow
def test_a_reader_sees_no_control_that_writes(site: Site) -> None:
    with site.visit("reader") as page:
        site.open(page, "/?q=who%20leads%20approach%20X")
        page.get_by_role("article").first.wait_for()
        site_buttons = page.get_by_role("button", name=re.compile("useful"))
        assert site_buttons.count() == 0
        site.open(page, TOPIC)
        page.get_by_role("link", name="Version 1").wait_for()
        assert page.get_by_role("button", name=re.compile("Restore")).count() == 0
        assert page.locator("header").count() == 1
        assert page.locator("main header").count() == 0


@pytest.mark.slow
def test_a_handler_of_an_open_page_writes_nothing_after_the_key_was_revoked(site: Site) -> None:
    with site.visit() as page:
        site.open(page, TOPIC)
        restore = page.get_by_role("button", name=re.compile("Restore version 1"))
        restore.wait_for()
        versions = page.get_by_role("link", name=re.compile("^Version")).count()
        site.keys.revoke(page.key)
        restore.click()
        page.get_by_text("Your key was revoked").wait_for()
        page.wrong.clear()
    with site.visit() as page:
        site.open(page, TOPIC)
        page.get_by_role("link", name="Version 1").wait_for()
        assert page.get_by_role("link", name=re.compile("^Version")).count() == versions


@pytest.mark.slow
def test_signing_out_in_one_tab_leads_the_other_to_the_sign_in(site: Site) -> None:
    with site.visit() as page:
        site.open(page, "/topics")
        other = page.context.new_page()
        other.goto(f"{site.url}/sign-out")
        page.get_by_label("Your key").wait_for()
        page.wrong.clear()  # the browser reports the refused poll


@pytest.mark.slow
def test_a_tab_of_an_earlier_session_is_loaded_again_for_the_new_one(site: Site) -> None:
    token = new_key(site.memory, "reader", name="later")
    with site.visit() as page:
        site.open(page, "/topics")
        page.get_by_role("link", name="Review").wait_for()
        other = page.context.new_page()
        other.goto(f"{site.url}/sign-in?next=/topics")
        other.get_by_label("Your key").fill(token)
        other.get_by_role("button", name="Sign in").click()
        other.get_by_role("navigation").wait_for()
        page.get_by_label("Theme").select_option("dark")
        page.get_by_role("link", name="Review").wait_for(state="detached")
        page.get_by_role("link", name="Health").wait_for()
        page.wrong.clear()  # the browser reports the refused event


@pytest.mark.slow
def test_a_key_for_one_space_starts_there(site: Site) -> None:
    with site.process.client("admin") as admin:
        admin.post("/v1/spaces", json={"name": "team"}).raise_for_status()
    with site.visit("reader", spaces=["team"]) as page:
        page.get_by_text("This space is empty.").wait_for()
        assert page.get_by_label("Space").input_value() == "team"


@pytest.mark.slow
def test_a_page_whose_server_was_restarted_leads_to_the_sign_in(
    tmp_path: Path, browser: Any
) -> None:
    with explored(tmp_path, browser) as site, site.visit() as page:
        site.open(page, "/topics")
        port = site.url.rpartition(":")[2]
        assert site.process.stop() == 0
        with hades_serve(site.memory, "--port", port, "--log-level", "warning"):
            page.get_by_label("Your key").wait_for()
            page.get_by_text("Your session has ended").wait_for()
        page.wrong.clear()  # the browser reports the refused connections


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/?q=x&space=gone", "There is no space 'gone'"),
        ("/?q=x&at=yesteryear", "yesteryear"),
        ("/source?topic=nothing", "There is no topic"),
        ("/source?topic=bugs/bug_y&version=99", "version"),
        ("/source?topic=bugs/bug_y&version=x", "not a number"),
        ("/topic?name=", "cannot be empty"),
        ("/topics?search=zzz", "No topic matches"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(site: Site, path: str, sentence: str) -> None:
    with site.visit() as page:
        page.goto(site.url + path)
        page.get_by_text(sentence).first.wait_for()
        assert page.get_by_text("Traceback").count() == 0


@pytest.mark.slow
def test_themes_have_cards(tmp_path: Path, browser: Any) -> None:
    with explored(tmp_path, browser) as site:
        with hades.open(site.memory) as memory:
            for number in range(8):
                memory.remember(f"soup/{number}", f"Soup {number}: leeks, potatoes and cream.")
                memory.remember(f"ships/{number}", f"Ship {number} sails from the harbour at dawn.")
            memory.organise()
        with site.visit() as page:
            site.open(page, "/?q=What%20are%20the%20main%20themes%3F")
            answer = page.get_by_role("region", name="Answer")
            answer.get_by_role("link", name="T1").first.click()
            card = page.locator("#theme-1")
            card.wait_for()
            assert page.evaluate("location.hash") == "#theme-1"
            card.get_by_role("link").last.click()
            page.locator("mark").wait_for()
