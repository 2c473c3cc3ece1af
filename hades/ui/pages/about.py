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
    entry: About = await frame.call("about", name=frame.query.get("name", ""))
    name = entry.entity.name
    with box("line spread"):
        text(one_line(name), "", "h1")
        link("In the graph", frame.address("/graph", name=name))
    words = (
        entry.entity.kind,
        *entry.entity.aliases,
        *entry.entity.merged,
        f"known since {moment_words(entry.known_since)}",
    )
    text(one_line(", ".join(words)), "muted", "p")
    with box("two"):
        with box("stack"):
            if entry.what:
                with box("card"):
                    text(entry.what, "answer", "p")
                    link(one_line(entry.cite), chunk_address(frame, entry.cite), "small")
            holding = (
                f"{counted(len(entry.facts), 'fact')} now, {len(entry.ended):,} no longer true"
            )
            text(holding, "", "h2")
            for edge in (*entry.facts, *entry.ended):
                other = edge.target if edge.source.name == name else edge.source
                link(statement(edge), node_address(frame, other), "card")
            with box("line", **{"aria-label": "Mentioned with", "role": "group"}):
                for near in entry.near:
                    link(one_line(near.name), frame.address("/about", name=near.name), "chip")
        with box("stack"):
            text(f"Mentioned in {counted(entry.entity.frequency, 'passage')}", "", "h2")
            for number, mention in enumerate(entry.mentions, 1):
                chunk_card(frame, number, mention.chunk, f"line {mention.line}")
