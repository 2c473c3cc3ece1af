"""The pages of sessions in a real browser: the list, its filters, and one session."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hades
from tests.ui.browsing import HOSTILE, Site, explored
from tests.ui.test_explorer_quality import tab_to

RULE = "Please never deploy on a Friday."


def remember_chats(place: Path) -> None:
    """Write two conversations, of which the second changes a rule of the first."""
    with hades.open(place) as memory:
        for name, day, said, more in (
            ("chats/ci", "2026-03-02", f"Shall we move the CI? {RULE}", {}),
            (
                HOSTILE,
                "2026-04-09",
                "The <b>Friday</b> rule changes.\n\nassistant: How?\n\n"
                "user: Deploys on a Friday are fine from now on, until noon.",
                {"files": ["ci/build.yml"], "failed": ["pytest -x"]},
            ),
        ):
            memory.remember(
                name, f"user: {said}", kind="conversation", metadata=more, valid_from=day
            )
        memory.distil()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Site]:
    with explored(tmp_path_factory.mktemp("chats"), browser, remember_chats) as site:
        yield site


def test_a_session_leads_to_the_states_that_keep_it(site: Site) -> None:
    with site.visit("reader") as page:
        page.get_by_role("link", name="Sessions").click()
        session = page.get_by_role("article").filter(has_text="2 March 2026, chats/ci")
        session.get_by_text("1 decided").wait_for()
        session.get_by_role("link").click()
        page.get_by_role("heading", name="Decided").wait_for()
        rule = page.get_by_role("article").filter(has_text=RULE)
        rule.get_by_text("replaced").wait_for()
        rule.get_by_role("link").click()
        page.get_by_text("You see version 1; version 2 holds now.").wait_for()
        page.go_back()
        page.get_by_role("link", name="The conversation").click()
        page.get_by_role("heading", name="chats/ci", level=1).wait_for()


@pytest.mark.slow
def test_the_list_is_filtered_by_words_and_time_with_the_keyboard(site: Site) -> None:
    with site.visit("reader", width=390) as page:
        site.open_whole(page, "/sessions")
        assert page.get_by_role("article").count() == 2
        tab_to(page, "Words of the name or the goal")
        page.keyboard.type("move CI")
        page.keyboard.press("Enter")
        page.get_by_text("rule changes").wait_for(state="detached")
        page.get_by_role("link", name=re.compile("Shall we move")).wait_for()
        site.open_whole(page, "/sessions?since=2026-04&until=2026-05")
        page.get_by_role("link", name="The <b>Friday</b> rule changes").click()
        page.get_by_text("ci/build.yml").wait_for()
        page.get_by_text("pytest -x").wait_for()
        site.open_whole(page, "/sessions?until=2026-01")
        page.get_by_text("No session matches.").wait_for()
        page.get_by_role("link", name="Show all sessions").click()
        page.get_by_role("article").first.wait_for()
