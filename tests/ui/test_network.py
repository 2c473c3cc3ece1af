"""A part of the graph as a chart, without a browser."""

from __future__ import annotations

import hades
from hades.ui.network import (
    COLOURS,
    REST,
    by_topic,
    chart,
    colours_of,
    groups_of,
    key_of,
    layout,
    short_names,
    with_paths,
)

ANN, GUIDE, PART = (
    hades.Node("entity", "Ann"),
    hades.Node("topic", "guide"),
    hades.Node("chunk", "guide@1#0"),
)
SCRIPT = hades.Node("entity", "<script>alert(1)</script>\n{a|b}")


def graph_of(*edges: tuple[hades.Node, str, hades.Node], left_out: int = 0) -> hades.Subgraph:
    nodes = dict.fromkeys(node for source, _, target in edges for node in (source, target))
    return hades.Subgraph(
        tuple(hades.SubgraphNode(node.kind, node.name, 1, 1) for node in nodes),
        tuple(hades.SubgraphEdge(*edge, weight=0.5) for edge in edges),
        left_out,
    )


SMALL = graph_of((GUIDE, "says", PART), (PART, "mentions", ANN), (ANN, "led_by", SCRIPT))


def test_the_same_graph_is_drawn_alike_and_grows_from_where_it_was() -> None:
    places = layout(SMALL, {})
    assert places == layout(SMALL, {})
    known = dict(zip(map(key_of, SMALL.nodes), places, strict=True))
    larger = graph_of(*((edge.source, edge.relation, edge.target) for edge in SMALL.edges),
                      (ANN, "knows", hades.Node("entity", "Bob")))  # fmt: skip
    assert len(layout(larger, known)) == 5
    assert layout(hades.Subgraph((), ()), {}) == []


def test_parts_of_a_graph_have_a_colour_each_and_small_ones_share_one() -> None:
    apart = graph_of(*((hades.Node("entity", f"{part}"), "knows", hades.Node("entity", f"{part}b"))
                       for part in range(len(COLOURS) + 2)))  # fmt: skip
    groups = groups_of(apart)
    assert groups[0] == groups[1]
    assert groups.count(REST) == 4
    assert len(colours_of(groups)) == len(COLOURS) + 1
    assert groups_of(hades.Subgraph((), ())) == []


def test_a_topic_stands_for_its_passages() -> None:
    drawn = by_topic(SMALL)
    assert [(node.kind, node.name) for node in drawn.nodes] == [
        ("topic", "guide"),
        ("entity", "Ann"),
        ("entity", SCRIPT.name),
    ]
    assert [(edge.source, edge.relation, edge.target) for edge in drawn.edges] == [
        (GUIDE, "mentions", ANN),
        (ANN, "led_by", SCRIPT),
    ]


def test_long_names_are_shown_by_the_part_that_tells_them_apart() -> None:
    names = [
        "requests.sessions.Session.request",
        "requests.sessions.Session",
        "guides/one/reference/http/index.md",
        "guides/two/reference/http/index.md",
        "meeting 2025-11-06 5.0 planning",
        "Ann Miller",
        "x" * 5_000,
        "a/" * 300,
    ]
    shown = short_names(names)
    assert shown[:2] == ["Session.request", "sessions.Session"]
    assert shown[5] == "Ann Miller"
    assert len(set(shown)) == len(names)
    assert max(map(len, shown)) <= 22


def test_a_path_is_added_to_the_drawing_and_marked() -> None:
    step = hades.Step("knows", hades.Node("entity", "Bob"), 0.5, forward=False)
    path = hades.Path(ANN, (step,), 1.0, hades.Interval(0.9, 0.8, 1.0))
    drawn, on_path = with_paths(SMALL, [path])
    assert len(drawn.nodes) == 5
    assert on_path == {(hades.Node("entity", "Bob"), "knows", ANN)}
    groups = groups_of(drawn)
    series = chart(drawn, layout(drawn, {}), [1.0] * 5, groups, on_path)["series"][0]
    assert [link["lineStyle"]["width"] for link in series["links"]].count(4) == 1
    assert series["edgeSymbol"] == ["none", "arrow"]


def test_names_reach_the_browser_as_text_and_cut() -> None:
    long = graph_of((hades.Node("entity", "x" * 5_000), ":relation", SCRIPT))
    options = chart(long, layout(long, {}), [1.0, 1.0], groups_of(long))
    assert options["tooltip"]["renderMode"] == "richText"
    first, second, relation = options["series"][0]["data"]
    assert len(first["name"]) == 22
    assert len(first["tip"]) == 200
    assert "\n" not in second["tip"]
    assert relation["name"] == ":relation"
