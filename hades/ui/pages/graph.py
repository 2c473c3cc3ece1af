"""Graph: the nodes and edges around some names, drawn, filtered and explained at the side."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from nicegui import ui
from nicegui.element import Element

from hades.domain.answer import Path, Subgraph, SubgraphNode
from hades.domain.graph import Edge, Entity, Mentioned, Node
from hades.domain.plain import counted, one_line
from hades.domain.statement import statement
from hades.domain.topics import Topic
from hades.errors import InvalidInput, NotFound
from hades.serve.write_groups import WriteGroup, fact_of
from hades.ui import network
from hades.ui.cards import chunk_address, chunk_card, path_card
from hades.ui.controls import box, button, empty, field, form, link, select, text
from hades.ui.frame import Frame, no_notes, page
from hades.ui.pages.topics import as_glob

NODES_AT_FIRST = 60
NODES = 100
NODES_AT_MOST = 1_000
NAMES_AT_MOST = 20
"""The most nodes that may be expanded at once."""
LISTED = 30
MATCHES = 5
NAMES_LOOKED_AT = 1_000
EDGES_AT_MOST = 1_000
_CHOICES: dict[str, tuple[str, dict[str, str]]] = {
    "hops": ("How far", {"1": "1 step", "2": "2 steps", "3": "3 steps"}),
    "kind": ("Kind of node", {"": "Names and topics", "topic": "Topics", "entity": "Names",
                              "chunk": "With passages"}),
    "weight": ("Least weight", {"": "Any weight", "0.25": "Weight ≥ 0.25", "0.5": "Weight ≥ 0.5",
                                "0.75": "Weight ≥ 0.75"}),
}  # fmt: skip
_OF_EDGES = ("hops", "weight", "relation")
"""The choices of edges to follow, which need a name to start from."""
_FACT_FIELDS = {
    "relation": "Relation, such as led_by",
    "target": "The name or topic it leads to",
    "valid_from": "Since, such as 2024-02-01 (now)",
    "valid_to": "Until (open)",
}
_SAVE = """() => {{ const link = document.createElement("a");
  link.href = getElement({0}).run_chart_method("getDataURL", {{type: "png", pixelRatio: 2,
    backgroundColor: getComputedStyle(document.body).backgroundColor}});
  link.download = "graph.png"; link.click() }}"""
_KEYS = """(event) => {{ const chart = getElement({0}), step = {{ArrowLeft: [-60, 0],
    ArrowRight: [60, 0], ArrowUp: [0, -60], ArrowDown: [0, 60], "+": 1.25, "-": 0.8}}[
    event.key ?? event.target.textContent];
  if (!step || event.ctrlKey) return;
  event.preventDefault();
  const {{zoom, center}} = chart.run_chart_method("getOption").series[0];
  chart.run_chart_method("setOption", {{series: [typeof step === "number" ? {{zoom: zoom * step}}
    : {{center: [center[0] + step[0] / zoom, center[1] + step[1] / zoom]}}]}}) }}"""
Make = Callable[[str, WriteGroup], Awaitable[None]]
_PLACES: WeakKeyDictionary[Frame, dict[Node, network.Place]] = WeakKeyDictionary()
"""The last places of the nodes of each page, so that nodes stay near them when time or filters
change."""


@page("/graph", "Graph")
async def graph(frame: Frame) -> None:
    """Draw the graph around the names in the address, or else the most linked nodes of the
    space."""
    query = frame.query
    names = _names(frame.query)
    wanted = query.get("search", "")
    text("Graph", "", "h1")
    with form(lambda given: frame.show(search=given.get("search"))):
        label = "Part of a name or topic to start from"
        field("search", label, wanted, "grow", type="search")
        text("Search", "act main", "button", type="submit")
    if wanted and not names:
        names = await _matching(frame, wanted)
        if not names:
            empty(f"No name or topic matches “{wanted[:100]}”.", then="Show what is most linked",
                  href=frame.address("/graph"))  # fmt: skip
            return
    relation = query.get("relation")
    hops = query.get("hops", "")
    weight = query.get("weight", "")
    chosen = {"hops": int(hops) if hops in _CHOICES["hops"][1] else 1,
              "relation": [relation] if relation else None,
              "least_weight": float(weight) if weight and weight in _CHOICES["weight"][1] else 0.0,
              } if names else {}  # fmt: skip
    limit = NODES_AT_MOST if query.get("most") else NODES if names else NODES_AT_FIRST
    around: Subgraph = await frame.call("subgraph", names=names, limit=limit, **chosen)
    if not around.nodes:
        no_notes(frame)
        return
    paths = await _paths(frame, names) if names else []
    _filters(frame, around, names)
    shown, on_path = network.with_paths(around, paths)
    if query.get("kind") != "chunk":
        shown = network.by_topic(shown)
        on_path = {(network.topic_of(source), relation, network.topic_of(target))
                   for source, relation, target in on_path}  # fmt: skip
    shown = _of_kind(shown, query.get("kind", ""), names)
    with box("two").style("margin-top: 12px"):
        place = box("stack")
        details = box("stack", "section", **{"aria-label": "Details"})
    await _picture(frame, shown, on_path, place, details)
    with place:
        for number, path in enumerate(paths, 1):
            path_card(frame, number, path)


async def _paths(frame: Frame, names: list[str]) -> list[Path]:
    """Draw the field for a name to find a path to, and return the paths to it."""
    wanted = frame.query.get("to", "")
    paths = list[Path]()
    with form(lambda given: frame.show(**{**frame.query, "to": given.get("to")})) as to:
        to.style("margin-top: 8px")
        field("to", "Name or topic to find a path to", wanted, "grow", type="search")
        text("Find a path", "act", "button", type="submit")
    if wanted:
        with frame.errors():
            paths = await frame.call("paths", source=names[0], target=wanted, limit=3)
            if not paths:
                text("No path of three steps joins these two.", "note", "p", role="status")
    return paths


def _names(query: dict[str, str]) -> list[str]:
    """Return the expanded names: `name`, `name2`, `name3` … of the address."""
    names = [query.get(f"name{number if number > 1 else ''}") for number in range(1, 99)]
    given = list(dict.fromkeys(name for name in names if name))
    if len(given) > NAMES_AT_MOST:
        raise InvalidInput(f"At most {NAMES_AT_MOST} nodes are expanded at once.")
    return given


async def _matching(frame: Frame, wanted: str) -> list[str]:
    """Return names and topics that match a search, the most linked names first."""
    glob = as_glob(wanted)
    entities: list[Entity] = await frame.call("entities", glob=glob, limit=NAMES_LOOKED_AT)
    topics: list[Topic] = await frame.call("topics", glob=glob, limit=MATCHES)
    entities.sort(key=lambda entity: (-entity.edges - entity.frequency, entity.name))
    names = [it.name for it in entities[:MATCHES]] + [it.name for it in topics]
    return list(dict.fromkeys(names))


def _filters(frame: Frame, around: Subgraph, names: list[str]) -> None:
    """Draw the choices; a choice takes effect at once and stays in the address."""
    relations = (frame.query.get("relation", ""), *sorted({it.relation for it in around.edges}))
    words = {"": "All relations", **{name: one_line(name)[:40] for name in relations if name}}
    choices = {**_CHOICES, "relation": ("Relation", words)}
    with box("line").style("margin-top: 12px"):
        for name, (label, options) in choices.items():
            if names or name not in _OF_EDGES:
                choose = partial(lambda name, it: frame.show(**{**frame.query, name: it}), name)
                select(name, label, options, frame.query.get(name, ""), choose)


def _of_kind(around: Subgraph, kind: str, names: list[str]) -> Subgraph:
    """Return the nodes of a kind with the named ones, and the edges among them."""
    if kind not in ("topic", "entity"):
        return around
    nodes = tuple(node for node in around.nodes if node.kind == kind or node.name in names)
    keys = {network.key_of(node) for node in nodes}
    edges = tuple(edge for edge in around.edges if {edge.source, edge.target} <= keys)
    return Subgraph(nodes, edges, around.left_out)


async def _picture(
    frame: Frame, shown: Subgraph, on_path: set[network.EdgeKey], place: Element, details: Element
) -> None:
    """Draw the chart with its legend, the list of its nodes, and the details of the chosen one."""
    sizes = [float(node.degree) for node in shown.nodes]
    groups = network.groups_of(shown)
    places = await asyncio.to_thread(network.layout, shown, _PLACES.get(frame, {}))
    keys = [network.key_of(node) for node in shown.nodes]
    _PLACES[frame] = dict(zip(keys, places, strict=True))
    wanted = Node(frame.query.get("of", ""), frame.query.get("node", ""))
    chosen = keys.index(wanted) if wanted in keys else 0
    options = network.chart(shown, places, sizes, groups, on_path, chosen)

    def choose(number: int) -> None:
        node = shown.nodes[number]
        frame.note(**{**frame.query, "of": node.kind, "node": node.name})
        drawn.run_chart_method("dispatchAction", {"type": "select", "dataIndex": number})
        frame.draw_in(details, partial(_details, frame, node, details))

    with place:
        drawn = _chart(options, choose)
        with box("line small", "ul", **{"aria-label": "Colours"}):
            for name, colour in network.colours_of(groups).items():
                if name in groups:
                    with box("chip", "li"):
                        text("● ").style(f"color: {colour}")
                        text(f"{one_line(name)[:60]} ({groups.count(name)})")
        _saving(shown, drawn)
        if shown.left_out:
            _left_out(frame, shown)
        nodes = box("card stack", "section", **{"aria-label": "Nodes"})
        frame.draw_in(nodes, partial(_nodes, frame, shown, choose, nodes))
    if shown.nodes:
        frame.draw_in(details, partial(_details, frame, shown.nodes[chosen], details))


def _chart(options: dict[str, Any], choose: Callable[[int], None]) -> ui.echart:
    """Draw the chart. Arrow keys move it and + and - zoom, as dragging and the wheel do."""

    def clicked(event: Any) -> None:
        if event.data_type == "node" and event.data["id"].isdecimal():
            choose(event.data_index)

    label = "The graph, drawn. Arrow keys move it, plus and minus zoom."
    with box("card network", tabindex=0, role="application", **{"aria-label": label}) as place:
        drawn = ui.echart(options, on_point_click=clicked)
        keys = _KEYS.format(drawn.id)
        with box("line zoom"):
            for sign, title in (("+", "Zoom in"), ("-", "Zoom out")):
                pressed = text(sign, "act small", "button", type="button", title=title)
                pressed.on("click", js_handler=keys)
    place.on("keydown", js_handler=keys)
    return drawn


def _saving(shown: Subgraph, drawn: ui.echart) -> None:
    with box("line small"):
        text("■ topic   ● name   ◆ passage", "muted").style("white-space: pre-wrap")
        text(f"{counted(len(shown.nodes), 'node')}, {counted(len(shown.edges), 'edge')}", "muted")
        png = text("PNG", "act small", "button", type="button", title="Save the drawing")
        png.on("click", js_handler=_SAVE.format(drawn.id))


async def _nodes(
    frame: Frame, shown: Subgraph, choose: Callable[[int], None], place: Element, most: int = LISTED
) -> None:
    """List the nodes that are drawn, for visitors who do not use a pointer."""
    text("Nodes, nearest first", "", "h2")
    with box("line"):
        for number, node in enumerate(shown.nodes[:most]):
            button(one_line(node.name)[:60], partial(choose, number), "small")
    if len(shown.nodes) > most:
        more = partial(_nodes, frame, shown, choose, place, len(shown.nodes))
        with box("line"):
            button(f"List all {len(shown.nodes):,}", lambda: frame.draw_in(place, more))


def _left_out(frame: Frame, shown: Subgraph) -> None:
    with box("note line", role="status"):
        text(f"The {len(shown.nodes):,} nearest nodes are drawn, strongest links first; "
             f"{counted(shown.left_out, 'neighbour')} of theirs are left out.")  # fmt: skip
        if frame.query.get("most"):
            text("Choose a relation, a weight or fewer steps to see the others.")
            return
        more = {**frame.query, "most": "1"}
        button(f"Draw up to {NODES_AT_MOST:,}", lambda: frame.show(**more))


async def _details(
    frame: Frame, node: SubgraphNode, place: Element, edges_listed: int = LISTED
) -> None:
    """Draw one node: how to go on from it, its names, its edges with times, its passages."""

    async def make(outcome: str, change: WriteGroup) -> None:
        frame.query |= {"of": node.kind, "node": node.name}
        await frame.do(outcome, frame.visitor.make(frame.space, change))

    with box("card stack"):
        text(one_line(node.name)[:300], "", "h3")
        with box("line"):
            text(network.KIND_WORDS[node.kind], "chip")
            text(counted(node.degree, "link"), "chip")
        if node.kind == "chunk":
            link("Open the passage", chunk_address(frame, node.name))
            return
        with box("line"):
            _expanding(frame, node, _names(frame.query))
            if node.kind == "topic":
                link("Open the topic", frame.address("/topic", name=node.name))
        if node.kind == "entity":
            with frame.errors():
                _entity(await frame.call("entity", name=node.name))
    edges: list[Edge] = []
    mentions: list[Mentioned] = []
    with suppress(NotFound):
        edges = await frame.call("edges", name=node.name, all=True, limit=edges_listed)
        if node.kind == "entity":
            mentions = await frame.call("mentions", name=node.name, limit=5)
    if frame.may_write:
        text("Add a fact", "", "h2")
        _fact_form(node.name, None, make)
    if edges:
        text("Edges, with their times", "", "h2")
    for edge in edges:
        _edge(frame, edge, make)
    if len(edges) == EDGES_AT_MOST:
        text(f"Only the first {EDGES_AT_MOST:,} edges are listed: `hades edges` has all.", "muted")
    elif len(edges) == edges_listed:
        more = partial(_details, frame, node, place, EDGES_AT_MOST)
        with box("line"):
            button("Show more edges", lambda: frame.draw_in(place, more))
    if mentions:
        text("Passages", "", "h2")
    for number, mention in enumerate(mentions, 1):
        chunk_card(frame, number, mention.chunk, f"line {mention.line}")


def _edge(frame: Frame, edge: Edge, make: Make) -> None:
    """Draw an edge in words; writers can end or correct one that somebody wrote."""
    subject = edge.source.name
    end = WriteGroup([subject], [("unrelate", {"source": edge.id})])
    with box("card small"):
        text(statement(edge), "", "div")
        with box("line"):
            if edge.valid_to is not None:
                text("ended", "chip old")
            text(f"weight {edge.weight:.2f}", "chip")
            if edge.id > 0 and frame.may_write and edge.valid_to is None:
                button("End", lambda: make("Ended.", end), "small", title="It holds no longer")
        if edge.id > 0 and frame.may_write:
            with box("", "details"):
                text("Correct", "", "summary")
                _fact_form(subject, edge, make)


def _fact_form(subject: str, edge: Edge | None, make: Make) -> None:
    """Draw the fields of a new fact about a subject, or of one that replaces a wrong one."""
    known = {} if edge is None else fact_of(edge)

    async def write(given: dict[str, str]) -> None:
        fact = (
            known | {"source": subject} | {name: it.strip() or None for name, it in given.items()}
        )
        wrong = [] if edge is None else [("unrelate", {"source": edge.id, "mistake": True})]
        outcome = "Added." if edge is None else "Corrected."
        await make(outcome, WriteGroup([subject], [*wrong, ("relate", {**fact, "create": True})]))

    with form(write, "line"):
        for name, label in _FACT_FIELDS.items():
            needed = {"required": True} if name in ("relation", "target") else {}
            field(name, label, known.get(name) or "", "grow", **needed)
        text("Correct" if edge else "Add", "act main", "button", type="submit")


def _expanding(frame: Frame, node: SubgraphNode, names: list[str]) -> None:
    def show(*other: str) -> Awaitable[None]:
        kept = {key: value for key, value in frame.query.items() if not key.startswith("name")}
        given = {f"name{at if at > 1 else ''}": name for at, name in enumerate(other, 1)}
        return frame.show(**{**kept, **given, "of": node.kind, "node": node.name})

    if node.name not in names:
        button("Expand", lambda: show(*names, node.name), "main")
    elif len(names) > 1:
        button("Collapse", lambda: show(*(name for name in names if name != node.name)))
    if names != [node.name]:
        button("Start from here", lambda: show(node.name))


def _entity(entity: Entity) -> None:
    others = ", ".join(map(one_line, [*entity.aliases, *entity.merged][:20]))
    text(f"Kind: {one_line(entity.kind)}" + (f". Also: {others}" if others else ""), "small")
    text(entity.summary[:600], "small", "p")
