"""A part of the graph as a chart of ECharts, which NiceGUI brings along.

The same graph always looks the same. Kinds differ by shape, groups by colour. All names reach the
browser as text, since the tooltip is drawn on the canvas and not as HTML.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import cos, sin, sqrt
from typing import Any

import igraph

from hades.domain.answer import Path, Subgraph, SubgraphEdge, SubgraphNode
from hades.domain.graph import Node
from hades.domain.plain import one_line

WIDTH = 1000
HEIGHT = 780
"""The room in which nodes are placed; the browser scales it."""
COLOURS = ("#3b82c4", "#c2661a", "#2e9e5b", "#a06bd0", "#d0508c", "#8a8f2a", "#1f9aa8")
"""Each has a contrast of at least 3 to 1 on the light and on the dark ground."""
REST = "Others"
REST_COLOUR = "#808890"
EDGE_COLOUR = "#a0a8b0"
LABELLED_NODES = 150
LABELLED_EDGES = 40
MANY_EDGES = 500
"""With more edges than these the chart would be slow to move, so the tooltip shows details such as
directions."""
KIND_WORDS = {"topic": "topic", "entity": "name", "chunk": "passage"}
_SHAPES = {"topic": "rect", "entity": "circle", "chunk": "diamond"}
_LABEL_CHARACTERS = 22
_TIP_CHARACTERS = 200
_PARTS = re.compile(r"(?<=[/.:#@])(?=[^\W\d])")
_PARTS_READ = 6
"""Matches where a part of a name begins, and how many of the last parts a label may show."""
_MOVES = 5_000
Place = tuple[float, float]
EdgeKey = tuple[Node, str, Node]


def key_of(node: SubgraphNode) -> Node:
    """Return the key of a node, as the ends of an edge name it."""
    return Node(node.kind, node.name)


def with_paths(graph: Subgraph, paths: Sequence[Path]) -> tuple[Subgraph, set[EdgeKey]]:
    """Return a graph with the nodes and edges of paths added to it, and the keys of these edges."""
    nodes = {key_of(node): node for node in graph.nodes}
    edges = {edge_key(edge): edge for edge in graph.edges}
    on_path = {edge_key(edge): edge for path in paths for edge in path.edges()}
    for path in paths:
        for hops, node in enumerate(path.nodes):
            nodes.setdefault(node, SubgraphNode(node.kind, node.name, hops, 1))
    drawn = Subgraph(tuple(nodes.values()), tuple((on_path | edges).values()), graph.left_out)
    return drawn, set(on_path)


def edge_key(edge: SubgraphEdge) -> EdgeKey:
    """Return the key of an edge in a drawing."""
    return edge.source, edge.relation, edge.target


def by_topic(graph: Subgraph) -> Subgraph:
    """Return a graph in which a topic stands for its passages: people think of whole notes."""
    nodes = {topic_of(key_of(node)): node for node in graph.nodes}
    links: Counter[Node] = Counter()
    for node in graph.nodes:
        links[topic_of(key_of(node))] += node.degree
    whole = [replace(node, kind=key.kind, name=key.name, degree=links[key])
             for key, node in nodes.items()]  # fmt: skip
    moved = [replace(edge, source=topic_of(edge.source), target=topic_of(edge.target))
             for edge in graph.edges]  # fmt: skip
    edges = {edge_key(edge): edge for edge in moved if edge.source != edge.target}
    return Subgraph(tuple(whole), tuple(edges.values()), graph.left_out)


def topic_of(node: Node) -> Node:
    """Return the topic of a passage; another node is its own."""
    return Node("topic", node.name.rpartition("@")[0]) if node.kind == "chunk" else node


def as_igraph(graph: Subgraph) -> igraph.Graph:
    """Return the graph for igraph's algorithms."""
    numbers = {key_of(node): number for number, node in enumerate(graph.nodes)}
    ends = [(numbers[edge.source], numbers[edge.target]) for edge in graph.edges]
    drawn = igraph.Graph(n=len(numbers), edges=ends, directed=True)
    drawn.es["weight"] = [max(edge.weight, 0.01) for edge in graph.edges]
    return drawn


def layout(graph: Subgraph, known: Mapping[Node, Place]) -> list[Place]:
    """Return the place of each node (Kamada and Kawai, 1989), starting from the `known` places."""
    middle = [
        (WIDTH / 2 + 99 * cos(at), HEIGHT / 2 + 99 * sin(at)) for at in range(len(graph.nodes))
    ]
    start = [
        known.get(key_of(node), place) for node, place in zip(graph.nodes, middle, strict=True)
    ]
    places = (
        as_igraph(graph).layout_kamada_kawai(seed=start, maxiter=_MOVES).coords if start else []
    )
    across, down = ([place[axis] for place in places] for axis in (0, 1))
    return list(zip(_spread(across, WIDTH), _spread(down, HEIGHT), strict=True))


def _spread(values: Sequence[float], room: int) -> list[float]:
    """Return values from 0 to `room`, half by value and half by rank, so that they do not crowd
    together."""
    low = min(values, default=0)
    wide = max(values, default=0) - min(values, default=0)
    if wide < 1e-6:
        return [room / 2] * len(values)
    ranks = {value: rank for rank, value in enumerate(sorted({*values}))}
    shares = [(value - low) / wide + ranks[value] / (len(ranks) - 1) for value in values]
    return [round(share / 2 * room, 1) for share in shares]


def groups_of(graph: Subgraph) -> list[str]:
    """Return the group that colours each node: the part of the graph that it is in.

    A part is called by its most linked node (Clauset, Newman and Moore, 2004). Small parts share
    a group.
    """
    drawn = as_igraph(graph).as_undirected(combine_edges={"weight": "sum"})
    parts = drawn.community_fastgreedy(weights="weight").as_clustering().membership
    largest = [part for part, _ in Counter(parts).most_common(len(COLOURS))]
    names: dict[int, str] = {}
    for part, node in sorted(zip(parts, graph.nodes, strict=True), key=lambda it: it[1].degree):
        names[part] = node.name
    return [names[part] if part in largest else REST for part in parts]


def colours_of(groups: Sequence[str]) -> dict[str, str]:
    """Return the colour of each group, the most frequent first and the rest last."""
    names = [name for name, _ in Counter(groups).most_common() if name != REST]
    return dict(zip(names, COLOURS, strict=False)) | {REST: REST_COLOUR}


def chart(
    graph: Subgraph,
    places: Sequence[Place],
    sizes: Sequence[float],
    groups: Sequence[str],
    on_path: Collection[EdgeKey] = (),
    chosen: int | None = None,
) -> dict[str, Any]:
    """Return the options of an ECharts graph. Keys that begin with a colon are JavaScript."""
    numbers = {key_of(node): number for number, node in enumerate(graph.nodes)}
    largest = max(sizes, default=0) or 1
    colours = colours_of(groups)
    labelled = set(sorted(range(len(sizes)), key=lambda number: -sizes[number])[:LABELLED_NODES])
    many = len(graph.edges) > MANY_EDGES
    room = 26 if len(graph.nodes) < 40 else 14
    names = short_names([node.name for node in graph.nodes])
    nodes = [
        _node(number, place, name, value=node.degree, selected=number == chosen,
              tip=cut(f"{node.name}, {KIND_WORDS[node.kind]}, {node.degree} links"),
              symbol=_SHAPES[node.kind], symbolSize=round(8 + room * sqrt(size / largest), 1),
              itemStyle={"color": colours[group]}, label={"show": number in labelled})
        for number, (node, name, place, size, group)
        in enumerate(zip(graph.nodes, names, places, sizes, groups, strict=True))
    ]  # fmt: skip
    links = []
    for edge in graph.edges:
        source = numbers[edge.source]
        target = numbers[edge.target]
        marked = (edge.source, edge.relation, edge.target) in on_path
        style: dict[str, Any] = {"width": 4 if marked else (0.5 + edge.weight) / (1 + many)}
        style |= {":color": colour("accent")} if marked else {}
        tip = cut(f"{edge.source} {edge.relation} {edge.target}, {edge.weight:.2f}")
        links.append({"source": source, "target": target, "value": edge.weight, "tip": tip,
                      "lineStyle": style})  # fmt: skip
        if len(graph.edges) <= LABELLED_EDGES:
            # ECharts misplaces labels of edges if labels may be hidden: a node without a shape.
            (x1, y1), (x2, y2) = places[source], places[target]
            words = cut(edge.relation.replace("_", " "), _LABEL_CHARACTERS)
            nodes.append(_node(f"edge {len(links)}", ((x1 + x2) / 2, (y1 + y2) / 2), words,
                               value=0, symbolSize=0.1,
                               label=_LABEL | {"position": "inside", "fontSize": 11}))  # fmt: skip
    series = {
        "type": "graph", "data": nodes, "links": links, "roam": True, "roamTrigger": "global",
        "zoom": 0.9, "center": [WIDTH / 2, HEIGHT / 2], "scaleLimit": {"min": 0.2, "max": 20},
        "edgeSymbol": ["none", "none" if many else "arrow"], "edgeSymbolSize": 7,
        "lineStyle": {"color": EDGE_COLOUR, "opacity": 1},
        "label": _LABEL | {"position": "bottom"}, "labelLayout": {"hideOverlap": True},
        "selectedMode": "single", "emphasis": {"focus": "adjacency"},
        "select": {"itemStyle": {":borderColor": colour("text"), "borderWidth": 3}},
    }  # fmt: skip
    return {"animation": False, "tooltip": TOOLTIP, "series": [series]}


def short_names(names: Sequence[str]) -> list[str]:
    """Return a short label for each name; different names get different labels.

    Of a long name the last parts are shown: of `requests.sessions.Session.request`, it is
    `Session.request`.
    """
    tails = [_tails(one_line(name)) for name in names]
    often = Counter(tail for several in tails for tail in several)
    shown = []
    for several in tails:
        fitting = [tail for tail in several if len(tail) <= _LABEL_CHARACTERS] or several[:1]
        longer = [tail for tail in several if len(tail) >= len(fitting[-1])]
        tail = next((tail for tail in longer if often[tail] == 1), fitting[-1])
        over = len(tail) > _LABEL_CHARACTERS
        shown.append(f"{tail[: _LABEL_CHARACTERS - 13]}…{tail[-12:]}" if over else tail)
    return shown


def _tails(name: str) -> list[str]:
    """Return the ends of a name that begin at one of its parts, the shortest first."""
    parts = _PARTS.split(name)[-_PARTS_READ:]
    tails = ["".join(parts[at:]) for at in reversed(range(len(parts)))]
    return tails if tails[-1] == name else [*tails, name]


def _node(number: int | str, place: Place, name: str, **given: Any) -> dict[str, Any]:
    return {"id": str(number), "name": name, "x": place[0], "y": place[1], **given}


def colour(name: str) -> str:
    """Return JavaScript that reads a colour of the theme as the page shows it now."""
    return (
        "(() => { const probe = document.body.appendChild(document.createElement('i')); "
        f"probe.style.color = 'var(--{name})'; const {{color}} = getComputedStyle(probe); "
        "probe.remove(); return color })()"
    )


_LABEL = {"show": True, ":color": colour("text"), "minMargin": 6, "textBorderWidth": 2,
          ":textBorderColor": colour("surface")}  # fmt: skip
TOOLTIP = {"renderMode": "richText", "confine": True, ":formatter": "(it) => it.data.tip"}


def cut(words: str, most: int = _TIP_CHARACTERS) -> str:
    """Return words on one line, with `…` in place of what is too long."""
    words = one_line(words)
    return words if len(words) <= most else f"{words[: most - 1]}…"
