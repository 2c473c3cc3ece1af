"""What asks for too much is refused before anything is done, with the number."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from graphql import parse
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.serve.executor.executor import Executor
from hades.serve.graphql import limits
from hades.serve.graphql.schema import CORE
from tests.making import remember_story
from tests.serve.graphql_making import ask, refused, served


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path = tmp_path_factory.mktemp("graphql") / "m.hades"
    with hades.open(path) as memory:
        remember_story(memory)
    with served(Executor.open(path)) as opened:
        yield opened


def weight(query: str, **variables: object) -> limits.Weight:
    document = parse(query)
    operation = limits.chosen_operation(document, None)
    return limits.Scale(CORE, document, operation, variables).weigh()


def _hops(times: int, first: int = 1) -> str:
    step = f"edges(first: {first}) {{ items {{ target {{ "
    return (
        '{ space { node(name: "design/approach_x") { '
        + step * times
        + "name"
        + " } } }" * times
        + " } } }"
    )


def test_a_query_costs_its_fields_as_often_as_they_are_answered() -> None:
    assert weight("{ spaces { name } }").cost == 11 + 10
    one = weight('{ space { topic(name: "a") { name } } }')
    assert (one.cost, one.depth, one.aliases, one.asks) == (1 + 3 + 1, 3, 0, False)
    page = "query ($n: Int = 7) { space { topics(first: %s) { items { name tags } } } }"
    ten, many = weight(page % 10), weight(page % 100)
    assert many.cost - ten.cost == 90 * 3
    assert weight(page % "$n").cost == weight(page % 7).cost
    assert weight(page % "$n", n=100).cost == many.cost
    assert weight("{ space { topics { items { name tags } } } }").cost == weight(page % 20).cost
    assert weight("{ space { edge(id: 1) { relation } } }").cost == 2 + limits.LIST_ITEMS
    assert weight('{ space { search(question: "x") { score } } }').asks


def test_five_steps_are_answered_and_seven_are_too_deep(client: httpx.Client) -> None:
    ask(client, _hops(4))
    assert refused(client, _hops(7)) == ("The query is 24 fields deep, more than 16: ask for less.")


def test_a_wide_query_is_refused_with_its_cost(client: httpx.Client) -> None:
    ask(client, _hops(2, first=50))
    said = refused(client, _hops(3, first=50))
    assert said.startswith("The query costs ")
    assert said.endswith("more than 20,000: ask for fewer fields or a smaller `first`.")


@pytest.mark.parametrize("first", [0, -1, 201, 2_000_000_000])
def test_pages_have_a_size(client: httpx.Client, first: int) -> None:
    said = f"`first` is a whole number from 1 to 200, not {first}."
    query = "query ($n: Int!) { space { topics(first: $n) { items { name } } } }"
    assert refused(client, query, n=first) == said
    assert refused(client, query.replace("$n)", f"{first})").replace("($n: Int!)", "")) == said


def test_sizes_hide_nowhere(client: httpx.Client) -> None:
    field = "topics(first: 9999) { items { name } }"
    for query in (
        f"{{ space {{ ... on Space {{ {field} }} }} }}",
        f"{{ space {{ ...page }} }} fragment page on Space {{ {field} }}",
        f"{{ space {{ name @skip(if: false) {field.replace(')', ') @include(if: true)', 1)} }} }}",
        "query ($n: Int! = 9999) { space { topics(first: $n) { items { name } } } }",
    ):
        assert "`first` is a whole number" in refused(client, query)
    hops = '{ space { paths(source: "a", target: "b", hops: 99) { text } } }'
    assert refused(client, hops) == "`hops` is a whole number from 1 to 4, not 99."
    names = ", ".join(f'"n{n}"' for n in range(60))
    told = client.post(
        "/", json={"query": f"{{ space {{ subgraph(names: [{names}]) {{ leftOut }} }} }}"}
    )
    assert told.json()["errors"][0]["message"] == "Draw around at most 50 names, not 60."


def test_many_aliases_are_refused(client: httpx.Client) -> None:
    flood = " ".join(f"a{n}: name" for n in range(31))
    said = "The query has 31 aliases, more than 30: ask for less."
    assert refused(client, f"{{ space {{ {flood} }} }}") == said
    half = " ".join(f"a{n}: name" for n in range(16))
    both = f"{{ space {{ ...one ...one }} }} fragment one on Space {{ {half} }}"
    assert "32 aliases" in refused(client, both)
    costly = " ".join(f'a{n}: recall(question: "x") {{ ms }}' for n in range(30))
    assert refused(client, f"{{ space {{ {costly} }} }}").startswith("The query costs ")


def test_fragments_that_double_each_time_cost_no_time(client: httpx.Client) -> None:
    """2^35 fields, written in a few lines: weighed at once, refused with the number."""
    lines = [f"fragment f{n} on Node {{ ...f{n + 1} ...f{n + 1} }}" for n in range(35)]
    query = "\n".join(
        ['{ space { node(name: "a") { ...f0 } } }', *lines, "fragment f35 on Node { name }"]
    )
    assert f"costs {2**35 + 2:,}" in refused(client, query)


def test_what_is_slow_to_compare_is_refused_unread(client: httpx.Client) -> None:
    assert "'name' stands 700 times" in refused(client, "{ space { " + "name " * 700 + "} }")
    hidden = "... on Space { name } " * 200
    assert "'name' stands 200 times" in refused(client, f"{{ space {{ {hidden} }} }}")
    ask(client, "{ space { name name name } spaces { name } }")
    many = " ".join(f"fragment f{n} on Space {{ name }}" for n in range(41))
    assert "more than 40 fragments" in refused(client, "{ space { ...f0 } } " + many)
    spread = "{ space { " + "...f " * 81 + "} } fragment f on Space { name }"
    assert "more than 80 times" in refused(client, spread)


def test_fragments_in_a_circle_are_refused(client: httpx.Client) -> None:
    alone = "{ space { ...a } } fragment a on Space { ...a name }"
    assert "itself" in refused(client, alone)
    pair = "{ space { ...a } } fragment a on Space { ...b } fragment b on Space { ...a }"
    assert "itself" in refused(client, pair)
    nodes = """{ space { node(name: "a") { ...n } } }
      fragment n on Node { edges { items { target { ...n } } } }"""
    assert "itself" in refused(client, nodes)


def test_long_and_nested_texts_are_not_even_read(client: httpx.Client) -> None:
    assert "1,500 tokens" in refused(client, "{ space { " + "name " * 2_000 + "} }")
    assert "20,000" in refused(client, "{ spaces { name } } #" + "x" * 20_000)
    for opening in ("{ a ", "{ a(b: [", "{ a(b: {c: "):
        assert "nested more than 40 deep" in refused(client, opening * 400)
    assert refused(client, "{ spaces { name }")


def test_comments_and_strings_are_no_brackets(client: httpx.Client) -> None:
    brackets = "{" * 100
    query = f'{{ space {{ topics(glob: "{brackets}") {{ items {{ name }} }} }} }} # {brackets}'
    assert ask(client, query)["space"]["topics"]["items"] == []


def test_the_schema_cannot_be_asked_for_without_end(client: httpx.Client) -> None:
    deep = "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }"
    assert refused(client, deep)
    many = " ".join(f"a{n}: __schema {{ types {{ name }} }}" for n in range(11))
    assert "costs 22,000" in refused(client, f"{{ {many} }}")


def test_an_answer_has_a_size(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hades.serve.graphql.reading.CHARACTERS_AT_MOST", 60)
    query = "{ space { topics { items { state { content } } } } }"
    told = client.post("/", json={"query": query}).json()
    shown = [one["state"] for one in told["data"]["space"]["topics"]["items"]]
    assert shown[0] is not None
    assert shown[-1] is None
    assert "The answer holds more than 60 characters" in told["errors"][0]["message"]


def test_a_query_has_its_time(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hades.serve.graphql.reading.SECONDS_AT_MOST", -1.0)
    told = client.post("/", json={"query": "{ space { name change } }"}).json()
    assert told["errors"][0]["extensions"] == {"code": "Unavailable"}


def test_nothing_is_written(client: httpx.Client) -> None:
    assert refused(client, "mutation { forget }")
    assert refused(client, "subscription { changes }")
    several = "query a { spaces { name } } query b { spaces { name } }"
    assert "operationName" in refused(client, several)
    body = {"query": several, "operationName": "b"}
    assert client.post("/", json=body).status_code == 200
    assert client.post("/", json={**body, "operationName": "c"}).status_code == 400
    assert refused(client, "fragment a on Space { name }")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("{ nothing }", "Cannot query field 'nothing' on type 'Query' (line 1, column 3)."),
        ("{ space }", "must have a selection of subfields"),
        ("{ space { topic { name } } }", "is required"),
        ('{ space { topics(first: "2") { items { name } } } }', "cannot represent"),
        ("{ space(name: 3) { name } }", "cannot represent"),
        ("not a query", "Unexpected Name 'not'"),
        ("", "Unexpected <EOF>"),
        ("{ space { ...gone } }", "Unknown fragment"),
    ],
)
def test_bad_queries_are_told_why(client: httpx.Client, query: str, told: str) -> None:
    assert told in refused(client, query)


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
    answer = client.post("/", json={"query": f"{{ {inside} }}"})
    assert answer.status_code in (200, 400)
    for error in answer.json().get("errors", ()):
        assert error["message"]
        assert error["extensions"]["code"] in ("InvalidInput", "NotFound")


@given(st.text(max_size=200))
def test_any_text_is_refused_politely(client: httpx.Client, text: str) -> None:
    answer = client.post("/", json={"query": text.encode("utf-8", "replace").decode()})
    assert answer.status_code in (200, 400)
