"""The plain text of edges, of how they change, and of a part of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from hades.context.text.layout import (
    PlainText,
    TextBody,
    TextLine,
    flat,
    moment,
    quoted,
    shown_cite,
    shown_name,
    since_until,
    writes,
)
from hades.domain.answer import Subgraph
from hades.domain.graph import About, Edge, FactChange, Mentioned, Node, RelationChange, Resolution
from hades.domain.quoting import unlabelled
from hades.domain.topics import State


@writes(list[Edge])
def edge_lines(edges: Iterable[Edge], none: str = "no edges") -> PlainText:
    """List edges, one a line; without edges, the text `none`."""
    lines = [edge_line(edge) for edge in edges]
    return lines or [TextLine(none)]


def edge_line(edge: Edge, word: str = "") -> TextLine:
    """Return a line for an edge: its ends and relation, then its id, times, evidence and source.

    `word`, such as "ended", is put in front.
    """
    details = [f"edge {edge.id}"] if edge.id > 0 else []
    details.append(since_until(edge.valid_from, edge.valid_to))
    if edge.superseded_by is not None:
        details.append(f"then edge {edge.superseded_by}")
    if edge.retired_at is not None:
        details.append(f"believed until {moment(edge.retired_at)}")
    if edge.weight != 1:
        details.append(f"weight {edge.weight:g}")
    if edge.evidence:
        details.append(quoted(edge.evidence))
    if place := edge.metadata.get("extracted_from"):
        details.append(f"read by {edge.metadata.get('extracted_by')} in {place}")
    if edge.provenance is not None:
        details.append(f"in {edge.provenance.chunk}")
    ends = unlabelled(flat(str(edge)))  # two spaces separate the details
    return TextLine(f"{word}: {ends}" if word else ends, tuple(details))


@writes(FactChange)
def fact_change_lines(done: FactChange) -> PlainText:
    """List the edges that a change of fact ended and opened, the state it wrote, and the change
    that waits."""
    yield from _changed(done.at, done.closed, done.opened, done.state)
    if done.proposed is not None:
        yield TextLine(f"proposal {done.proposed.id} waits for review: {done.proposed.why}")


@writes(RelationChange)
def relation_change_lines(change: RelationChange) -> PlainText:
    """Say when a relation ended, and which relation replaced it, if any."""
    return _changed(change.at, [change.before], [change.after] if change.after else [], None)


def _changed(
    at: datetime, closed: Iterable[Edge], opened: Iterable[Edge], state: State | None
) -> PlainText:
    yield TextLine(f"At {moment(at)}:")
    yield from (edge_line(edge, "ended") for edge in closed)
    yield from (edge_line(edge, "holds") for edge in opened)
    if state is not None:
        yield TextLine(f"written: {state.id}")


@writes(Subgraph)
def subgraph_lines(subgraph: Subgraph) -> PlainText:
    """List the edges of a part of the graph, then the nodes that have none."""
    for edge in subgraph.edges:
        ends = f"{edge.source} --[{edge.relation}]--> {edge.target}"
        yield TextLine(flat(ends), (quoted(edge.snippet),) if edge.snippet else ())
    linked = {end for edge in subgraph.edges for end in (edge.source, edge.target)}
    for node in subgraph.nodes:
        if Node(node.kind, node.name) not in linked:
            yield TextLine(node.name)
    if subgraph.left_out:
        yield TextLine(f"{subgraph.left_out:,} more nodes next to these", style="warning")


@writes(list[Mentioned])
def mention_lines(mentions: Sequence[Mentioned]) -> PlainText:
    """List the passages that mention a name: the place, then the line with the name."""
    for mention in mentions:
        text = mention.chunk.text
        at = mention.positions[0] if mention.positions else 0
        line = mention.line + text.count("\n", 0, at)
        text_line = text[text.rfind("\n", 0, at) + 1 :].split("\n")[0]
        times = f"{len(mention.positions)}×" if mention.positions else "title"
        yield TextLine(
            f"{shown_name(mention.chunk.topic)}:{line}", (times, flat(text_line)), "head"
        )
    if not mentions:
        yield TextLine("no passage mentions it")


@writes(About)
def about_lines(about: About) -> PlainText:
    """Say what a name is, then list its facts, where it is mentioned, and names near it."""
    yield TextLine(
        flat(about.entity.name),
        (
            about.entity.kind,
            *(f"also {flat(other)}" for other in (*about.entity.aliases, *about.entity.merged)),
            f"known since {moment(about.known_since)}",
        ),
        "head",
    )
    if about.what:
        yield TextBody(f"{unlabelled(flat(about.what))} [{shown_cite(about.cite)}]")
    yield from map(edge_line, about.facts)
    yield from (edge_line(edge, "ended") for edge in about.ended)
    yield from mention_lines(about.mentions)
    if about.near:
        yield TextLine("mentioned with", (flat(", ".join(other.name for other in about.near)),))


@writes(Resolution)
def resolution_lines(resolution: Resolution) -> PlainText:
    """List the names that were, or would be, merged, left apart or joined, then the counts."""
    would = "would be " if resolution.dry_run else ""
    for pairs, what in (
        (resolution.merged, f"{would}merged into"),
        (resolution.left, "left beside"),
        (resolution.similar, f"{would}similar_to"),
        (resolution.proposed, f"{would}proposed for"),
    ):
        for pair in pairs:
            ends = f"{pair.other} {what} {pair.keep}"
            yield TextLine(ends, (f"{pair.score:.2f}", flat(pair.why)))
    yield TextLine(
        f"{len(resolution.merged)} {would}merged, {len(resolution.left)} left, "
        f"{len(resolution.similar)} {would}joined, {resolution.ended} ended, "
        f"{resolution.embedded} names {would}embedded, {len(resolution.proposed)} {would}proposed"
    )
