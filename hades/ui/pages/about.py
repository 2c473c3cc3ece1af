"""About: one name. What it is, its facts with their times, and where it is mentioned."""

from __future__ import annotations

from hades.domain.graph import About
from hades.domain.plain import counted, one_line
from hades.domain.statement import moment_words, statement
from hades.ui.cards import chunk_address, chunk_card, node_address
from hades.ui.controls import box, link, text
from hades.ui.frame import Frame, page


@page("/about", "About", in_navigation=False)
async def about(frame: Frame) -> None:
    """Draw what is known about the name in the address."""
    found: About = await frame.call("about", name=frame.query.get("name", ""))
    name = found.entity.name
    with box("line spread"):
        text(one_line(name), "", "h1")
        link("In the graph", frame.address("/graph", name=name))
    words = (
        found.entity.kind,
        *found.entity.aliases,
        *found.entity.merged,
        f"known since {moment_words(found.known_since)}",
    )
    text(one_line(", ".join(words)), "muted", "p")
    with box("two"):
        with box("stack"):
            if found.what:
                with box("card"):
                    text(found.what, "answer", "p")
                    link(one_line(found.cite), chunk_address(frame, found.cite), "small")
            holding = (
                f"{counted(len(found.facts), 'fact')} now, {len(found.ended):,} no longer true"
            )
            text(holding, "", "h2")
            for edge in (*found.facts, *found.ended):
                other = edge.target if edge.source.name == name else edge.source
                link(statement(edge), node_address(frame, other), "card")
            with box("line", **{"aria-label": "Mentioned with", "role": "group"}):
                for near in found.near:
                    link(one_line(near.name), frame.address("/about", name=near.name), "chip")
        with box("stack"):
            text(f"Mentioned in {counted(found.entity.frequency, 'passage')}", "", "h2")
            for number, mention in enumerate(found.mentions, 1):
                chunk_card(frame, number, mention.chunk, f"line {mention.line}")
