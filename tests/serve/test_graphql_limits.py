"""What asks for too much is refused, with the number."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from tests.making import remember_story
from tests.serve.graphql_making import ask, failed, refused, served


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path = tmp_path_factory.mktemp("graphql") / "m.hades"
    with hades.open(path) as memory:
        remember_story(memory)
        for name in ("Ann", "Bob", "Cleo"):
            memory.relate(name, "found", "bugs/bug_y")
    with served(path) as opened:
        yield opened


def _hops(times: int, first: int = 1) -> str:
    step = f"edges(first: {first}) {{ items {{ target {{ "
    return (
        '{ space { node(name: "design/approach_x") { '
        + step * times
        + "name"
        + " } } }" * times
        + " } } }"
    )


def test_five_steps_are_answered_and_seven_are_too_deep(client: httpx.Client) -> None:
    ask(client, _hops(4))
    assert "maximum operation depth of 16" in refused(client, _hops(7))


def test_a_wide_query_ends_where_its_budget_does(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(client, _hops(2, first=50))
    monkeypatch.setattr("hades.serve.graphql.query.ITEMS_AT_MOST", 5)
    query = "{ space { topics(first: %d) { items { name } } edges { items { id } } } }"
    assert failed(client, query % 3).startswith("The query asks for more than 5 items")
    question = '{ space { search(question: "Bug Y", first: 1) { line } } }'
    assert failed(client, question).startswith("The query asks for more than 5 items")


def test_a_list_reads_one_item_more_than_its_page(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: dict[str, int] = {}

    def watched(name: str) -> None:
        function = getattr(hades.View, name)

        @functools.wraps(function)
        def reading(*args: Any, **kwargs: Any) -> Any:
            found = function(*args, **kwargs)
            read[name] = len(found)
            return found

        monkeypatch.setattr(hades.View, name, reading)

    for name in ("topics", "entities", "edges", "history"):
        watched(name)
    ask(
        client,
        """{ space { topics(first: 1) { items { name } next } entities(first: 1) { items { name } }
             edges(first: 1) { items { id } }
             topic(name: "bugs/bug_y") { history(first: 1) { items { version } } } } }""",
    )
    assert read == {"topics": 2, "entities": 2, "edges": 2, "history": 2}


def test_numbers_have_bounds(client: httpx.Client) -> None:
    query = "query ($n: Int!) { space { topics(first: $n) { items { name } } } }"
    for first in (0, -1, 201, 2_000_000_000):
        said = f"`first` is a whole number from 1 to 200, not {first}."
        assert failed(client, query, n=first) == said
        assert failed(client, f"{{ space {{ topics(first: {first}) {{ next }} }} }}") == said
    hops = '{ space { paths(source: "a", target: "b", hops: 99) { text } } }'
    assert failed(client, hops) == "`hops` is a whole number from 1 to 4, not 99."
    names = ", ".join(f'"n{n}"' for n in range(60))
    drawn = failed(client, f"{{ space {{ subgraph(names: [{names}]) {{ leftOut }} }} }}")
    assert drawn == "`number of names` is a whole number from 1 to 50, not 60."
    assert "not a cursor of this list" in failed(client, '{ space { edges(after: "x") { next } } }')


def test_many_aliases_are_refused(client: httpx.Client) -> None:
    flood = " ".join(f"a{n}: name" for n in range(31))
    assert "31 aliases found" in refused(client, f"{{ space {{ {flood} }} }}")
    half = " ".join(f"a{n}: name" for n in range(16))
    both = f"{{ space {{ ...one ...one }} }} fragment one on Space {{ {half} }}"
    assert "32 aliases found" in refused(client, both)


def test_fragments_that_double_each_time_are_not_walked(client: httpx.Client) -> None:
    lines = [f"fragment f{n} on Node {{ ...f{n + 1} ...f{n + 1} }}" for n in range(35)]
    query = "\n".join(
        ['{ space { node(name: "a") { ...f0 } } }', *lines, "fragment f35 on Node { name }"]
    )
    assert refused(client, query) == "A query may use fragments 20 times: use fewer."


def test_fragments_in_a_circle_are_refused(client: httpx.Client) -> None:
    alone = "{ space { ...a } } fragment a on Space { ...a name }"
    assert "itself" in refused(client, alone)
    pair = "{ space { ...a } } fragment a on Space { ...b } fragment b on Space { ...a }"
    assert "itself" in refused(client, pair)
    nodes = """{ space { node(name: "a") { ...n } } }
      fragment n on Node { edges { items { target { ...n } } } }"""
    assert "itself" in refused(client, nodes)


def test_long_and_nested_texts_are_not_even_read(client: httpx.Client) -> None:
    assert "1000 tokens" in refused(client, "{ space { " + "name " * 2_000 + "} }")
    for opening in ("{ a ", "{ a(b: [", "{ a(b: {c: ", "{ a(b: " + "[" * 50):
        deep = refused(client, opening * (900 // len(opening.split())))
        assert "nested too deeply" in deep or "tokens" in deep or "Syntax" in deep
    assert refused(client, "{ spaces { name }")


def test_comments_and_strings_are_no_brackets(client: httpx.Client) -> None:
    brackets = "{" * 100
    query = f'{{ space {{ topics(glob: "{brackets}") {{ items {{ name }} }} }} }} # {brackets}'
    assert ask(client, query)["space"]["topics"]["items"] == []


def test_the_schema_cannot_be_asked_for_without_end(client: httpx.Client) -> None:
    deep = "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }"
    assert refused(client, deep)


def test_an_answer_has_a_size(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hades.serve.graphql.query.CHARACTERS_AT_MOST", 60)
    query = "{ space { topics { items { state { content } } } } }"
    told = client.post("/graphql", json={"query": query}).json()
    shown = [one["state"] for one in told["data"]["space"]["topics"]["items"]]
    assert shown[0] is not None
    assert shown[-1] is None
    assert "The answer has more than 60 characters" in told["errors"][0]["message"]


def test_a_query_has_its_time(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hades.serve.graphql.query.SECONDS_AT_MOST", -1.0)
    told = client.post("/graphql", json={"query": "{ space { name change } }"}).json()
    assert told["errors"][0]["extensions"] == {"code": "Unavailable"}


def test_nothing_is_written(client: httpx.Client) -> None:
    for query in ("mutation { forget }", "subscription { changes }"):
        assert client.post("/graphql", json={"query": query}).status_code == 400
    several = "query a { spaces { name } } query b { spaces { name } }"
    body = {"query": several, "operationName": "b"}
    assert client.post("/graphql", json=body).status_code == 200
    assert client.post("/graphql", json={**body, "operationName": "c"}).status_code == 400
    alone = {"query": "fragment a on Space { name }"}
    assert client.post("/graphql", json=alone).status_code == 400


def test_bad_queries_are_told_why(client: httpx.Client) -> None:
    for query, told in (
        ("{ nothing }", "Cannot query field 'nothing' on type 'Query'."),
        ("{ space }", "must have a selection of subfields"),
        ("{ space { topic { name } } }", "is required"),
        ('{ space { topics(first: "2") { items { name } } } }', "cannot represent"),
        ("{ space(name: 3) { name } }", "cannot represent"),
        ("not a query", "Unexpected Name 'not'"),
        ("{ space { ...gone } }", "There is no fragment 'gone'"),
    ):
        assert told in refused(client, query), query


def test_wrong_variables_are_told_why(client: httpx.Client) -> None:
    query = "query ($n: Int!, $q: String!) { space { search(question: $q, first: $n) { line } } }"
    for variables in ({"n": "3", "q": "x"}, {"n": 3.5, "q": "x"}, {"n": 3}, {"n": 3, "q": 5}):
        assert refused(client, query, **variables)


NAMES = st.sampled_from(["space", "spaces", "name", "node", "edges", "items", "target", "topics"])


@given(
    st.recursive(
        NAMES,
        lambda x: (
            st.lists(x, min_size=1, max_size=3).map(" ".join).map(lambda s: f"space {{ {s} }}")
        ),
    )
)
def test_whatever_is_asked_has_an_answer_or_a_sentence(client: httpx.Client, inside: str) -> None:
    answer = client.post("/graphql", json={"query": f"{{ {inside} }}"})
    assert answer.status_code in (200, 400)
    for error in answer.json().get("errors", ()):
        assert error["message"]
        assert error["extensions"]["code"] in ("InvalidInput", "NotFound")


@given(st.text(max_size=200))
def test_any_text_is_refused_politely(client: httpx.Client, text: str) -> None:
    answer = client.post("/graphql", json={"query": text.encode("utf-8", "replace").decode()})
    assert answer.status_code in (200, 400)
