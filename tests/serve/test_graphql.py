"""GraphQL: the graph explored over HTTP, at any time, by those who may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from graphql import get_introspection_query

import hades
from tests.making import remember_story
from tests.serve.graphql_making import ask, served


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path = tmp_path_factory.mktemp("graphql") / "m.hades"
    with hades.open(path) as memory:
        remember_story(memory)
        memory.relate("Ann", "found", "bugs/bug_y", weight=0.5, kind="person")
        memory.add_alias("Ann", "Annie")
        memory.create_space("work")
        memory.in_space("work").remember("plan", "Ship it.")
        memory.create_space("secret")
        memory.in_space("secret").remember("plan", "Say nothing.")
        with memory.batch():
            for number in range(5):
                memory.remember(f"list/{number}", f"Item {number}")
    with served(path) as opened:
        yield opened


def test_from_a_topic_through_its_edges(client: httpx.Client) -> None:
    found = ask(
        client,
        """query ($name: String!) { space { topic(name: $name) {
             name version tags state { content }
             history { items { version content } }
             diff { added removed }
             node { edges { items { relation evidence source { name }
               target { kind name topic { state { content } } } } } }
        } } }""",
        name="design/approach_x",
    )["space"]["topic"]
    assert (found["name"], found["version"], found["tags"]) == (
        "design/approach_x", 2, ["decision"]
    )  # fmt: skip
    assert [one["version"] for one in found["history"]["items"]] == [1, 2]
    assert found["state"]["content"] == found["history"]["items"][1]["content"]
    assert found["diff"] == {"added": 1, "removed": 1}
    (edge,) = found["node"]["edges"]["items"]
    assert edge["relation"] == "viable_after_fix"
    assert edge["target"]["topic"]["state"]["content"].startswith("Refactored")


def test_the_same_as_it_was(client: httpx.Client) -> None:
    query = """query ($asOf: String, $knownAt: String) {
      space(asOf: $asOf, knownAt: $knownAt) { asOf knownAt
        topic(name: "design/approach_x") { state { content } }
        node(name: "design/approach_x") { edges { items { relation target { name } } } }
    } }"""
    then = ask(client, query, asOf="2024-01-20")["space"]
    assert (then["asOf"], then["knownAt"]) == ("2024-01-20T00:00:00Z", None)
    assert then["topic"]["state"]["content"].startswith("Considered")
    assert then["node"]["edges"]["items"] == [
        {"relation": "rejected_because", "target": {"name": "bugs/bug_y"}}
    ]
    before = client.post("/graphql", json={"query": query, "variables": {"knownAt": "2020"}}).json()
    assert before["data"]["space"]["topic"] is None
    assert {error["extensions"]["code"] for error in before["errors"]} == {"NotFound"}
    assert before["errors"][0]["path"] == ["space", "topic"]


def test_entities_by_any_name_and_what_speaks_of_them(client: httpx.Client) -> None:
    space = ask(
        client,
        """{ space { entity(name: "Annie") { name kind aliases degree
               node { kind edges(direction: "out") { items { weight target { name } } } } }
             entities(glob: "A*", first: 3) { items { name } }
             node(name: "Annie") { name entity { kind } topic { name } mentions { line } }
        } }""",
    )["space"]
    assert space["entity"] == {
        "name": "Ann",
        "kind": "person",
        "aliases": ["Annie"],
        "degree": 1,
        "node": {
            "kind": "entity",
            "edges": {"items": [{"weight": 0.5, "target": {"name": "bugs/bug_y"}}]},
        },
    }
    assert {"name": "Ann"} in space["entities"]["items"]
    assert space["node"] == {
        "name": "Ann", "entity": {"kind": "person"}, "topic": None, "mentions": []
    }  # fmt: skip


def test_told_facts_and_times_in_words_are_answered(client: httpx.Client) -> None:
    space = ask(
        client,
        """{ space {
             ask(question: "What makes approach X viable after the fix?") {
               text citations { label cite }
               sentences { kind label text }
               recall { facts { text belief { mean } edge { id target { name } } } } }
             then: recall(question: "What happened in January 2024?") {
               wants time { kind said since until } passages { superseded chunk { id } } }
             windowed: recall(question: "What happened?", since: "2024-02", until: "2024-03") {
               time { said } passages { chunk { topic } } }
        } }""",
    )["space"]
    (fact,) = space["ask"]["recall"]["facts"]
    assert fact["edge"]["target"] == {"name": "refactoring/q1"}
    cited = {one["label"]: (one["kind"], one["text"]) for one in space["ask"]["sentences"]}
    assert cited["[F1]"] == ("fact", fact["text"])
    assert f"{fact['text']} [F1]" in space["ask"]["text"].splitlines()
    cites = {one["label"]: one["cite"] for one in space["ask"]["citations"]}
    assert cites["[F1]"] == f"edge {fact['edge']['id']}"
    assert space["then"]["wants"] == "happenings"
    assert space["then"]["time"] == {
        "kind": "during",
        "said": "in January 2024",
        "since": "2024-01-01T00:00:00Z",
        "until": "2024-02-01T00:00:00Z",
    }
    chunks = [one["chunk"]["id"] for one in space["then"]["passages"]]
    assert "lunch@1#0" in chunks
    assert "refactoring/q1@1#0" not in chunks
    assert space["windowed"]["time"] is None
    topics = {one["chunk"]["topic"] for one in space["windowed"]["passages"]}
    assert "refactoring/q1" in topics
    assert "lunch" not in topics


def test_questions_are_an_entry_to_the_graph(client: httpx.Client) -> None:
    space = ask(
        client,
        """{ space {
             search(question: "Bug Y", first: 2) { score chunk { topic text } }
             recall(question: "Why was approach X rejected?", budget: 500) {
               intent tokens context passages { chunk { id } belief { mean } }
               paths { text nodes { name } } reasons { reason } }
             subgraph(names: ["design/approach_x"], first: 10) {
               nodes { hops node { name } } edges { relation source { name } } leftOut }
             paths(source: "design/approach_x", target: "refactoring/q1") {
               text steps { relation forward } belief { low high } }
             node(name: "bugs/bug_y") { neighbours { hops node { name } path { text } }
               chosen: neighbours(relation: ["no_such"], direction: "in", leastWeight: 0.5) {
                 hops } }
             topic(name: "design/approach_x") { workingMemory(budget: 300) {
               tokens items { why state { id } } } }
             whenChanged(name: "design/approach_x", before: "rejected_because") {
               at after { relation } }
             ask(question: "Which bug did Ann find?") { question }
             edges(relation: "found") { items { id } } change stats
        } }""",
    )["space"]
    assert len(space["search"]) == 2
    assert space["recall"]["intent"] == "why"
    assert 0 < space["recall"]["tokens"] <= 500
    assert space["recall"]["passages"]
    assert {"node": {"name": "design/approach_x"}, "hops": 0} in space["subgraph"]["nodes"]
    assert space["paths"][0]["steps"][0] == {"relation": "viable_after_fix", "forward": True}
    assert "Ann" in {one["node"]["name"] for one in space["node"]["neighbours"]}
    assert space["node"]["chosen"] == []
    assert space["topic"]["workingMemory"]["items"][0] == {
        "why": "latest", "state": {"id": "design/approach_x@2"}
    }  # fmt: skip
    assert space["whenChanged"] == {
        "at": "2024-02-20T00:00:00Z", "after": {"relation": "viable_after_fix"}
    }  # fmt: skip
    (edge,) = space["edges"]["items"]
    assert space["stats"]["topics"] >= 8
    assert space["ask"] == {"question": "Which bug did Ann find?"}
    believed = ask(
        client, "query ($id: Int!) { space { edge(edge: $id) { relation } } }", id=edge["id"]
    )
    assert believed["space"]["edge"] == [{"relation": "found"}]


def _pages(client: httpx.Client, field: str, inner: str, first: int) -> list[list[Any]]:
    """Every page of a list; `field` with its arguments, but for those that turn pages."""
    name, _, given = field.partition("(")
    given = f"{given.removesuffix(')')}, first: {first}, after: $after"
    page = f"{name}({given}) {{ items {{ {inner} }} next }}"
    query = f'query ($after: String) {{ space {{ topic(name: "bugs/bug_y") {{ {page} }} }} }}'
    if name in ("topics", "entities", "edges"):
        query = f"query ($after: String) {{ space {{ {page} }} }}"
    pages: list[list[Any]] = []
    after = None
    while not pages or after is not None:
        found = ask(client, query, after=after)["space"]
        found = found.get("topic", found)[name]
        pages.append([one[inner] for one in found["items"]])
        after = found["next"]
    return pages


def test_long_lists_come_in_pages(client: httpx.Client) -> None:
    assert _pages(client, 'topics(glob: "list/*")', "name", 2) == [
        ["list/0", "list/1"], ["list/2", "list/3"], ["list/4"]
    ]  # fmt: skip
    for field, inner in (("entities", "name"), ("edges", "id"), ("topics", "name")):
        (whole,) = _pages(client, field, inner, 200)
        assert [[one] for one in whole] == _pages(client, field, inner, 1)
    assert _pages(client, "history", "version", 1) == [[1], [2]]
    assert _pages(client, "chunks", "id", 1) == [["bugs/bug_y@2#0"]]


def test_a_caller_sees_their_spaces_only(client: httpx.Client) -> None:
    eve = {"who": "eve"}
    listed = client.post(
        "/graphql", headers=eve, json={"query": "{ spaces { name topics } }"}
    ).json()
    assert listed == {"data": {"spaces": [{"name": "work", "topics": 1}]}}
    query = '{ space(name: "secret") { topic(name: "plan") { state { content } } } }'
    answer = client.post("/graphql", headers=eve, json={"query": query})
    assert answer.status_code == 403
    (error,) = answer.json()["errors"]
    assert error["extensions"]["code"] == "Denied"
    both = """{ work: space(name: "work") { topic(name: "plan") { state { content } } }
                secret: space(name: "secret") { topic(name: "plan") { state { content } } } }"""
    told = client.post("/graphql", headers=eve, json={"query": both}).json()
    assert told["data"] == {
        "work": {"topic": {"state": {"content": "Ship it."}}}, "secret": None
    }  # fmt: skip
    assert [(e["path"], e["extensions"]["code"]) for e in told["errors"]] == [
        (["secret"], "Denied")
    ]
    hidden = """query ($name: String!) { ...all } fragment all on Query {
                  space(name: $name) { search(question: "nothing") { score } } }"""
    said = {"query": hidden, "variables": {"name": "secret"}}
    assert "Say nothing" not in client.post("/graphql", headers=eve, json=said).text
    assert client.post("/graphql", headers={"who": ""}, json={"query": both}).status_code == 403


def test_a_field_that_fails_leaves_the_others(client: httpx.Client) -> None:
    query = """{ space { paths(source: "nobody", target: "Ann") { text }
                         topic(name: "bugs/bug_y") { version state(version: 99) { content } } } }"""
    told = client.post("/graphql", json={"query": query}).json()
    assert told["data"]["space"] == {"paths": None, "topic": {"version": 2, "state": None}}
    assert [error["path"] for error in told["errors"]] == [
        ["space", "paths"], ["space", "topic", "state"]
    ]  # fmt: skip


def test_several_spaces_and_a_space_that_is_not_there(client: httpx.Client) -> None:
    query = """{ one: space { search(question: "Bug Y", first: 1) { line } }
                 two: space(name: "work") { search(question: "ship", first: 1) { line } } }"""
    found = ask(client, query)
    assert len(found["one"]["search"]) == len(found["two"]["search"]) == 1
    missing = client.post("/graphql", json={"query": '{ space(name: "no") { name } }'})
    assert missing.json()["errors"][0]["extensions"]["code"] == "NotFound"


def test_the_schema_can_be_asked_for(client: httpx.Client) -> None:
    told = ask(client, get_introspection_query())
    assert told["__schema"]["mutationType"] is None
    assert told["__schema"]["subscriptionType"] is None
    assert ask(client, "{ space { __typename } }") == {"space": {"__typename": "Space"}}


def test_what_is_no_query_is_refused(client: httpx.Client) -> None:
    for body in (
        b"",
        b"{",
        b"[]",
        b"3",
        b'{"query": 3}',
        b"{}",
        b"[" * 100_000,
        b'{"query": "{a}", "variables": []}',
        b'{"query": "{ spaces { name } }", "operationName": []}',
        b'{"query": "{ spaces { name } }", "padding": "%s"}' % (b"x" * 300_000),
    ):
        answer = client.post("/graphql", content=body, headers={"content-type": "application/json"})
        assert answer.status_code in (400, 422), body[:60]
        assert answer.text, body[:60]
    assert client.post("/graphql", data={"query": "{ spaces { name } }"}).status_code == 400
    for method in ("GET", "PUT", "DELETE"):
        other = client.request(method, "/graphql", params={"query": "{ spaces { name } }"})
        assert (other.status_code, other.headers["allow"]) == (405, "POST")


def test_errors_of_ours_keep_their_sentence_and_others_are_hidden(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = client.post(
        "/graphql", json={"query": '{ space { recall(question: "x", mode: "odd") { ms } } }'}
    )
    (error,) = odd.json()["errors"]
    assert error["message"].startswith("There is no mode 'odd'")
    assert error["extensions"] == {"code": "InvalidInput"}

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("at /secret/path")

    monkeypatch.setattr("hades.store.spaces.Spaces.stats", broken)
    (error,) = client.post("/graphql", json={"query": "{ space { stats } }"}).json()["errors"]
    assert error["message"] == "The server failed; its log says why."
    assert error["extensions"] == {"code": "HadesError"}


def test_what_is_written_is_found_by_the_next_query(tmp_path: Path) -> None:
    path = tmp_path / "m.hades"
    with served(path) as client, hades.open(path) as memory:
        query = '{ space { search(question: "marmots", first: 1) { chunk { topic } } } }'
        assert ask(client, query)["space"]["search"] == []
        memory.remember("animals", "Marmots sleep all winter.")
        found = ask(client, query)["space"]["search"]
        assert found == [{"chunk": {"topic": "animals"}}]


def test_a_query_that_only_reads_sees_one_moment(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hades.open(path) as memory:
        memory.remember("left", "0")
        memory.remember("right", "0")
        get = hades.View.get

        def interrupted(view: hades.View, *given: Any) -> hades.State:
            found = get(view, *given)
            monkeypatch.setattr(hades.View, "get", get)
            with memory.batch():
                memory.remember("left", "1")
                memory.remember("right", "1")
            return found

        query = """{ space { left: topic(name: "left") { state { content } }
                             right: topic(name: "right") { state { content } } } }"""
        with served(path) as client:
            monkeypatch.setattr(hades.View, "get", interrupted)
            found = ask(client, query)["space"]
            assert found["left"]["state"]["content"] == found["right"]["state"]["content"] == "0"
            found = ask(client, query)["space"]
            assert found["left"]["state"]["content"] == found["right"]["state"]["content"] == "1"
