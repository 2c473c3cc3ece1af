"""A part of the graph as a chart and as GraphML, without a browser."""

from __future__ import annotations

import io

import networkx
import pytest

from hades.domain.answer import Interval, Path, Step, Subgraph, SubgraphEdge, SubgraphNode
from hades.domain.graph import Node
from hades.ui.network import (
    COLOURS,
    REST,
    chart,
    colours_of,
    graphml,
    groups_of,
    key_of,
    layout,
    page_rank,
    with_paths,
)

ANN, GUIDE, PART = Node("entity", "Ann"), Node("topic", "guide"), Node("chunk", "guide@1#0")
SCRIPT = Node("entity", "<script>alert(1)</script>\n{a|b}")


def graph_of(*edges: tuple[Node, str, Node], left_out: int = 0) -> Subgraph:
    nodes = dict.fromkeys(node for source, _, target in edges for node in (source, target))
    return Subgraph(
        tuple(SubgraphNode(node.kind, node.name, 1, 1) for node in nodes),
        tuple(SubgraphEdge(*edge, weight=0.5) for edge in edges),
        left_out,
    )


SMALL = graph_of((GUIDE, "says", PART), (PART, "mentions", ANN), (ANN, "led_by", SCRIPT))


def test_graphml_is_read_by_other_tools_with_names_as_they_are() -> None:
    read = networkx.read_graphml(io.BytesIO(graphml(SMALL).encode()))
    names = [data["name"] for _, data in read.nodes(data=True)]
    assert names == ["guide", "guide@1#0", "Ann", "<script>alert(1)</script>�{a|b}"]
    assert [data["relation"] for *_, data in read.edges(data=True)] == [
        "says",
        "mentions",
        "led_by",
    ]


def test_the_same_graph_is_drawn_alike_and_grows_from_where_it_was() -> None:
    places = layout(SMALL, {})
    assert places == layout(SMALL, {})
    known = dict(zip(map(key_of, SMALL.nodes), places, strict=True))
    larger = graph_of(*((edge.source, edge.relation, edge.target) for edge in SMALL.edges),
                      (ANN, "knows", Node("entity", "Bob")))  # fmt: skip
    assert len(layout(larger, known)) == 5
    assert layout(Subgraph((), ()), {}) == []


def test_colours_show_kind_or_topic_and_sizes_pagerank() -> None:
    assert groups_of(SMALL, by_topic=False) == ["Topic", "Passage", "Name", "Name"]
    assert groups_of(SMALL, by_topic=True) == ["guide", "guide", "guide", REST]
    assert sum(page_rank(SMALL)) == pytest.approx(1)
    many = [f"topic {number}" for number in range(20)] + [REST]
    assert len(colours_of(many)) == len(COLOURS) + 1


def test_a_path_is_added_to_the_drawing_and_marked() -> None:
    step = Step("knows", Node("entity", "Bob"), 0.5, forward=False)
    path = Path(ANN, (step,), 1.0, Interval(0.9, 0.8, 1.0))
    drawn, on_path = with_paths(SMALL, [path])
    assert len(drawn.nodes) == 5
    assert on_path == {(Node("entity", "Bob"), "knows", ANN)}
    groups = groups_of(drawn, by_topic=False)
    series = chart(drawn, layout(drawn, {}), [1.0] * 5, groups, on_path)["series"][0]
    assert [link["lineStyle"]["width"] for link in series["links"]].count(4) == 1
    assert series["edgeSymbol"] == ["none", "arrow"]


def test_names_reach_the_browser_as_text_and_cut() -> None:
    long = graph_of((Node("entity", "x" * 5_000), ":relation", SCRIPT))
    options = chart(long, layout(long, {}), [1.0, 1.0], groups_of(long, by_topic=False))
    assert options["tooltip"]["renderMode"] == "richText"
    first, second, relation = options["series"][0]["data"]
    assert len(first["name"]) == 24
    assert len(first["tip"]) == 200
    assert "\n" not in second["tip"]
    assert relation["name"] == ":relation"
