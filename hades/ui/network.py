"""A part of the graph as SVG and as GraphML. The same graph is always drawn alike.

All names are escaped here. Kinds differ by shape as well as by colour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from hades.domain.answer import Subgraph, SubgraphEdge, SubgraphNode
from hades.domain.plain import one_line
from hades.graph.arrays import Floats

WIDTH, HEIGHT = 1000, 640
LABELLED_NODES = 60
"""Of more nodes, the largest have labels; the others say their name under the pointer."""
LABELLED_EDGES = 40
_MARGIN, _ROUNDS, _CHARACTERS = 46, 150, 24
_GOLDEN_ANGLE = 2.39996
_DAMPING = 0.85
_STYLE = (
    "text{font:12px sans-serif;fill:#1b1e21}.edge{stroke:#8a929a}.label{font-size:10px;"
    "fill:#555d66}.topic{fill:#d3e5f7}.entity{fill:#d9efdc}.chunk{fill:#fbe8bd}"
    ".shape{stroke:#555d66}.chosen .shape{stroke:#0a5a9c;stroke-width:4}"
)

Key = tuple[str, str]
"""The kind and the name of a node."""


def key_of(node: SubgraphNode) -> Key:
    """Return what tells a node from all others."""
    return node.kind, node.name


def ends_of(edge: SubgraphEdge) -> tuple[Key, Key]:
    """Return the keys of both ends of an edge."""
    return (edge.source.kind, edge.source.name), (edge.target.kind, edge.target.name)


def page_rank(graph: Subgraph) -> Floats:
    """Return the PageRank of each node among those drawn; edges lead both ways."""
    links = _links(graph)
    share = links / np.maximum(links.sum(axis=0), 1e-9)
    count = max(1, len(graph.nodes))
    rank = np.full(len(graph.nodes), 1 / count)
    for _ in range(40):
        rank = (1 - _DAMPING) / count + _DAMPING * (share @ rank)
    return rank


def layout(graph: Subgraph) -> Floats:
    """Return the place of each node in the drawing (Fruchterman and Reingold, 1991)."""
    count, links = len(graph.nodes), _links(graph) > 0
    angles = np.arange(count) * _GOLDEN_ANGLE
    places = np.sqrt(np.arange(count) / max(1, count))[:, None] * np.stack(
        [np.cos(angles), np.sin(angles)], axis=1
    )
    ideal = 1.6 / np.sqrt(max(1, count))
    for step in range(_ROUNDS):
        lengths = (places**2).sum(axis=1)
        squares = np.maximum(lengths[:, None] + lengths - 2 * places @ places.T, 1e-6)
        force = ideal**2 / squares - links * np.sqrt(squares) / ideal
        move = places * (force.sum(axis=1, keepdims=True) - 0.3) - force @ places
        length = np.maximum(np.sqrt((move**2).sum(axis=1, keepdims=True)), 1e-9)
        places = places + move / length * np.minimum(length, 0.12 * (1 - step / _ROUNDS))
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.array([WIDTH - 2 * _MARGIN, HEIGHT - 2 * _MARGIN])
    spread = np.where(high - low > 1e-6, high - low, 1)
    middle = np.where(high - low > 1e-6, 0, room / 2)
    placed: Floats = _MARGIN + middle + (places - low) / spread * room
    return placed


def drawn_network(
    graph: Subgraph,
    sizes: Floats,
    chosen: Key | None = None,
    address: Callable[[SubgraphNode], str] | None = None,
) -> str:
    """Return an SVG of a graph, each node a link if `address` is given; else with its own style."""
    places = layout(graph)
    place_of = {key_of(node): place for node, place in zip(graph.nodes, places, strict=True)}
    radius = 7 + 13 * np.sqrt(sizes / max(float(sizes.max(initial=0)), 1e-9))
    order = np.argsort(-sizes, kind="stable")
    labelled = set(order[:LABELLED_NODES].tolist())
    parts = [_edge(edge, place_of, len(graph.edges) <= LABELLED_EDGES) for edge in graph.edges]
    for index in reversed(order.tolist()):
        node = graph.nodes[index]
        shape = _node(node, places[index], float(radius[index]), index in labelled)
        told = _safe(f"{node.name}, {node.kind}, {node.degree} links", 300)
        mark = ' class="chosen"' if key_of(node) == chosen else ""
        shape = f"<g{mark}><title>{told}</title>{shape}</g>"
        if address is not None:
            shape = f'<a href="{escape(address(node))}" data-node="{index}">{shape}</a>'
        parts.append(shape)
    style = "" if address else f"<style>{_STYLE}</style>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}">{style}{"".join(parts)}</svg>'
    )


def graphml(graph: Subgraph) -> str:
    """Return a graph as GraphML, for Gephi, yEd, NetworkX and igraph."""
    ids = {key_of(node): f"n{number}" for number, node in enumerate(graph.nodes)}
    keys = [("node", name, "string") for name in ("name", "kind")]
    keys += [("edge", "relation", "string"), ("edge", "weight", "double")]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        *(f'<key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>'
          for of, name, kind in keys),
        '<graph edgedefault="directed">',
    ]  # fmt: skip
    for node in graph.nodes:
        data = _data("name", node.name) + _data("kind", node.kind)
        lines.append(f'<node id="{ids[key_of(node)]}">{data}</node>')
    for edge in graph.edges:
        source, target = (ids[end] for end in ends_of(edge))
        data = _data("relation", edge.relation) + _data("weight", str(edge.weight))
        lines.append(f'<edge source="{source}" target="{target}">{data}</edge>')
    return "\n".join([*lines, "</graph>", "</graphml>", ""])


def _links(graph: Subgraph) -> Floats:
    """Return the matrix of weights between nodes, the same in both directions."""
    numbers = {key_of(node): number for number, node in enumerate(graph.nodes)}
    links = np.zeros((len(numbers), len(numbers)))
    for edge in graph.edges:
        one, other = (numbers[end] for end in ends_of(edge))
        if one != other:
            links[one, other] = links[other, one] = max(links[one, other], edge.weight, 0.01)
    return links


def _node(node: SubgraphNode, place: Sequence[float], radius: float, labelled: bool) -> str:
    x, y = place
    kind = node.kind if node.kind in ("topic", "chunk") else "entity"
    if kind == "entity":
        shape = f'<circle class="shape entity" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'
    else:
        side, turn = 1.7 * radius, f' transform="rotate(45 {x:.1f} {y:.1f})"' * (kind == "chunk")
        shape = (
            f'<rect class="shape {kind}" x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" rx="3" '
            f'width="{side:.1f}" height="{side:.1f}"{turn}/>'
        )
    if not labelled:
        return shape
    name, below = _safe(node.name, _CHARACTERS), y + radius + 13
    anchor = "start" if x < 2 * _MARGIN else "end" if x > WIDTH - 2 * _MARGIN else "middle"
    from_x = x - radius if anchor == "start" else x + radius if anchor == "end" else x
    return f'{shape}<text x="{from_x:.1f}" y="{below:.1f}" text-anchor="{anchor}">{name}</text>'


def _edge(edge: SubgraphEdge, places: dict[Key, Floats], labelled: bool) -> str:
    (x1, y1), (x2, y2) = (places[end] for end in ends_of(edge))
    told = _safe(f"{edge.source.name} {edge.relation} {edge.target.name}, {edge.weight:.2f}", 500)
    line = (
        f'<line class="edge" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke-width="{0.6 + 2 * min(1.0, edge.weight):.1f}"/>'
    )
    if labelled:
        name = _safe(edge.relation, _CHARACTERS)
        middle = f'x="{(x1 + x2) / 2:.1f}" y="{(y1 + y2) / 2:.1f}" text-anchor="middle"'
        arrow = f"{name} →" if x2 >= x1 else f"← {name}"
        line += f'<text class="label" {middle}>{arrow}</text>'
    return f"<g><title>{told}</title>{line}</g>"


def _data(key: str, value: str) -> str:
    return f'<data key="{key}">{escape(one_line(value))}</data>'


def _safe(words: str, most: int) -> str:
    words = one_line(words)
    return escape(words if len(words) <= most else f"{words[: most - 1]}…")
