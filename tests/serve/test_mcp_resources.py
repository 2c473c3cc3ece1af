"""Topics and states as resources, and the prompts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import remember_story, spring
from mcp import Client, MCPError
from serve.mcp_making import Offered, offered, talk

import hades
from tests.callers import caller

NAMES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=20
).filter(str.strip)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Offered]:
    path = tmp_path_factory.mktemp("resources") / "notes.hades"
    with hades.open(path, clock=spring, actor="ann") as memory:
        remember_story(memory)
        memory.remember("docs/guide.md", "# Guide", tags=["how"])
        memory.create_space("ノート")
        memory.in_space("ノート").remember("a/b?c#d%2F 100%", "odd")
        memory.index()
    with offered(path, clock=spring) as opened:
        opened.memory.warm()
        yield opened


@given(NAMES, st.lists(NAMES, min_size=1, max_size=4))
def test_every_name_has_an_address_that_leads_back(
    tmp_path_factory: pytest.TempPathFactory, space: str, topics: list[str]
) -> None:
    path = tmp_path_factory.mktemp("addresses") / "notes.hades"
    with hades.open(path) as memory:
        if space not in [one.name for one in memory.spaces()]:
            memory.create_space(space)
        inside = memory.in_space(space)
        for topic in (*topics, "design/2"):
            inside.remember(topic, f"About {topic!r}")
            inside.remember(topic, f"More about {topic!r}")
        expected = {one.name: inside.get(one.name).content for one in inside.topics()}

    async def life(client: Client) -> dict[str, str]:
        read = {}
        for one in (await client.list_resources()).resources:
            (newest,) = (await client.read_resource(one.uri)).contents
            (first,) = (await client.read_resource(f"{one.uri}/1")).contents
            assert first.text != newest.text
            read[one.uri] = newest.text
        return read

    with offered(path) as server:
        read = talk(server, life)
    assert len(read) == len(expected)
    for content in expected.values():
        assert any(content in text for text in read.values())


def test_slashes_may_stand_as_they_are(server: Offered) -> None:
    async def life(client: Client) -> list[str]:
        addresses = ("hades://default/design/approach_x", "hades://default/design/approach_x/1")
        answers = [await client.read_resource(one) for one in addresses]
        return [answer.contents[0].text for answer in answers]

    newest, first = talk(server, life)
    assert "viable" in newest
    assert "rejected" in first


def test_topics_are_listed_and_read(server: Offered) -> None:
    async def life(client: Client) -> tuple[Any, ...]:
        listed = (await client.list_resources()).resources
        texts = {one.name: (await client.read_resource(one.uri)).contents[0] for one in listed}
        first = await client.read_resource("hades://default/design%2Fapproach_x/1")
        templates = await client.list_resource_templates()
        return listed, texts, first.contents[0], templates.resource_templates

    listed, texts, first, templates = talk(server, life)
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

    with offered(path) as server:
        seen = talk(server, life)
        assert len(seen) == len(set(seen)) == 300
        for spaces, count in (({"more"}, 150), ({"more", "other"}, 150)):
            some = caller("lee", "reader", *spaces)
            assert len(talk(server, life, caller=some)) == count, spaces


def test_what_is_not_there_is_told(server: Offered) -> None:
    async def life(client: Client) -> None:
        for uri, sentence in (
            ("hades://default/nothing", "There is no topic 'nothing'"),
            ("hades://default/lunch/7", "7"),
            ("hades://nowhere/lunch", "There is no space 'nowhere'"),
            ("hades://default", "There is no resource"),
            ("file:///etc/passwd", "There is no resource"),
            ("hades://default/lunch?x=1", "There is no resource"),
            ("hades://[/x", "There is no resource"),
            ("hades://default/lunch/" + "9" * 5_000, "There is no version"),
        ):
            with pytest.raises(MCPError, match=sentence):
                await client.read_resource(uri)

    talk(server, life)


def test_a_resource_of_another_space_is_denied(server: Offered) -> None:
    lee = caller("lee", "reader", "ノート")
    with pytest.raises(MCPError, match="You may not use the space 'default'"):
        talk(server, lambda client: client.read_resource("hades://default/lunch"), caller=lee)
    with pytest.raises(MCPError, match="There is no resource 'zzz'"):
        talk(server, lambda client: client.list_resources(cursor="zzz"))


def test_prompts_hand_over_paths_to_answer_from(server: Offered) -> None:
    async def life(client: Client) -> str:
        names = [one.name for one in (await client.list_prompts()).prompts]
        assert names == ["answer_from_paths"]
        asked = {"question": "Why don't we use approach X?", "as_of": "2024-02-01"}
        made = await client.get_prompt("answer_from_paths", asked)
        return str(made.messages[0].content.text)

    text = talk(server, life)
    assert ": design/approach_x --[rejected_because" in text
    assert "(nodes: design/approach_x, bugs/bug_y)" in text
    assert "[design/approach_x@1#0]\n Considered approach X" in text
    assert "[edge 1] design/approach_x rejected because bugs/bug_y, from 10 January" in text
    assert "using only the information in these paths" in text
    assert "Cite the path number and the node ids" in text


def test_a_wrong_prompt_is_told(server: Offered) -> None:
    async def life(client: Client) -> None:
        for name, arguments, sentence in (
            ("nothing", {}, "nothing"),
            ("answer_from_paths", {}, "question"),
            ("answer_from_paths", {"question": "x", "mood": "y"}, "answer_from_paths"),
            ("answer_from_paths", {"question": "What?", "space": "nowhere"}, "There is no space"),
        ):
            with pytest.raises(MCPError, match=sentence):
                await client.get_prompt(name, arguments)

    talk(server, life)
