"""Topics and states as resources, and the prompts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import remember_story
from mcp import Client, MCPError
from serve.mcp_making import talk

import hades
from hades.domain.times import to_micros
from hades.serve.executor import Executor
from hades.serve.mcp.resources import read_uri, uri_of
from tests.callers import caller

NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=20
).filter(str.strip)


def spring() -> int:
    """A clock that stands still."""
    return to_micros(datetime(2024, 3, 1, tzinfo=UTC))


@pytest.fixture(scope="module")
def executor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    path = tmp_path_factory.mktemp("resources") / "notes.hades"
    with hades.open(path, clock=spring, actor="ann") as memory:
        remember_story(memory)
        memory.remember("docs/guide.md", "# Guide", tags=["how"])
        memory.create_space("ノート")
        memory.in_space("ノート").remember("a/b?c#d%2F 100%", "odd")
        memory.index()
    opened = Executor.open(path, clock=spring)
    opened.memory.warm()
    yield opened
    opened.close()


@given(NAMES, NAMES, st.none() | st.integers(1, 10**6))
def test_every_name_has_an_address_that_leads_back(
    space: str, topic: str, version: int | None
) -> None:
    assert read_uri(uri_of(space, topic, version)) == (space, topic, version)


def test_slashes_may_stand_as_they_are() -> None:
    assert read_uri("hades://default/design/x") == ("default", "design/x", None)
    assert read_uri("hades://default/design/x/2") == ("default", "design/x", 2)
    assert read_uri(uri_of("default", "design/2")) == ("default", "design/2", None)


@pytest.mark.parametrize("uri", ["hades://[/x", "hades://a/x/" + "9" * 5_000, "hades://a/x?y"])
def test_an_address_of_nothing_is_told_in_a_sentence(uri: str) -> None:
    with pytest.raises(hades.HadesError, match="There is no"):
        read_uri(uri)


def test_topics_are_listed_and_read(executor: Executor) -> None:
    async def life(client: Client) -> tuple[Any, ...]:
        listed = (await client.list_resources()).resources
        texts = {one.name: (await client.read_resource(one.uri)).contents[0] for one in listed}
        first = await client.read_resource("hades://default/design%2Fapproach_x/1")
        templates = await client.list_resource_templates()
        return listed, texts, first.contents[0], templates.resource_templates

    listed, texts, first, templates = talk(executor, life)
    by_name = {one.name: one for one in listed}
    assert by_name["design/approach_x"].uri == "hades://default/design%2Fapproach_x"
    assert by_name["design/approach_x"].description == "Version 2 of 2, tagged decision"
    assert by_name["docs/guide.md"].mime_type == "text/markdown"
    assert texts["a/b?c#d%2F 100%"].text == "odd"
    assert texts["design/approach_x"].text == "Approach X is viable after the fix of Bug Y."
    assert texts["design/approach_x"].meta["hades/cite"] == "design/approach_x@2"
    assert first.text == "Considered approach X but rejected due to Bug Y."
    assert [one.uri_template for one in templates] == [
        "hades://{space}/{topic}",
        "hades://{space}/{topic}/{version}",
    ]


def test_a_long_list_comes_in_pages(path: Path) -> None:
    with hades.open(path) as memory, memory.batch():
        memory.create_space("more")
        memory.create_space("other")
        for number in range(150):
            memory.remember(f"note/{number:03}", "x")
            memory.in_space("more").remember(f"more/{number:03}", "x")

    async def life(client: Client) -> list[str]:
        seen: list[str] = []
        cursor = None
        while True:
            page = await client.list_resources(cursor=cursor)
            assert len(page.resources) <= 100
            seen += [one.uri for one in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                return seen

    executor = Executor.open(path)
    seen = talk(executor, life)
    assert len(seen) == len(set(seen)) == 300
    for spaces, count in (({"more"}, 150), ({"more", "other"}, 150)):
        some = caller("lee", "reader", *spaces)
        assert len(talk(executor, life, caller=some)) == count, spaces
    executor.close()


def test_what_is_not_there_is_told(executor: Executor) -> None:
    async def life(client: Client) -> None:
        for uri, sentence in (
            ("hades://default/nothing", "There is no topic 'nothing'"),
            ("hades://default/lunch/7", "7"),
            ("hades://nowhere/lunch", "There is no space 'nowhere'"),
            ("hades://default", "There is no resource"),
            ("file:///etc/passwd", "There is no resource"),
            ("hades://default/lunch?x=1", "There is no resource"),
        ):
            with pytest.raises(MCPError, match=sentence):
                await client.read_resource(uri)

    talk(executor, life)


def test_a_resource_of_another_space_is_denied(executor: Executor) -> None:
    lee = caller("lee", "reader", "ノート")
    with pytest.raises(MCPError, match="You may not use the space 'default'"):
        talk(executor, lambda client: client.read_resource("hades://default/lunch"), caller=lee)
    with pytest.raises(MCPError, match="There is no resource 'zzz'"):
        talk(executor, lambda client: client.list_resources(cursor="zzz"))


def test_prompts_hand_over_paths_to_answer_from(executor: Executor) -> None:
    async def life(client: Client) -> str:
        names = [one.name for one in (await client.list_prompts()).prompts]
        assert names == ["answer_from_paths"]
        asked = {"question": "Why don't we use approach X?", "as_of": "2024-02-01"}
        made = await client.get_prompt("answer_from_paths", asked)
        return str(made.messages[0].content.text)

    text = talk(executor, life)
    assert ": design/approach_x --[rejected_because" in text
    assert "(nodes: design/approach_x, bugs/bug_y)" in text
    assert "[design/approach_x@1#0]\n Considered approach X" in text
    assert "[edge 1] design/approach_x rejected because bugs/bug_y, from 10 January" in text
    assert "using only the information in these paths" in text
    assert "Cite the path number and the node ids" in text


def test_a_wrong_prompt_is_told(executor: Executor) -> None:
    async def life(client: Client) -> None:
        for name, arguments, sentence in (
            ("nothing", {}, "nothing"),
            ("answer_from_paths", {}, "question"),
            ("answer_from_paths", {"question": "x", "mood": "y"}, "answer_from_paths"),
            ("answer_from_paths", {"question": "What?", "space": "nowhere"}, "There is no space"),
        ):
            with pytest.raises(MCPError, match=sentence):
                await client.get_prompt(name, arguments)

    talk(executor, life)
