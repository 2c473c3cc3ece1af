"""Graph: the nodes and edges around some names, drawn, filtered and explained at the side."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import numpy as np
from nicegui import ui

from hades.domain.answer import Subgraph, SubgraphNode
from hades.domain.graph import Edge, Entity, Mentioned
from hades.domain.plain import counted, one_line
from hades.domain.statement import statement
from hades.domain.topics import Topic
from hades.errors import InvalidInput, NotFound
from hades.ui.cards import chunk_address, chunk_card
from hades.ui.controls import box, button, empty, field, form, link, select, text
from hades.ui.frame import Frame, page
from hades.ui.network import drawn_network, ends_of, graphml, key_of, page_rank
from hades.ui.pages.topics import as_glob

NODES, NODES_AT_MOST = 100, 300
NAMES_AT_MOST = 20
"""How many nodes may be expanded at once."""
LISTED = 30
_KINDS = {"": "All kinds", "topic": "Topics", "entity": "Names", "chunk": "Passages"}
_HOPS = {"1": "1 step", "2": "2 steps", "3": "3 steps"}
_SIZES = {"": "Size: links in all", "rank": "Size: PageRank here"}
_WEIGHTS = {
    "": "Any weight",
    "0.25": "Weight ≥ 0.25",
    "0.5": "Weight ≥ 0.5",
    "0.75": "Weight ≥ 0.75",
}
_CHOSEN = (
    "(event) => { const node = event.target.closest('a[data-node]'); "
    "if (node && !event.ctrlKey && !event.metaKey) { event.preventDefault(); "
    "emit(node.dataset.node) } }"
)


@page("/graph", "Graph")
async def graph(frame: Frame) -> None:
    """Draw the graph around the names in the address, or the names that match a search."""
    names = _names(frame.query)
    wanted = frame.query.get("search", "")
    text("Graph", "", "h1")
    with form(lambda given: frame.show(search=given.get("search"))):
        field("search", "Part of a name or topic to start from", wanted, "grow", type="search")
        text("Search", "act main", "button", type="submit")
    if not names:
        await _starts(frame, wanted)
        return
    limit = NODES_AT_MOST if frame.query.get("most") else NODES
    weight, relation = frame.query.get("weight", ""), frame.query.get("relation")
    hops = frame.query.get("hops", "1")
    around: Subgraph = await frame.call(
        "subgraph",
        names=names,
        hops=int(hops) if hops in _HOPS else 1,
        limit=limit,
        relation=[relation] if relation else None,
        least_weight=float(weight) if weight in _WEIGHTS and weight else 0.0,
    )
    _filters(frame, around)
    shown = _of_kind(around, frame.query.get("kind", ""))
    chosen = _chosen(shown, frame.query)
    with box("two").style("margin-top: 12px"):
        with box("stack"):
            await _drawing(frame, shown, chosen)
            if around.left_out:
                _left_out(frame, around, limit)
        with box("stack", "section", **{"aria-label": "Details"}):
            await _details(frame, shown, chosen, names)


def _names(query: dict[str, str]) -> list[str]:
    """Return the expanded names: `name`, `name2`, `name3` … of the address."""
    names = [query.get(f"name{number if number > 1 else ''}") for number in range(1, 99)]
    given = list(dict.fromkeys(name for name in names if name))
    if len(given) > NAMES_AT_MOST:
        raise InvalidInput(f"At most {NAMES_AT_MOST} nodes are expanded at once.")
    return given


def _named(names: list[str]) -> dict[str, str]:
    """Return names as parameters of the address."""
    return {f"name{number if number > 1 else ''}": name for number, name in enumerate(names, 1)}


def _kept(query: dict[str, str]) -> dict[str, str]:
    """Return the parameters other than the names."""
    return {key: value for key, value in query.items() if not key.startswith("name")}


async def _starts(frame: Frame, wanted: str) -> None:
    """List names and topics to start from."""
    glob = as_glob(wanted)
    entities: list[Entity] = await frame.call("entities", glob=glob, limit=500)
    topics: list[Topic] = await frame.call("topics", glob=glob, limit=LISTED)
    entities.sort(key=lambda entity: (-entity.edges - entity.frequency, entity.name))
    if not entities and not topics:
        if wanted:
            empty(f"No name or topic matches “{wanted[:100]}”.", then="Show all names",
                  href=frame.address("/graph"))  # fmt: skip
        elif frame.at is not None:
            empty("Nothing was remembered at this time.", then="Move the slider, or press Now.")
        else:
            empty("This space is empty.", then="Write a first note: hades remember TOPIC “…”")
        return
    with box("two").style("margin-top: 16px"):
        for title, several in (
            ("Names, most linked first", [(it.name, it.kind) for it in entities[:LISTED]]),
            ("Topics", [(it.name, counted(it.versions, "version")) for it in topics]),
        ):
            with box("card stack", "section", **{"aria-label": title}):
                text(title, "", "h2")
                for name, about in several:
                    with box("line spread"):
                        link(one_line(name), frame.address("/graph", name=name))
                        text(one_line(about), "chip")


def _filters(frame: Frame, around: Subgraph) -> None:
    """Draw the choices; a choice takes effect at once and stays in the address."""
    relations = sorted({edge.relation for edge in around.edges})
    chosen = frame.query.get("relation", "")
    words = {
        "": "All relations",
        **{name: one_line(name)[:40] for name in (chosen, *relations) if name},
    }
    with box("line").style("margin-top: 12px"):
        for name, label, options in (
            ("hops", "How far", _HOPS),
            ("kind", "Kind of node", _KINDS),
            ("relation", "Relation", words),
            ("weight", "Least weight", _WEIGHTS),
            ("size", "Size of nodes", _SIZES),
        ):
            select(name, label, options, frame.query.get(name, ""), partial(_set, frame, name))


async def _set(frame: Frame, name: str, value: str) -> None:
    await frame.show(**{**frame.query, name: value})


def _of_kind(around: Subgraph, kind: str) -> Subgraph:
    """Return the nodes of a kind with the start nodes, and the edges among them."""
    if kind not in _KINDS or not kind:
        return around
    nodes = tuple(node for node in around.nodes if node.kind == kind or node.hops == 0)
    keys = {key_of(node) for node in nodes}
    edges = tuple(edge for edge in around.edges if keys.issuperset(ends_of(edge)))
    return Subgraph(nodes, edges, around.left_out)


def _chosen(shown: Subgraph, query: dict[str, str]) -> SubgraphNode | None:
    """Return the node whose details are shown: the one in the address, or the first."""
    wanted = query.get("of", ""), query.get("node", "")
    named = [node for node in shown.nodes if key_of(node) == wanted]
    return next(iter(named or shown.nodes), None)


async def _drawing(frame: Frame, shown: Subgraph, chosen: SubgraphNode | None) -> None:
    by_rank = frame.query.get("size") == "rank"
    sizes = page_rank(shown) if by_rank else np.array([float(it.degree) for it in shown.nodes])
    own = None if chosen is None else key_of(chosen)

    def choice(node: SubgraphNode) -> dict[str, Any]:
        return {**frame.query, "of": node.kind, "node": node.name}

    def address(node: SubgraphNode) -> str:
        return frame.address("/graph", **choice(node))

    drawn = await asyncio.to_thread(drawn_network, shown, sizes, own, address)
    with box("card drawn network", tabindex=0, **{"aria-label": "The graph, drawn"}) as place:
        ui.html(drawn, sanitize=True)
    place.on("click", lambda event: frame.show(**choice(shown.nodes[int(event.args)])),
             js_handler=_CHOSEN)  # fmt: skip
    with box("line small"):
        text("■ topic   ● name   ◆ passage", "muted").style("white-space: pre-wrap")
        text(f"{counted(len(shown.nodes), 'node')}, {counted(len(shown.edges), 'edge')}", "muted")

        async def save_svg() -> None:
            svg = await asyncio.to_thread(drawn_network, shown, sizes, own)
            ui.download.content(svg, "graph.svg", "image/svg+xml")

        button("SVG", save_svg, "small", title="Save the drawing")
        button("GraphML", lambda: ui.download.content(graphml(shown), "graph.graphml"), "small",
               title="Save the nodes and edges for other tools")  # fmt: skip


def _left_out(frame: Frame, around: Subgraph, limit: int) -> None:
    with box("note line"):
        text(f"The {len(around.nodes)} nearest nodes are drawn; "
             f"{counted(around.left_out, 'neighbour')} of theirs are left out.")  # fmt: skip
        if limit < NODES_AT_MOST:
            button(
                f"Draw up to {NODES_AT_MOST}", lambda: frame.show(**{**frame.query, "most": "1"})
            )
        else:
            text("Choose a relation, a weight or fewer steps to see the others.")


async def _details(
    frame: Frame, shown: Subgraph, node: SubgraphNode | None, names: list[str]
) -> None:
    """Draw one node: how to go on from it, its names, its edges with times, its passages."""
    if node is None:
        return
    with box("card stack"):
        text(one_line(node.name), "", "h3")
        with box("line"):
            text({"entity": "name", "chunk": "passage"}.get(node.kind, node.kind), "chip")
            text(counted(node.degree, "link"), "chip")
        if node.kind == "chunk":
            link("Open the passage", chunk_address(frame, node.name))
            return
        with box("line"):
            _expanding(frame, node, names)
            if node.kind == "topic":
                link("Open the topic", frame.address("/topic", name=node.name))
        if node.kind == "entity":
            with frame.errors():
                _entity(await frame.call("entity", name=node.name))
    edges = await _or_none(frame, "edges", name=node.name, all=True, limit=LISTED)
    if edges:
        text("Edges, with their times", "", "h2")
    for edge in edges:
        _edge(edge)
    mentions: list[Mentioned] = []
    if node.kind == "entity":
        mentions = await _or_none(frame, "mentions", name=node.name, limit=5)
    if mentions:
        text("Passages", "", "h2")
    for number, mention in enumerate(mentions, 1):
        chunk_card(frame, number, mention.chunk, f"line {mention.line}")


def _expanding(frame: Frame, node: SubgraphNode, names: list[str]) -> None:
    kept = _kept(frame.query)
    chosen = {"of": node.kind, "node": node.name}
    if node.name not in names:
        more = _named([*names, node.name])
        button("Expand", lambda: frame.show(**{**kept, **more, **chosen}), "main")
    elif len(names) > 1:
        fewer = _named([name for name in names if name != node.name])
        button("Collapse", lambda: frame.show(**{**kept, **fewer}))
    if names != [node.name]:
        button("Start from here", lambda: frame.show(**kept | chosen, name=node.name))


async def _or_none(frame: Frame, operation: str, **given: Any) -> Any:
    try:
        return await frame.call(operation, **given)
    except NotFound:
        return []


def _entity(entity: Entity) -> None:
    text(f"Kind: {one_line(entity.kind)}", "small")
    others = [*entity.aliases, *entity.merged]
    if others:
        text(f"Also: {', '.join(one_line(name) for name in others[:20])}", "small")
    if entity.summary:
        text(entity.summary[:600], "small", "p")


def _edge(edge: Edge) -> None:
    with box("card small"):
        text(statement(edge), "", "div")
        with box("line"):
            if edge.valid_to is not None:
                text("ended", "chip old")
            text(f"weight {edge.weight:.2f}", "chip")
