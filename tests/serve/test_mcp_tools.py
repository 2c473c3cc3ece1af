"""The tools of MCP: what a model sends, and what it reads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from making import remember_story
from mcp import Client
from serve.mcp_making import ANN, EVE, WRITING_TOOLS, names_of, talk, text_of

import hades
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor

if TYPE_CHECKING:
    from conftest import HeldClock

WHY = {"question": "Why don't we use approach X?"}


@pytest.fixture
def desk(path: Path, clock: HeldClock) -> Iterator[Executor]:
    opened = Executor.open(path, clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def story(path: Path, clock: HeldClock) -> Iterator[Executor]:
    clock.set("2024-03-01")
    with hades.open(path, clock=clock, actor="ann") as memory:
        remember_story(memory)
        memory.create_space("secret")
        memory.in_space("secret").remember("plan", "Buy the lighthouse.")
    opened = Executor.open(path, clock=clock)
    # A first question that waits for kernels may run out of a stage's time.
    asyncio.run(opened.read(ANN, "default", lambda view: view.warm(), fresh=True))
    yield opened
    opened.close()


def call(desk: Executor, tool: str, arguments: dict[str, Any], **options: Any) -> Any:
    return talk(desk, lambda client: client.call_tool(tool, arguments), **options)


def test_what_is_remembered_is_recalled(desk: Executor) -> None:
    async def life(client: Client) -> tuple[Any, Any]:
        note = {
            "topic": "design/cache",
            "content": "The cache was dropped: it served stale prices.",
            "tags": ["decision"],
        }
        written = await client.call_tool("remember", note)
        return written, await client.call_tool("recall", {"question": "Why is there no cache?"})

    written, found = talk(desk, life)
    assert text_of(written) == "Remembered as design/cache@1."
    assert written.structured_content["version"] == 1
    assert found.structured_content["passages"][0]["cite"] == "design/cache@1#0"
    assert "it served stale prices" in text_of(found)
    assert "Cite as: [1] design/cache@1#0" in text_of(found)


def test_recall_gives_passages_and_paths_with_their_nodes(story: Executor) -> None:
    found = call(story, "recall", WHY).structured_content
    assert found["passages"][0]["text"] == "Approach X is viable after the fix of Bug Y."
    assert ["design/approach_x", "refactoring/q1"] in [path["nodes"] for path in found["paths"]]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("recall", WHY),
        ("topics", {}),
        ("history", {"topic": "a"}),
        ("working_memory", {"topic": "a"}),
    ],
)
def test_of_an_empty_space_it_is_said_what_to_do(
    desk: Executor, tool: str, arguments: dict[str, Any]
) -> None:
    first = "Nothing is remembered here yet: use `remember` or `ingest_text` first."
    assert text_of(call(desk, tool, arguments)) == first
    assert text_of(call(desk, tool, arguments, caller=EVE)) == "Nothing is remembered here yet."
    then = text_of(call(desk, tool, {**arguments, "as_of": "2020"}))
    assert then == "Nothing was remembered here at that time."


def test_what_is_not_found_is_told_without_the_words_of_engineers(story: Executor) -> None:
    nothing = text_of(call(story, "recall", {**WHY, "tag": "no such tag"}))
    assert nothing == "Nothing that is remembered fits: ask in other words, or see `topics`."
    filtered = text_of(call(story, "topics", {"glob": "zzz*"}))
    assert filtered.startswith("No topic fits: ask with fewer filters")
    long = text_of(call(story, "recall", {"question": "Why is X not viable? " * 300}))
    assert "the question was shortened (" in long
    assert "_" not in long.split("Notes: ")[1]


def test_reading_tools_travel_in_time(story: Executor) -> None:
    then = {"as_of": "2024-02-01"}
    found = call(story, "recall", WHY | then)
    assert "rejected due to Bug Y" in text_of(found)
    assert found.structured_content["as_of"] == "2024-02-01"
    history = call(story, "history", {"topic": "bugs/bug_y"} | then)
    assert "Bug Y causes data corruption" in text_of(history)
    assert not call(story, "topics", {"known_at": "2023-01-01"}).structured_content["topics"]


def test_history_is_whole_for_the_newest_and_short_for_the_rest(desk: Executor) -> None:
    async def life(client: Client) -> list[Any]:
        for text in ("long " * 200, "long " * 199 + "short", "now"):
            await client.call_tool("remember", {"topic": "note", "content": text})
        return [
            await client.call_tool("history", {"topic": "note", "limit": 2}),
            await client.call_tool("history", {"topic": "note", "version": 1}),
            await client.call_tool("history", {"topic": "note", "version": 2, "against": 1}),
        ]

    all_of_it, first, compared = (one.structured_content for one in talk(desk, life))
    newest, before = all_of_it["versions"]
    assert newest["content"] == "now"
    assert before["content"].endswith("…")
    assert all_of_it["earlier"] == 1
    assert first["versions"][0]["content"] == "long " * 200
    assert "+" in compared["difference"]


def test_topics_come_in_pages(story: Executor) -> None:
    async def life(client: Client) -> list[str]:
        seen: list[str] = []
        after = None
        while True:
            page = await client.call_tool("topics", {"limit": 2, "after": after})
            seen += [one["topic"] for one in page.structured_content["topics"]]
            after = page.structured_content.get("next")
            if after is None:
                return seen

    assert talk(story, life) == ["bugs/bug_y", "design/approach_x", "lunch", "refactoring/q1"]
    narrowed = call(story, "topics", {"tag": "decision"})
    assert text_of(narrowed).startswith("design/approach_x@2, since 2024-02-20 [decision]")
    assert narrowed.structured_content["spaces"] == ["default", "secret"]


def test_a_fact_is_stated_and_changes(desk: Executor) -> None:
    async def life(client: Client) -> tuple[Any, Any]:
        stated = await client.call_tool(
            "relate", {"source": "Ann", "relation": "lives_in", "target": "Oslo"}
        )
        changed = await client.call_tool(
            "change_fact",
            {"subject": "Ann", "relation": "lives_in", "to": "Rome", "new_relation": "lives_in"},
        )
        return stated, changed

    stated, changed = talk(desk, life)
    assert stated.structured_content["fact"] == "Ann --[lives_in]--> Oslo"
    assert [one["fact"] for one in changed.structured_content["closed"]] == [
        "Ann --[lives_in]--> Oslo"
    ]
    assert "holds: Ann --[lives_in]--> Rome" in text_of(changed)


def test_forgetting_keeps_the_history(story: Executor) -> None:
    async def life(client: Client) -> tuple[str, Any]:
        gone = await client.call_tool("forget", {"topic": "lunch"})
        return text_of(gone), await client.call_tool("history", {"topic": "lunch"})

    gone, history = talk(story, life)
    assert gone == "Forgotten from lunch@2 on."
    newest, before = history.structured_content["versions"]
    assert newest["forgotten"]
    assert before["content"] == "The soup was good, said the cook."


def test_a_long_text_is_taken_in_with_progress(desk: Executor) -> None:
    text = "\n\n".join(f"# Part {n}\n\nThe engine {n} of Ann Lee runs." for n in range(120))
    told: list[float] = []

    async def heard(progress: float, _total: float | None, _message: str | None) -> None:
        told.append(progress)

    async def life(client: Client) -> Any:
        arguments = {"topic": "manual", "text": text}
        await client.call_tool("ingest_text", arguments, progress_callback=heard)
        return await client.call_tool("recall", {"question": "Whose engine 17 runs?"})

    found = talk(desk, life)
    assert found.structured_content["passages"][0]["cite"].startswith("manual@1#")
    assert len(told) > 1
    assert told == sorted(set(told))


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("history", {"topic": "nothing"}, "There is no topic 'nothing'"),
        ("history", {"topic": "lunch", "version": 9}, "9"),
        ("recall", {"question": "  "}, "Ask something: the question is empty."),
        ("recall", {}, "recall needs the argument 'question'."),
        ("recall", {"questions": "x"}, "recall needs the argument 'question'."),
        ("recall", WHY | {"colour": "red"}, "recall has no argument 'colour': question, budget"),
        ("recall", WHY | {"budget": "many"}, "The argument 'budget' of recall is wrong"),
        ("recall", WHY | {"mode": "idle"}, "'execution', 'planning' or 'brainstorming'"),
        ("recall", WHY | {"as_of": "03/04/2024"}, "03/04/2024"),
        ("recall", {"question": "x" * 8_001}, "longer than 8,000 characters: send less of it."),
        ("recall", WHY | {"space": "nowhere"}, "There is no space 'nowhere'"),
        ("remember", {"topic": "a", "content": "x" * 100_001}, "longer than 100,000 characters"),
        ("ingest_text", {"topic": "a", "text": "x" * 1_000_001}, "longer than 1,000,000"),
        ("remember", {"topic": "a\x00", "content": "x"}, "NUL"),
        ("remember", {"topic": "lunch", "content": "x", "expect_version": 0}, "lunch"),
        ("change_fact", {"subject": "lunch", "relation": "is"}, "No such edge holds"),
        ("forget", {"topic": "nothing"}, "nothing"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(
    story: Executor, tool: str, arguments: dict[str, Any], sentence: str
) -> None:
    refused = call(story, tool, arguments)
    assert refused.is_error
    assert sentence in text_of(refused)
    assert "Traceback" not in text_of(refused)
    assert "\n" not in text_of(refused)


def test_what_fails_inside_is_logged_and_not_told(
    desk: Executor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(hades.Memory, "remember", broken)
    refused = call(desk, "remember", {"topic": "a", "content": "x"})
    assert refused.is_error
    assert text_of(refused) == "Something went wrong inside the memory: its log says what."
    assert "secret detail" in caplog.text


def test_null_is_not_said_and_lists_may_come_as_text(desk: Executor) -> None:
    note = {
        "topic": "färg/蓝色 🎨/a b?c#d%2F",
        "content": "blå",
        "tags": '["ett", "två"]',
        "confidence": None,
    }

    async def life(client: Client) -> tuple[Any, Any]:
        await client.call_tool("remember", note)
        return (
            await client.call_tool("topics", {}),
            await client.call_tool("history", {"topic": note["topic"]}),
        )

    topics, history = talk(desk, life)
    (line,) = topics.structured_content["topics"]
    assert (line["topic"], line["tags"]) == (note["topic"], ["ett", "två"])
    assert history.structured_content["versions"][0]["content"] == "blå"


def test_tools_say_what_they_do(desk: Executor) -> None:
    listed = talk(desk, lambda client: client.list_tools()).tools
    for tool in listed:
        assert tool.description
        assert tool.annotations.open_world_hint is False
        assert tool.annotations.read_only_hint is (tool.name not in WRITING_TOOLS)
        assert tool.annotations.destructive_hint is (tool.name == "forget")
        for name, one in tool.input_schema["properties"].items():
            assert one["description"], f"{tool.name} {name}"
        assert tool.output_schema["type"] == "object"


def test_a_reader_is_offered_nothing_that_writes(story: Executor) -> None:
    async def life(client: Client) -> tuple[set[str], set[str], Any]:
        tools, prompts = await client.list_tools(), await client.list_prompts()
        tried = await client.call_tool("remember", {"topic": "a", "content": "x"})
        return names_of(tools), names_of(prompts), tried

    tools, prompts, tried = talk(story, life, caller=EVE)
    assert not tools & WRITING_TOOLS
    assert {"recall", "history", "topics"} <= tools
    assert "save_session" not in prompts
    assert tried.is_error
    assert text_of(tried) == "This needs the role writer: yours is reader."


def test_a_caller_of_one_space_sees_no_other(story: Executor) -> None:
    lee = Caller("lee", Role.WRITER, frozenset({"secret"}))

    async def life(client: Client) -> tuple[Any, ...]:
        return (
            await client.list_tools(),
            await client.call_tool("topics", {}),
            await client.call_tool("topics", {"space": "default"}),
        )

    tools, own, others = talk(story, life, caller=lee)
    assert all("space" not in tool.input_schema["properties"] for tool in tools.tools)
    assert own.structured_content["space"] == "secret"
    assert "spaces" not in own.structured_content
    assert others.is_error
    assert "You may not use the space 'default'" in text_of(others)


def test_the_names_of_the_seeds(story: Executor) -> None:
    query = {"query": WHY["question"]}

    async def life(client: Client) -> list[Any]:
        return [
            await client.call_tool("pathrag_retrieve", query | {"max_paths": 2}),
            await client.call_tool("pathrag_retrieve", query | {"format_for_llm": True}),
            await client.call_tool("pathrag_retrieve", query | {"as_of_version": 1}),
            await client.call_tool("hipporag_retrieve", query | {"limit": 2}),
            await client.call_tool("graph_query_paths", query | {"k": 2, "L": 1}),
            await client.call_tool("pathrag_retrieve", query | {"as_of_version": 999}),
        ]

    paths, prompt, first, passages, queried, refused = talk(story, life)
    assert paths.structured_content["success"]
    assert 1 <= paths.structured_content["count"] <= 2
    assert paths.structured_content["paths"][0]["vertices"]
    assert "Most relevant path" in prompt.structured_content["formatted_prompt"]
    assert first.structured_content["success"]
    assert [one["rank"] for one in passages.structured_content["results"]] == [1, 2]
    citation = queried.structured_content["citations"][0]
    assert citation["nodes"] == ["design/approach_x", "refactoring/q1"]
    assert text_of(queried).startswith("1) design/approach_x --[viable_after_fix")
    assert refused.is_error
    assert "There is no version 999" in text_of(refused)


def test_working_memory_is_what_to_have_in_mind(story: Executor) -> None:
    found = call(story, "working_memory", {"topic": "design/approach_x", "budget": 500})
    parts = found.structured_content["parts"]
    assert (parts[0]["why"], parts[0]["cite"]) == ("latest", "design/approach_x@2")
    assert "refactoring/q1@1" in [one["cite"] for one in parts if one["why"] == "related"]
    assert "Approach X is viable" in text_of(found)
    assert found.structured_content["tokens"] <= 500


def test_a_change_one_is_unsure_of_waits_for_approval(story: Executor, path: Path) -> None:
    wish = {"entity": "bugs/bug_y", "relation": "found_by", "target": "Ann Lee"}
    unsure = wish | {"confidence": 0.5, "idempotency_key": "k1"}

    async def life(client: Client) -> list[Any]:
        return [
            await client.call_tool("graph_entity_update", unsure),
            await client.call_tool("graph_entity_update", unsure),
            await client.call_tool("graph_entity_update", unsure | {"target": "Bo Ek"}),
            await client.call_tool(
                "graph_entity_update",
                {"entity": "Bug Y", "alias": "BUG-7", "confidence": 0.9, "idempotency_key": "k2"},
            ),
        ]

    first, again, other, sure = talk(story, life)
    assert text_of(first) == "Proposal 1 waits for approval."
    assert first.structured_content["threshold"] == 0.8
    assert again.structured_content == first.structured_content | {"repeated": True}
    assert other.is_error
    assert "choose a new key" in text_of(other)
    assert sure.structured_content["status"] == "applied"
    with hades.open(path) as memory:
        assert not memory.edges("bugs/bug_y", relation="found_by")
        (waiting,) = memory.proposals()
        memory.approve(waiting.id)
        assert [str(edge.target) for edge in memory.edges(relation="found_by")] == ["Ann Lee"]
