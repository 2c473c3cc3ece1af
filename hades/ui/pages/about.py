"""About: one name. What it is, its facts with their times, and where it is mentioned."""

from __future__ import annotations

from hades.domain.graph import About, Edge
from hades.domain.plain import counted, one_line
from hades.domain.statement import day, relation_words, when_held
from hades.ui.cards import chunk_address, chunk_card, node_address
from hades.ui.controls import box, link, text
from hades.ui.frame import Frame, page

LISTED = 20


@page("/about", "About", in_navigation=False)
async def about(frame: Frame) -> None:
    """Draw what is known about the name in the address."""
    found: About = await frame.call("about", name=frame.query.get("name", ""), limit=LISTED)
    entity = found.entity
    with box("line spread"):
        text(one_line(entity.name), "", "h1")
        link("In the graph", frame.address("/graph", name=entity.name))
    with box("line"):
        others = (f"also {one_line(other)}" for other in (*entity.aliases, *entity.merged))
        for words in (one_line(entity.kind), *others, f"known since {day(found.known_since)}"):
            text(words, "chip")
    with box("two").style("margin-top: 16px"):
        with box("stack"):
            if found.what:
                with box("card"):
                    text(found.what, "answer", "p")
                    link(one_line(found.cite), chunk_address(frame, found.cite), "small")
            for title, edges in (("Facts", found.facts), ("No longer true", found.ended)):
                if edges:
                    text(title, "", "h2")
                for edge in edges:
                    _fact(frame, edge)
            if found.near:
                text("Mentioned with", "", "h2")
            with box("line"):
                for other in found.near:
                    link(one_line(other.name), frame.address("/about", name=other.name), "chip")
        with box("stack"):
            text(f"Mentioned in {counted(entity.frequency, 'passage')}", "", "h2")
            for number, mention in enumerate(found.mentions, 1):
                chunk_card(frame, number, mention.chunk, f"line {mention.line}")


def _fact(frame: Frame, edge: Edge) -> None:
    with box("card line"):
        link(one_line(edge.source.name), node_address(frame, edge.source))
        text(relation_words(edge.relation), "muted")
        link(one_line(edge.target.name), node_address(frame, edge.target))
        text(when_held(edge), "chip old" if edge.valid_to else "chip")
