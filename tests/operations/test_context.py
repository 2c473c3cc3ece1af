"""A question within a budget by sections, and core blocks."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from making import remember_story
from shell import Shell

import hades
from tests.conftest import HeldClock


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> hades.Memory:
    memory = hades.open(tmp_path_factory.mktemp("story") / "m.hades")
    remember_story(memory)
    memory.remember(
        "manual", "\n\n".join(f"Chapter {n}. Bug Y is in part {n}." for n in range(400))
    )
    memory.index()
    memory.warm()
    return memory


def test_each_section_has_its_share(story: hades.Memory) -> None:
    found = story.retrieve_within_budget("What about approach X and Bug Y?", max_tokens=2_000)
    sections = {one.name: one for one in found.sections}
    assert list(sections) == ["latest", "summaries", "details"]
    latest = {one.cite: one.text for one in sections["latest"].items}
    assert "bugs/bug_y@2" in latest
    assert "data layer was refactored" in latest["bugs/bug_y@2"]
    assert {one.why for one in sections["details"].items} >= {"passage", "related"}
    assert sections["summaries"].items == ()
    assert hades.Reason.NO_HIERARCHY in {one.reason for one in found.reasons}
    assert all(one.used <= one.allowed for one in found.sections)
    assert found.reserve == 200
    assert found.tokens <= 1_800
    assert "Latest states:\n\n[1] " in found.text
    assert "] bugs/bug_y@1#0, 2024-01-10 to 2024-02-20 (passage)" in found.text


def test_nothing_is_shown_twice(memory: hades.Memory) -> None:
    for price in (420, 440, 460):
        memory.remember("prices/rye_loaf", f"A rye loaf costs {price} cents.")
    found = memory.retrieve_within_budget("What does a rye loaf cost?")
    assert [found.text.count(f"{price} cents") for price in (420, 440, 460)] == [1, 1, 1]


def test_each_topic_has_a_line_before_anything_else(memory: hades.Memory) -> None:
    parts = ("pump", "valve", "boiler", "tank", "filter", "sensor")
    checks = " ".join(f"Check {n} found {n * 7} bar and {n + 20} degrees." for n in range(30))
    for part in parts:
        memory.remember(f"plant/{part}", f"The {part} was replaced.")
        memory.remember(f"plant/{part}", f"The {part} was serviced by Ewan. {checks}")
    question = "What is the state of the pump, valve, boiler, tank, filter and sensor?"
    for most in (400, 1_500):
        found = memory.retrieve_within_budget(question, max_tokens=most)
        latest = found.sections[0].items
        assert {item.cite.partition("@")[0] for item in latest} == {f"plant/{p}" for p in parts}
        assert all("serviced by Ewan" in item.text for item in latest)
        assert found.tokens <= most - found.reserve
    small = memory.retrieve_within_budget(question, max_tokens=200, sections={"reserve": 0.4})
    (missing,) = [r.detail for r in small.reasons if r.detail.startswith("no room for a line of")]
    shown = {item.cite.partition("@")[0] for item in small.sections[0].items}
    assert shown
    assert all((f"plant/{part}@2" in missing) != (f"plant/{part}" in shown) for part in parts)


def test_a_question_of_status_wants_no_summaries(story: hades.Memory) -> None:
    found = story.retrieve_within_budget("Which approaches are viable?")
    assert found.level == 0
    assert str(found.reasons[-1]) == "summaries: switched_off (a question of status)"


def test_summaries_are_those_of_the_level_and_the_time(path: Path, clock: HeldClock) -> None:
    clock.set("2024-03-05")
    memory = hades.open(path, clock=clock)
    remember_story(memory)
    for name, text, end in [
        ("2024-01", "January: approach X was rejected.", "2024-02-01"),
        ("2024-02", "February: Bug Y was fixed.", "2024-03-01"),
        ("2024-W08", "Week 8: the data layer.", "2024-02-26"),
        ("2024-02-20", "The day Bug Y was fixed.", "2024-02-21"),
    ]:
        memory.remember(f"summary/{name}", text, kind="document", valid_from=end)

    def cited(question: str) -> list[str]:
        found = memory.retrieve_within_budget(question)
        (section,) = [one for one in found.sections if one.name == "summaries"]
        return [one.cite for one in section.items]

    february = ["summary/2024-02@1"]
    assert cited("Give me an overview of the project.") == [*february, "summary/2024-01@1"]
    assert cited("Give me an overview of last month.") == february
    assert cited("Who said that the soup was good?") == ["summary/2024-W08@1"]


def test_what_is_wrong_is_said_in_a_sentence(story: hades.Memory) -> None:
    for options, sentence in [
        ({"sections": {"lates": 1}}, "There is no section 'lates'"),
        ({"sections": {"latest": 2}}, "The share of latest is a number from 0 to 1, not 2"),
        ({"sections": {"latest": 1, "reserve": 0.5}}, "add up to more than 1"),
        ({"tokens": "file:/etc/passwd"}, "Tokens of"),
        ({"max_tokens": 10}, "The budget is a whole number of at least 200"),
    ]:
        with pytest.raises(hades.InvalidInput, match=sentence):
            story.retrieve_within_budget("Why?", **options)


def test_core_blocks_have_versions_and_limits(memory: hades.Memory) -> None:
    assert memory.core_append("human", "Ann likes tea.").text == "Ann likes tea."
    block = memory.core_append("human", "She runs the light house.")
    assert (block.text, block.version) == ("Ann likes tea.\nShe runs the light house.", 2)
    assert memory.core_replace("human", "tea", "coffee").text.startswith("Ann likes coffee.")
    assert memory.get("core/human", 1).content == "Ann likes tea."
    with pytest.raises(hades.InvalidInput, match="does not have that text"):
        memory.core_replace("human", "milk", "water")
    with pytest.raises(hades.NotFound):
        memory.core_replace("persona", "a", "b")
    about = {"limit": 8, "description": "Who I am.", "pinned": False}
    memory.remember("core/persona", "A quiet helper.", metadata=about)
    with pytest.raises(hades.InvalidInput, match="would have 9 tokens of 8"):
        memory.core_append("persona", "It never shouts.")
    assert memory.get("core/persona").content == "A quiet helper.", "nothing was written"
    human, persona = memory.core()
    assert (human.name, human.limit, human.pinned) == ("human", 500, True)
    assert (persona.text, persona.tokens, persona.limit) == ("A quiet helper.", 5, 8)
    assert (persona.pinned, persona.description) == (False, "Who I am.")
    assert memory.core("human") == [human]


def test_core_list_shows_every_line_of_a_block(path: Path) -> None:
    shell = Shell(path)
    shell("remember", "core/human", "Likes tea.")
    shell("core", "append", "human", "Has a boat.")
    assert "Likes tea. / Has a boat." in shell("core", "list")


def test_two_writers_lose_no_line(path: Path) -> None:
    def write(who: str) -> None:
        with hades.open(path) as memory:
            for number in range(20):
                memory.core_append("log", f"{who}{number}")

    hades.open(path).close()
    writers = [threading.Thread(target=write, args=(who,)) for who in "ab"]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    with hades.open(path) as memory:
        (block,) = memory.core("log")
    assert sorted(block.text.split()) == sorted(f"{who}{n}" for who in "ab" for n in range(20))


def test_topics_of_one_kind(memory: hades.Memory) -> None:
    memory.remember("talk", "user: hello", kind="conversation")
    memory.remember("note", "hello")
    assert [one.name for one in memory.topics(kind="conversation")] == ["talk"]
    with pytest.raises(hades.InvalidInput, match="There is no kind 'talk'"):
        memory.topics(kind="talk")
