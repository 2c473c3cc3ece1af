"""Cards: how a passage, a fact and a path look wherever they stand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui
from nicegui.element import Element

from hades.context.text.evidence import lines_of
from hades.domain.answer import Fact, Interval, Passage, Path
from hades.domain.graph import Node
from hades.domain.plain import one_line
from hades.domain.statement import day
from hades.domain.topics import Chunk
from hades.ui.controls import box, button, link, text
from hades.ui.frame import Frame

CHARACTERS_SHOWN = 900
"""A longer passage is cut on its card; the source page has all of it."""
Judge = Callable[[str, bool], Awaitable[None]]
"""Takes what is judged, such as `passage:1`, and whether it is good."""


def passage_card(
    frame: Frame, number: int, passage: Passage, judge: Judge | None = None
) -> Element:
    """Draw a passage: where it stands, since when it holds, its text, and how it was found."""
    chunk = passage.chunk
    with box("card", "article", id=f"passage-{number}") as card:
        with box("line spread"):
            with box("line"):
                text(str(number), "number")
                place = source_address(frame, chunk.topic, chunk.version, chunk.ordinal)
                link(one_line(chunk.topic), place)
                text(f"version {chunk.version}, {lines_of(passage)}", "muted small")
            if judge is not None:
                _thumbs(f"passage:{number}", f"passage {number}", judge)
        _passage_text(chunk.text)
        with box("line"):
            if passage.valid_to is None:
                text(f"since {day(passage.valid_from)}", "chip")
            else:
                held = f"{day(passage.valid_from)} to {day(passage.valid_to)}"
                text(f"held {held}", "chip old")
            if passage.superseded:
                text("said again later", "chip old")
            text(f"found by {', '.join(passage.retrievers)}", "chip")
            belief_chip(passage.belief)
    return card


def chunk_card(frame: Frame, number: int, chunk: Chunk, why: str) -> Element:
    """Draw a passage that no question found, as `passage_card` does; `why` says why it is here."""
    with box("card", "article", id=f"passage-{number}") as card:
        with box("line"):
            text(str(number), "number")
            place = source_address(frame, chunk.topic, chunk.version, chunk.ordinal)
            link(one_line(chunk.topic), place)
            text(f"version {chunk.version}", "muted small")
        _passage_text(chunk.text)
        text(why, "chip")
    return card


def _passage_text(words: str) -> None:
    cut = words[:CHARACTERS_SHOWN]
    text(cut + ("…" if len(words) > len(cut) else ""), "text", "div")


def fact_card(frame: Frame, number: int, fact: Fact) -> Element:
    """Draw a fact in words, with the passage that states it."""
    with box("card", "article", id=f"fact-{number}") as card:
        with box("keep"):
            text(f"F{number}", "number")
            text(fact.text, "", "h3")
        with box("line"):
            if fact.edge.provenance is not None:
                chunk = fact.edge.provenance.chunk
                link(f"stated in {one_line(chunk)}", chunk_address(frame, chunk), "small")
            elif fact.edge.evidence:
                text(fact.edge.evidence[:CHARACTERS_SHOWN], "muted small")
            text(
                "ended" if fact.edge.valid_to else "holds",
                f"chip {'old' * bool(fact.edge.valid_to)}",
            )
            belief_chip(fact.belief)
    return card


def path_card(frame: Frame, number: int, path: Path, judge: Judge | None = None) -> Element:
    """Draw a path as a line of names and relations, with the passages of its steps."""
    with box("card", "article", id=f"path-{number}") as card:
        with box("line spread"):
            with box("line"):
                text(f"P{number}", "number")
                _node(frame, path.start)
                for step in path.steps:
                    arrow = f"{step.relation} →" if step.forward else f"← {step.relation}"
                    text(arrow, "muted small")
                    _node(frame, step.target)
            if judge is not None:
                _thumbs(f"path:{number}", f"path {number}", judge)
        if path.rationale:
            text(path.rationale, "muted small", "p")
        belief_chip(path.belief)
    return card


def belief_chip(belief: Interval) -> None:
    """Show how sure the memory is."""
    text(
        f"belief {belief.mean:.0%}", "chip", title=f"between {belief.low:.0%} and {belief.high:.0%}"
    )


def source_address(frame: Frame, topic: str, version: int | None, chunk: int | None = None) -> str:
    """Return the address of a version of a topic, with one of its passages marked."""
    return frame.address("/source", topic=topic, version=version, chunk=chunk)


def chunk_address(frame: Frame, chunk: str) -> str:
    """Return the address of a passage by its id, such as `docs/guide.md@3#0`."""
    topic, _, place = chunk.rpartition("@")
    version, _, ordinal = place.partition("#")
    return frame.address("/source", topic=topic, version=version, chunk=ordinal)


def node_address(frame: Frame, node: Node) -> str:
    """Return the page of a node."""
    if node.kind == "chunk":
        return chunk_address(frame, node.name)
    page = "/topic" if node.kind == "topic" else "/graph"
    return frame.address(page, name=node.name)


def _node(frame: Frame, node: Node) -> None:
    link(one_line(node.name), node_address(frame, node))


def _thumbs(target: str, name: str, judge: Judge) -> None:
    async def say(good: bool) -> None:
        await judge(target, good)

    with box("line"):
        with button("", lambda: say(True), "quiet", **{"aria-label": f"{name} was useful"}):
            ui.icon("o_thumb_up")
        with button("", lambda: say(False), "quiet", **{"aria-label": f"{name} was not useful"}):
            ui.icon("o_thumb_down")
