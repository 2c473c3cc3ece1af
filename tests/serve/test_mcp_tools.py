"""The tools of MCP: what a model sends, and what it reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from making import remember_story, spring
from mcp import Client, MCPError
from serve.mcp_making import EVE, WRITING_TOOLS, Offered, names_of, offered, talk, text_of

import hades
from tests.callers import caller

WHY = {"question": "Why don't we use approach X?"}
CORE = {
    *("brief", "recall", "ask", "about", "get", "history", "topics", "edges", "when_changed"),
    *("remember", "relate", "change_fact", "unrelate", "forget"),
}
SEEDS = {"pathrag_retrieve", "hipporag_retrieve", "graph_query_paths", "graph_entity_update"}
MEMGPT = {
    *("core_memory_append", "core_memory_replace", "conversation_search"),
    *("conversation_search_date", "archival_memory_insert", "archival_memory_search"),
}
ANSWER_CHARACTERS_AT_MOST = 30_000
"""As docs/mcp.md says."""


@pytest.fixture
def server(path: Path) -> Iterator[Offered]:
    with offered(path, clock=spring) as opened:
        yield opened


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Offered]:
    """A memory with a story, for tests that only read."""
    path = tmp_path_factory.mktemp("story") / "notes.hades"
    with hades.open(path, clock=spring, actor="ann") as memory:
        remember_story(memory)
        memory.create_space("secret")
        memory.in_space("secret").remember("plan", "Buy the lighthouse.")
        memory.index()
        # A first question that waits for kernels may run out of a stage's time.
        memory.warm()
    with offered(path, clock=spring) as opened:
        opened.memory.warm()
        yield opened


def call(server: Offered, tool: str, arguments: dict[str, Any], **options: Any) -> Any:
    return talk(server, lambda client: client.call_tool(tool, arguments), **options)


def in_turn(server: Offered, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Several calls of one client."""

    async def life(client: Client) -> list[Any]:
        return [await client.call_tool(tool, arguments) for tool, arguments in calls]

    return talk(server, life)


def every_page(server: Offered, tool: str, arguments: dict[str, Any], items: str) -> list[Any]:
    """What all pages of a list hold."""

    async def life(client: Client) -> list[Any]:
        found: list[Any] = []
        after = None
        while True:
            page = await client.call_tool(tool, {**arguments, "after": after})
            assert not page.is_error, text_of(page)
            assert len(text_of(page)) <= ANSWER_CHARACTERS_AT_MOST
            found += page.structured_content[items]
            after = page.structured_content.get("next")
            if after is None:
                return found
            assert f"after={after!r}" in text_of(page)

    return talk(server, life)


def test_tools_say_what_they_do(story: Offered) -> None:
    tools = {one.name: one for one in talk(story, lambda client: client.list_tools()).tools}
    assert tools.keys() > CORE | SEEDS
    described = tools["recall"].input_schema["properties"]
    for shared in ("as_of", "known_at", "space", "tag", "glob"):
        assert described[shared]["description"], shared
    for name, tool in tools.items():
        assert tool.description, name
        assert tool.annotations.read_only_hint is (name not in WRITING_TOOLS), name
        assert bool(tool.annotations.destructive_hint) is (name == "forget"), name
        if name in SEEDS:
            assert "\n" not in tool.description, name
    core = talk(story, lambda client: client.list_tools(), tools="core")
    assert names_of(core) == CORE
    by_default = talk(story, lambda client: client.list_tools(), tools="core")
    assert names_of(by_default) == CORE
    some = talk(story, lambda client: client.list_tools(), tools="core, pathrag_retrieve")
    assert names_of(some) == CORE | {"pathrag_retrieve"}
    memgpt = talk(story, lambda client: client.list_tools(), tools="memgpt")
    assert names_of(memgpt) == MEMGPT | {"get"}
    assert tools.keys() > MEMGPT | {"drill", "consolidate", "context", "extract"}
    with pytest.raises(MCPError, match="no tool 'cor': use core, memgpt, all, or names"):
        talk(story, lambda client: client.list_tools(), tools="cor")
    reader = talk(story, lambda client: client.list_tools(), caller=EVE, tools="memgpt")
    searching = {"conversation_search", "conversation_search_date", "archival_memory_search"}
    assert names_of(reader) == searching | {"get"}
    assert all("\n" not in one.description for one in memgpt.tools if one.name in MEMGPT)


def test_what_is_remembered_is_recalled(server: Offered) -> None:
    note = {
        "topic": "design/cache",
        "content": "The cache was dropped: it served stale prices.",
        "tags": ["decision"],
    }
    question = {"question": "Why is there no cache?"}
    written, found, answer = in_turn(
        server, ("remember", note), ("recall", question), ("ask", question)
    )
    assert text_of(written) == "Remembered as design/cache@1."
    assert written.structured_content["version"] == 1
    assert found.structured_content["passages"][0]["cite"] == "design/cache@1#0"
    assert "it served stale prices" in text_of(found)
    assert "Cite as: [1] design/cache@1#0" in text_of(found)
    (sentence,) = answer.structured_content["sentences"]
    said = f"design/cache: {note['content']}"
    assert (sentence["text"], sentence["label"]) == (said, "[1]")
    (source,) = answer.structured_content["citations"]
    assert (source["label"], source["cite"]) == ("[1]", "design/cache@1#0")
    cited = "[1] design/cache@1#0, line 1, 2024-03-01, belief "
    assert text_of(answer).startswith(f" {said} [1]\n{cited}")


def test_what_says_nothing_new_is_refused_and_can_be_kept(server: Offered) -> None:
    async def tell(client: Client) -> None:
        said = {"topic": "chat/1", "content": "Thanks a lot!"}
        refused = await client.call_tool("remember", said)
        assert refused.is_error
        assert text_of(refused).startswith("Not remembered in 'chat/1': it looks like small talk.")
        kept = await client.call_tool("remember", {**said, "gate": False})
        assert text_of(kept) == "Remembered as chat/1@1."

    talk(server, tell)
    (listed,) = server.memory.proposals("refused")
    assert listed.fields == {"topic": "chat/1", "content": "Thanks a lot!"}


def test_told_facts_are_recalled_and_cited(server: Offered) -> None:
    fact = {"source": "server/db07", "relation": "runs_on", "target": "rack 4"}
    question = {"question": "Where does db07 run?"}
    _, found, answer = in_turn(
        server,
        ("relate", fact | {"valid_from": "2024-02-03", "evidence": "the label"}),
        ("recall", question),
        ("ask", question),
    )
    said = "server/db07 runs on rack 4, since 3 February 2024"
    assert f"Facts:\n[F1] {said}\n\nCite as: [F1] edge 1\n" in text_of(found)
    (told,) = found.structured_content["facts"]
    assert (told["number"], told["cite"], told["text"]) == (1, "edge 1", said)
    assert (told["target"]["name"], told["evidence"]) == ("rack 4", "the label")
    values = answer.structured_content
    assert (values["text"], values["is_doubtful"]) == (f"{said} [F1]", False)
    assert [(one["label"], one["cite"]) for one in values["citations"]] == [("[F1]", "edge 1")]
    assert not {"recall", "facts", "passages"} & set(values)
    assert text_of(answer).startswith(f' {said} [F1]\n[F1] edge 1  "the label", belief ')


def test_a_time_in_words_is_told_as_understood_and_can_be_overridden(story: Offered) -> None:
    question = {"question": "What happened last month?"}  # it is March 2024
    found, answer = in_turn(story, ("recall", question), ("ask", question))
    for one in (found, answer):
        assert "\nTime: last month: 1 to 29 February 2024\n" in text_of(one)
        assert one.structured_content["time"] == {
            "kind": "during",
            "said": "last month",
            "since": "2024-02-01T00:00:00Z",
            "until": "2024-03-01T00:00:00Z",
            "event": "",
        }
    cited = [one["cite"] for one in found.structured_content["passages"]]
    assert "refactoring/q1@1#0" in cited
    assert "lunch@1#0" not in cited
    window = {"since": "2024-01", "until": "2024-02"}
    found, answer = in_turn(story, ("recall", question | window), ("ask", question | window))
    cited = [one["cite"] for one in found.structured_content["passages"]]
    assert "lunch@1#0" in cited
    assert "refactoring/q1@1#0" not in cited
    assert "time" not in answer.structured_content
    none = text_of(call(story, "ask", {"question": "What happened in May 2020?"}))
    assert "Nothing was noted in May 2020." in none


def test_recall_gives_passages_and_paths_with_their_nodes(story: Offered) -> None:
    found = call(story, "recall", WHY).structured_content
    assert found["passages"][0]["text"] == "Approach X is viable after the fix of Bug Y."
    assert ["design/approach_x", "refactoring/q1"] in [path["nodes"] for path in found["paths"]]


def test_of_an_empty_space_it_is_said_what_to_do(server: Offered) -> None:
    for tool, arguments in (("recall", WHY), ("ask", WHY), ("topics", {})):
        first = text_of(call(server, tool, arguments))
        assert first == "Nothing is remembered here yet: `remember` writes the first note.", tool
        then = text_of(call(server, tool, {**arguments, "as_of": "2020"}))
        assert then == "Nothing was remembered here at that time.", tool


def test_what_is_not_found_is_told_without_the_words_of_engineers(story: Offered) -> None:
    nothing = text_of(call(story, "recall", {**WHY, "tag": "no such tag"}))
    assert nothing == "Nothing that is remembered fits: ask in other words, or see `topics`."
    filtered = text_of(call(story, "topics", {"glob": "zzz*"}))
    assert filtered.startswith("No topic fits: ask with fewer filters")
    long = text_of(call(story, "recall", {"question": "Why is X not viable? " * 300}))
    assert "\nNote: the question was shortened: to " in long
    assert "_" not in long.split("\nNote: ")[1]


def test_reading_tools_travel_in_time(story: Offered) -> None:
    then = {"as_of": "2024-02-01"}
    found = call(story, "recall", WHY | then)
    assert "rejected due to Bug Y" in text_of(found)
    assert found.structured_content["valid"] == "2024-02-01T00:00:00Z"
    state = call(story, "get", {"topic": "bugs/bug_y"} | then)
    assert "Bug Y causes data corruption" in text_of(state)
    edges = call(story, "edges", {"name": "design/approach_x"} | then)
    assert "--[rejected_because]--> bugs/bug_y" in text_of(edges)
    assert not call(story, "topics", {"known_at": "2023-01-01"}).structured_content["topics"]


def test_a_topic_is_read_now_at_a_version_and_as_a_difference(story: Offered) -> None:
    topic = {"topic": "design/approach_x"}
    now = call(story, "get", topic)
    assert text_of(now).startswith("design/approach_x@2  since 2024-02-20  written 2024-03-01")
    assert now.structured_content["content"] == "Approach X is viable after the fix of Bug Y."
    first = call(story, "get", topic | {"version": 1}).structured_content
    assert (first["id"], first["valid_to"]) == ("design/approach_x@1", "2024-02-20T00:00:00Z")
    changes = text_of(call(story, "get", topic | {"against": 1}))
    assert "-Considered approach X" in changes
    assert "+Approach X is viable" in changes


def test_a_long_history_comes_in_pages_and_a_long_text_in_parts(server: Offered) -> None:
    long = "".join(f"{number:05}\n" for number in range(11_000))
    notes = [f"{number}: {long}" for number in range(1, 13)]
    remember_versions(server, notes)
    versions = every_page(server, "history", {"topic": "note", "limit": 5}, "versions")
    assert [one["version"] for one in versions] == list(range(12, 0, -1))
    assert all(len(one["content"]) <= 301 for one in versions)

    async def life(client: Client) -> str:
        read, start = "", 0
        while True:
            part = await client.call_tool("get", {"topic": "note", "version": 3, "start": start})
            assert len(json.dumps(part.structured_content)) <= ANSWER_CHARACTERS_AT_MOST
            read += part.structured_content["content"]
            start = part.structured_content.get("next")
            if start is None:
                return read
            assert f"pass start={start} for the rest" in text_of(part)

    assert talk(server, life) == notes[2]


def remember_versions(server: Offered, notes: list[str]) -> None:
    """Versions of one topic."""

    async def life(client: Client) -> None:
        for note in notes:
            written = await client.call_tool("remember", {"topic": "note", "content": note})
            assert not written.is_error

    talk(server, life)


def test_topics_and_edges_come_in_pages(story: Offered, path: Path) -> None:
    names = [one["name"] for one in every_page(story, "topics", {"limit": 3}, "topics")]
    assert names == ["bugs/bug_y", "design/approach_x", "lunch", "refactoring/q1"]
    narrowed = call(story, "topics", {"tag": "decision"})
    assert text_of(narrowed).startswith("design/approach_x@2  since 2024-02-20  #decision")
    assert narrowed.structured_content["spaces"] == ["default", "secret"]
    with hades.open(path) as memory, memory.batch():
        for number in range(150):
            memory.relate("Ann", "knows", f"{number:03}" + "x" * 1_000)
    with offered(path) as many:
        facts = every_page(many, "edges", {"name": "Ann", "limit": 200}, "facts")
    targets = [one["target"]["name"][:3] for one in facts]
    assert targets == [f"{number:03}" for number in range(150)]


@pytest.mark.slow
def test_no_answer_is_longer_than_a_client_reads(path: Path) -> None:
    with hades.open(path) as memory, memory.batch():
        for number in range(30):
            text = f"Note {number} of Ann Lee about the engine. " + "Much is said of it. " * 40
            memory.remember(f"note/{number}" + "x" * 900, text, tags=["t" * 900])
            memory.relate("Ann Lee", "wrote", f"note/{number}" + "x" * 900, evidence=text)
    question = "What did Ann Lee note about the engine?"
    with offered(path) as many:
        answers = in_turn(
            many,
            ("recall", {"question": question, "mode": "brainstorming"}),
            ("ask", {"question": question}),
            ("topics", {"limit": 200}),
            ("edges", {"name": "Ann Lee", "limit": 200}),
            ("unrelate", {"source": "Ann Lee", "relation": "wrote"}),
            ("pathrag_retrieve", {"query": question, "max_paths": 20}),
            ("hipporag_retrieve", {"query": question, "limit": 20}),
            ("graph_query_paths", {"query": question, "k": 20}),
        )
    for answer in answers:
        assert not answer.is_error, text_of(answer)
        assert len(text_of(answer)) <= ANSWER_CHARACTERS_AT_MOST
        values = json.dumps(answer.structured_content, ensure_ascii=False)
        assert len(values) <= ANSWER_CHARACTERS_AT_MOST + len(', "left_out": 100')


def test_a_fact_is_stated_changes_and_ends(server: Offered) -> None:
    ann = {"name": "Ann", "relation": "lives_in"}
    stated, changed, when, held, ended, left = in_turn(
        server,
        (
            "relate",
            {"source": "Ann", "relation": "lives_in", "target": "Oslo", "valid_from": "2020"},
        ),
        (
            "change_fact",
            {
                "source": "Ann",
                "relation": "lives_in",
                "to": "Rome",
                "new_relation": "lives_in",
                "at": "2023",
            },
        ),
        ("when_changed", ann),
        ("edges", {"name": "Ann", "ended": True}),
        ("unrelate", {"source": "Ann", "relation": "lives_in"}),
        ("edges", {"name": "Ann"}),
    )
    assert text_of(stated) == "Ann --[lives_in]--> Oslo  edge 1  since 2020-01-01"
    assert "holds: Ann --[lives_in]--> Rome" in text_of(changed)
    assert text_of(when) == text_of(changed)
    assert when.structured_content["at"] == "2023-01-01T00:00:00Z"
    assert len(held.structured_content["facts"]) == 2
    assert "Rome  edge 2  since 2023-01-01 until 2024-03-01" in text_of(ended)
    assert text_of(left) == "No fact about 'Ann' is known here."


def test_forgetting_keeps_the_history(server: Offered) -> None:
    soup = {"topic": "lunch", "content": "The soup was good."}
    _, gone, history = in_turn(
        server,
        ("remember", soup),
        ("forget", {"topic": "lunch"}),
        ("history", {"topic": "lunch"}),
    )
    assert text_of(gone) == "Forgotten from lunch@2 on."
    newest, before = history.structured_content["versions"]
    assert newest["forgotten"]
    assert before["content"] == "The soup was good."


def test_a_long_text_is_taken_in_with_progress(server: Offered) -> None:
    text = "\n\n".join(f"# Part {n}\n\nThe engine {n} of Ann Lee runs." for n in range(120))
    told: list[float] = []

    async def heard(progress: float, _total: float | None, _message: str | None) -> None:
        told.append(progress)

    async def life(client: Client) -> Any:
        arguments = {"topic": "manual", "text": text}
        await client.call_tool("ingest_text", arguments, progress_callback=heard)
        return await client.call_tool("recall", {"question": "Whose engine 17 runs?"})

    found = talk(server, life)
    assert found.structured_content["passages"][0]["cite"].startswith("manual@1#")
    assert len(told) > 1
    assert told == sorted(set(told))


def test_a_text_is_read_by_its_citation(story: Offered) -> None:
    by_name, by_cite = in_turn(
        story, ("get", {"topic": "lunch", "version": 1}), ("get", {"topic": "lunch@1#0"})
    )
    assert text_of(by_cite) == text_of(by_name)


def test_what_is_wrong_is_told_in_a_sentence(story: Offered) -> None:
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("get", {"topic": "nothing"}, "There is no topic 'nothing'"),
        ("get", {"topic": "lunch", "version": 9}, "9"),
        ("history", {"topic": "nothing"}, "There is no topic 'nothing'"),
        ("edges", {"name": "lunch", "after": "x"}, "not from an answer"),
        ("when_changed", {"name": "lunch", "relation": "is"}, "No edge 'is' ended"),
        ("recall", {"question": "  "}, "Ask something: the question is empty."),
        ("recall", {}, "recall needs the argument 'question'."),
        ("recall", WHY | {"colour": "red"}, "recall has no argument 'colour': question, budget"),
        ("recall", WHY | {"budget": "many"}, "The argument 'budget' of recall is wrong"),
        ("recall", WHY | {"mode": "idle"}, "execution, planning, brainstorming"),
        ("recall", WHY | {"as_of": "03/04/2024"}, "03/04/2024"),
        ("recall", {"question": "x" * 100_001}, "longer than 100,000 characters: send less"),
        ("recall", WHY | {"space": "nowhere"}, "There is no space 'nowhere'"),
        ("remember", {"topic": "a", "content": "x" * (2**24 + 1)}, "longer than 16,777,216"),
        ("ingest_text", {"topic": "a", "text": "x" * 1_000_001}, "longer than 1,000,000"),
        ("remember", {"topic": "a\x00", "content": "x"}, "NUL"),
        ("remember", {"topic": "lunch", "content": "x", "expect_version": 0}, "lunch"),
        ("change_fact", {"source": "lunch", "relation": "is"}, "No such edge holds"),
        ("forget", {"topic": "nothing"}, "nothing"),
        ("nothing", {}, "There is no tool 'nothing': about, archival_memory"),
    ]
    refused = in_turn(story, *((tool, arguments) for tool, arguments, _ in wrong))
    for (tool, _, sentence), answer in zip(wrong, refused, strict=True):
        assert answer.is_error, tool
        assert sentence in text_of(answer), tool
        assert "\n" not in text_of(answer), tool


def test_what_fails_inside_is_logged_and_not_told(
    server: Offered, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(hades.Memory, "remember", broken)
    refused = call(server, "remember", {"topic": "a", "content": "x"})
    assert refused.is_error
    assert text_of(refused) == "Error executing tool remember"
    assert "secret detail" in caplog.text


def test_null_is_not_said_and_lists_may_come_as_text(server: Offered) -> None:
    note = {
        "topic": "färg/蓝色 🎨/a b?c#d%2F",
        "content": '["blå"]',
        "tags": '["ett", "två"]',
        "confidence": None,
    }
    _, topics, state = in_turn(
        server, ("remember", note), ("topics", {}), ("get", {"topic": note["topic"]})
    )
    (line,) = topics.structured_content["topics"]
    assert (line["name"], line["tags"]) == (note["topic"], ["ett", "två"])
    assert state.structured_content["content"] == '["blå"]'


def test_a_reader_is_offered_nothing_that_writes(story: Offered) -> None:
    async def life(client: Client) -> tuple[set[str], Any]:
        tools = await client.list_tools()
        tried = await client.call_tool("remember", {"topic": "a", "content": "x"})
        return names_of(tools), tried

    tools, tried = talk(story, life, caller=EVE)
    assert not tools & WRITING_TOOLS
    assert {"recall", "history", "topics"} <= tools
    assert tried.is_error
    assert text_of(tried) == "This needs the role writer: yours is reader."


def test_a_caller_of_some_spaces_sees_no_other(story: Offered) -> None:
    lee = caller("lee", "writer", "secret")

    async def life(client: Client) -> tuple[Any, ...]:
        return (
            await client.list_tools(),
            await client.call_tool("topics", {}),
            await client.call_tool("topics", {"space": "default"}),
        )

    tools, own, others = talk(story, life, caller=lee)
    assert all("space" not in tool.input_schema["properties"] for tool in tools.tools)
    assert (own.structured_content["space"], own.structured_content["spaces"]) == (
        "secret",
        ["secret"],
    )
    assert others.is_error
    assert "You may not use the space 'default'" in text_of(others)
    two = caller("lee", "writer", "secret", "work")
    which = call(story, "topics", {}, caller=two)
    assert text_of(which) == "Say which space: secret, work."


def test_the_names_of_the_seeds(story: Offered) -> None:
    query = {"query": WHY["question"]}
    paths, prompt, first, passages, queried, refused = in_turn(
        story,
        ("pathrag_retrieve", query | {"max_paths": 2, "domain_filter": "glob:*"}),
        ("pathrag_retrieve", query | {"format_for_llm": True}),
        ("pathrag_retrieve", query | {"as_of_version": 1}),
        ("hipporag_retrieve", query | {"limit": 2, "mode": "planning"}),
        ("graph_query_paths", query | {"k": 2, "L": 2}),
        ("pathrag_retrieve", query | {"as_of_version": 999}),
    )
    assert paths.structured_content["success"]
    assert 1 <= paths.structured_content["count"] <= 2
    assert paths.structured_content["paths"][0]["vertices"]
    assert "Most relevant path" in prompt.structured_content["formatted_prompt"]
    assert first.structured_content["success"]
    assert [one["rank"] for one in passages.structured_content["results"]] == [1, 2]
    assert queried.structured_content["paths"][0]["nodes"] == [
        "design/approach_x@2#0",
        "design/approach_x",
        "refactoring/q1",
    ]
    assert "design/approach_x --[viable_after_fix" in text_of(queried).splitlines()[0]
    assert refused.is_error
    assert "There is no version 999" in text_of(refused)


def test_working_memory_is_what_to_have_in_mind(story: Offered) -> None:
    found = call(story, "working_memory", {"topic": "design/approach_x", "budget": 500})
    items = found.structured_content["items"]
    assert (items[0]["why"], items[0]["cite"]) == ("latest", "design/approach_x@2")
    assert "refactoring/q1@1" in [one["cite"] for one in items if one["why"] == "related"]
    assert "Approach X is viable" in text_of(found)
    assert found.structured_content["tokens"] <= 500


def test_a_change_one_is_unsure_of_waits_for_approval(server: Offered, path: Path) -> None:
    fields = {"relation": "found_by", "target": "Ann Lee"}
    unsure = {"entity_id": "Bug Y", "fields": fields, "confidence": 0.5, "idempotency_key": "k1"}
    sure = {"name": "Bug Y", "alias": "BUG-7", "confidence": 0.9}
    _, first, again, other, odd, applied = in_turn(
        server,
        ("relate", {"source": "Bug Y", "relation": "is_in", "target": "the data layer"}),
        ("graph_entity_update", unsure),
        ("graph_entity_update", unsure),
        ("graph_entity_update", unsure | {"fields": fields | {"target": "Bo Ek"}}),
        ("graph_entity_update", unsure | {"fields": {"colour": "red"}}),
        ("propose", sure),
    )
    assert text_of(first) == "Proposal 1 waits for approval."
    assert first.structured_content["threshold"] == 0.8
    assert again.structured_content == first.structured_content | {"repeated": True}
    assert "choose a new key" in text_of(other)
    assert "There is no field 'colour': alias, content" in text_of(odd)
    assert applied.structured_content["status"] == "applied"
    with hades.open(path) as memory:
        assert not memory.edges("Bug Y", relation="found_by")
        (waiting,) = memory.proposals()
        memory.approve(waiting.id)
        assert [str(edge.target) for edge in memory.edges(relation="found_by")] == ["Ann Lee"]


def test_an_entity_is_renamed_when_a_quorum_agrees(server: Offered, path: Path) -> None:
    with hades.open(path, actor="bob") as memory:
        memory.relate("Bug Y", "is_in", "the data layer")
        memory.propose("Bug Y", new_name="BUG-7", confidence=0.6, quorum=2)
    wish = {"entity_id": "Bug Y", "fields": {"name": "BUG-7"}, "confidence": 0.6, "quorum": 2}
    assert "is applied" in text_of(call(server, "graph_entity_update", wish))
    with hades.open(path) as memory:
        assert memory.entity("Bug Y").name == "BUG-7"


def test_a_topic_is_promoted_by_an_agent(path: Path, server: Offered) -> None:
    with hades.open(path, clock=spring, actor="ann") as memory:
        remember_story(memory)
    done = call(server, "promote", {"topic": "design/approach_x", "reason": "It is merged."})
    assert "Promoted to design/approach_x@3, extractive." in text_of(done)
    assert "\n Approach X is viable" in text_of(done)
    assert done.structured_content["id"] == "design/approach_x@3"


def test_the_tools_of_memgpt_edit_core_blocks_and_search_in_pages(
    path: Path, server: Offered
) -> None:
    with hades.open(path, clock=spring) as memory:
        for number in range(12):
            said = f"user: the pump number {number} ran dry"
            memory.remember(f"conversation/{number:02}", said, kind="conversation")
    appended, replaced, refused, first, second, dated, kept, found = in_turn(
        server,
        ("core_memory_append", {"label": "human", "content": "Ann likes tea."}),
        ("core_memory_replace", {"label": "human", "old_content": "tea", "new_content": "oil"}),
        ("core_memory_replace", {"label": "human", "old_content": "tea", "new_content": ""}),
        ("conversation_search", {"query": "pump ran dry"}),
        ("conversation_search", {"query": "pump ran dry", "page": 1}),
        ("conversation_search_date", {"start_date": "2024-02", "end_date": "2024-04", "page": 1}),
        ("archival_memory_insert", {"content": "The cellar key hangs behind the clock."}),
        ("archival_memory_search", {"query": "Where is the cellar key?"}),
    )
    assert text_of(appended) == "core/human@1, 4 of 500 tokens:\n Ann likes tea."
    assert replaced.structured_content["block"]["text"] == "Ann likes oil."
    assert refused.is_error
    assert "does not have that text" in text_of(refused)
    assert first.structured_content["next"] == 1
    assert text_of(first).endswith("More: pass page=1.")
    cited = [one["cite"] for page in (first, second) for one in page.structured_content["results"]]
    assert sorted(cited) == [f"conversation/{number:02}@1#0" for number in range(12)]
    assert [one["cite"] for one in dated.structured_content["results"]] == [
        "conversation/10@1",
        "conversation/11@1",
    ]
    assert text_of(kept).startswith("Kept as archival/")
    assert found.structured_content["results"][0]["text"].startswith("The cellar key")


def test_conversations_are_distilled_and_asked_by_user(server: Offered) -> None:
    said = [
        {"role": "user", "content": "Send me the reports as PDF from now on, not as spreadsheets."},
        {"role": "assistant", "content": "All right."},
    ]
    question = {"question": "How should reports be sent?"}
    dry, done, again, ana, others, refused = in_turn(
        server,
        ("distil", {"messages": said, "user": "ana", "dry_run": True}),
        ("distil", {"messages": said, "user": "ana"}),
        ("distil", {"glob": "users/*"}),
        ("recall", {**question, "about": "ana"}),
        ("ask", {**question, "about": "*"}),
        ("distil", {"messages": [{"role": "user"}]}),
    )
    assert "nothing was stored" in text_of(dry)
    (statement,) = done.structured_content["statements"]
    assert statement["state"].startswith("users/ana/")
    assert statement["state"] in text_of(done)
    assert again.structured_content["statements"] == []
    cites = {passage["cite"] for passage in ana.structured_content["passages"]}
    assert f"{statement['state']}#0" in cites
    assert others.structured_content["sentences"] == []
    assert refused.is_error
    assert "A message is an object such as" in text_of(refused)


def test_stored_conversations_are_distilled(server: Offered, path: Path) -> None:
    text = "user: Send me the reports as PDF from now on, not as spreadsheets."
    with hades.open(path) as memory:
        memory.remember("chats/1", text, kind="conversation")
    done = call(server, "distil", {"glob": "chats/*"})
    (statement,) = done.structured_content["statements"]
    assert (statement["source"], statement["by"]) == ("chats/1", "user")


def test_a_reader_does_not_distil(story: Offered) -> None:
    said = [{"role": "user", "content": "From now on we deploy with Actions."}]
    assert call(story, "distil", {"messages": said}, caller=EVE).is_error
