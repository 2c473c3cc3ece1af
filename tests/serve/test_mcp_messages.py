"""What an agent reads when something is wrong, missing or new: tools to call, never commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from making import remember_story
from mcp import Client
from serve.mcp_making import ANN, EVE, Offered, names_of, offered, talk, text_of

import hades
from hades.context.tokens import count
from hades.serve.mcp.call import AgentCall
from hades.serve.mcp.tool import TOOLS
from hades.serve.mcp.tool_names import for_agent

WRONG: list[dict[str, Any]] = [
    {"space": "nowhere"},
    {"as_of": "gestern", "tags": ["x"] * 60, "limit": 10_000, "version": 10**30},
    {"topic": "no/such topic", "summary": "design/approach_x", "name": "nobody", "at": "gestern"},
    {"content": "Thanks a lot!", "topic": "talk", "fields": {"colour": "red"}, "after": "?"},
]
"""Arguments with the usual mistakes; a tool gets those that it has."""
EMPTY = ("Summarise the tea of January 2024", "What are the main themes of my notes?")
"""Questions whose answers say what is missing, and how to make it."""
FILLED = {
    **dict.fromkeys(("question", "query"), "Why was approach X rejected?"),
    **dict.fromkeys(("topic", "name", "source", "entity_id"), "design/approach_x"),
    **dict.fromkeys(("content", "text", "old_content", "new_content"), "Approach X is fine now."),
    "relation": "likes",
    "target": "tea",
    "label": "human",
    "confidence": 0.5,
    "recall": "q1",
    "summary": "summary/2026-11",
    "fields": {"alias": "X"},
    "start_date": "2024-01-01",
    "end_date": "2024-02-01",
    "reason": "It is time.",
}
"""A value for each argument that some tool needs."""


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Offered]:
    """A memory with a story."""
    with with_story(tmp_path_factory.mktemp("messages")) as opened:
        yield opened


@contextmanager
def with_story(folder: Path) -> Iterator[Offered]:
    with hades.open(folder / "notes.hades", actor="ann") as memory:
        remember_story(memory)
    with offered(folder / "notes.hades") as opened:
        yield opened


def test_no_answer_names_a_shell_command(story: Offered) -> None:
    async def life(client: Client) -> list[tuple[str, str]]:
        calls: list[tuple[str, dict[str, Any]]] = []
        for name in sorted(names_of(await client.list_tools())):
            known = TOOLS[name].parameters
            needed = {key: FILLED[key] for key in known.get("required", ())}
            for wrong in WRONG:
                own = {key: value for key, value in wrong.items() if key in known["properties"]}
                calls += [(name, {**needed, **own})] if own else []
            calls += [(name, {}), (name, {"nonsense": 1})]
        calls += [(name, {"question": empty}) for name in ("recall", "ask") for empty in EMPTY]
        return [(name, text_of(await client.call_tool(name, given))) for name, given in calls]

    heard = talk(story, life, tools="all")
    assert {name for name, _ in heard} == TOOLS.keys()
    assert [said for _, said in heard if "`hades " in said or "hades edges" in said] == []
    everything = "\n".join(said for _, said in heard)
    assert "Not remembered in 'talk'" in everything
    assert "`topics` lists them" in everything
    assert "There is no space 'nowhere'" in everything
    assert "`consolidate` makes them" in everything


def test_a_command_becomes_the_tool_that_the_client_has(story: Offered) -> None:
    writer = AgentCall(story.executor, ANN, None, "all")
    message = "none of that time: `hades consolidate` makes them; run `hades check --repair`."
    assert for_agent(writer, message) == (
        "none of that time: `consolidate` makes them; run “check” (ask the user: it is no tool "
        "here)."
    )
    for narrow in (
        AgentCall(story.executor, writer.caller, None),
        AgentCall(story.executor, EVE, None, "all"),
    ):
        assert "“consolidate” (ask the user" in for_agent(narrow, message)


def remember(server: Offered, topic: str, content: str) -> str:
    arguments = {"topic": topic, "content": content}
    return text_of(talk(server, lambda client: client.call_tool("remember", arguments)))


def test_a_second_topic_about_one_thing_is_written_and_noted(story: Offered) -> None:
    assert remember(story, "infra/queue", "Redis streams carry the jobs.").count("\n") == 0
    remember(story, "infra/queue", "Redis streams carry the jobs, three per worker.")
    said = remember(story, "services/Queues", "The queue has its own host now.")
    first, note, excerpt = said.splitlines()
    assert first == "Remembered as services/Queues@1."
    assert note.startswith("Note: infra/queue exists: 2 states, last 20")
    assert excerpt == " Redis streams carry the jobs, three per worker."
    again = remember(story, "services/Queues", "The queue has two hosts now.")
    assert again == "Remembered as services/Queues@2."


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("people/ann/preferences", "people/ben/preferences"),
        ("server/db07", "server/db08"),
        ("release/4.7", "firmware/7.4"),
        ("meeting 2025-11-06", "meeting 2025-11-13"),
        ("atlas/deploy", "atlas/deploy-windows"),
    ],
)
def test_ordinary_names_are_not_taken_for_another(story: Offered, first: str, second: str) -> None:
    remember(story, first, f"The first text is about {first}.")
    assert "exists" not in remember(story, second, f"Another text, about {second}.")


def test_summaries_are_made_and_opened_by_tools(tmp_path: Path) -> None:
    async def life(client: Client) -> list[Any]:
        made = await client.call_tool("consolidate", {"level": "monthly", "at_least": 1})
        opened = await client.call_tool("drill", {"summary": "summary/2024-01", "limit": 1})
        found = await client.call_tool("extract", {"topic": "design/approach_x", "dry_run": True})
        question = {"question": "Why was approach X rejected?", "max_tokens": 500}
        return [made, opened, found, await client.call_tool("context", question)]

    with with_story(tmp_path) as own:
        made, opened, found, context = talk(own, life, tools="all")
    assert "made summary/2024-01" in text_of(made)
    assert opened.structured_content["versions"][0]["id"]
    assert found.structured_content["states"] >= 1
    assert context.structured_content["tokens"] <= 500


def test_an_agent_starts_with_the_brief(story: Offered) -> None:
    remember(story, "decisions/cache", "We dropped the cache.")

    async def life(client: Client) -> list[Any]:
        brief = await client.call_tool("brief", {"budget": 500})
        below = await client.call_tool("brief", {"topic": "decisions"})
        asked = await client.call_tool("ask", {"question": "Which decisions did we make?"})
        return [brief, below, asked]

    brief, below, asked = talk(story, life)
    assert "We dropped the cache. [decisions/cache@1]" in text_of(brief)
    assert brief.structured_content["tokens"] <= 500
    assert [line["cite"] for line in below.structured_content["decisions"]] == ["decisions/cache@1"]
    assert "decisions/cache: We dropped the cache." in text_of(asked)


def test_the_list_of_tools_is_short(story: Offered) -> None:
    tools = talk(story, lambda client: client.list_tools(), tools="core").tools
    shown = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in tools]
    (tokens,) = count([json.dumps(shown)])
    assert tokens < 5_000
