"""Cards: how passages, facts and paths look on every page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui
from nicegui.element import Element

from hades.context.text.evidence import lines_of
from hades.domain.answer import Fact, Passage, Path
from hades.domain.graph import Node
from hades.domain.hierarchy import Theme
from hades.domain.plain import counted, one_line
from hades.domain.statement import day
from hades.domain.topics import Chunk
from hades.language.sentences import SAID_CHARACTERS, place_said
from hades.ui.controls import box, button, link, text
from hades.ui.frame import Frame
from hades.ui.prose import stored

CHARACTERS_SHOWN = 900
"""A longer passage is cut on its card; the source page has all of it."""
Judge = Callable[[str, bool], Awaitable[None]]
"""Takes the target of a verdict, such as `passage:1`, and whether it was good."""


def passage_card(
    frame: Frame,
    number: int,
    passage: Passage,
    judge: Judge | None = None,
    marked: Sequence[str] = (),
) -> Element:
    """Draw a passage: where it stands, since when it holds, and its text with sentences marked."""
    chunk = passage.chunk
    with box("card", "article", id=f"passage-{number}") as card:
        with box("line spread"):
            _place(frame, number, chunk, f", {lines_of(passage)}")
            if judge is not None:
                _thumbs(f"passage:{number}", f"passage {number}", judge)
        _chunk_text(chunk, marked)
        with box("line"):
            if passage.valid_to is None:
                text(f"since {day(passage.valid_from)}", "chip")
            else:
                held = f"{day(passage.valid_from)} to {day(passage.valid_to)}"
                text(f"held {held}", "chip old")
            if passage.superseded:
                text("said again later", "chip old")
    return card


def chunk_card(frame: Frame, number: int, chunk: Chunk, why: str) -> Element:
    """Draw a passage that no question found, as `passage_card` does; `why` says why it is here."""
    with box("card", "article", id=f"passage-{number}") as card:
        _place(frame, number, chunk)
        _chunk_text(chunk, ())
        text(why, "chip")
    return card


def _place(frame: Frame, number: int, chunk: Chunk, more: str = "") -> None:
    with box("line"):
        text(str(number), "number")
        place = source_address(frame, chunk.topic, chunk.version, chunk.ordinal)
        link(one_line(chunk.topic), place)
        text(f"version {chunk.version}{more}", "muted small")


def _chunk_text(chunk: Chunk, marked: Sequence[str]) -> None:
    """Draw the text of a passage, from a little before what was said if that is far down."""
    start, end = place_said(chunk.text, marked[0]) if marked else (0, 0)
    first = max(0, start - CHARACTERS_SHOWN // 3) if end > CHARACTERS_SHOWN else 0
    last = first + CHARACTERS_SHOWN
    words = "…" * bool(first) + chunk.text[first:last] + "…" * (last < len(chunk.text))
    stored(chunk.topic, words, "text", marked)


def fact_card(frame: Frame, number: int, fact: Fact) -> Element:
    """Draw a fact in words, with the passage that states it."""
    with box("card", "article", id=f"fact-{number}") as card:
        with box("line spread"):
            with box("keep"):
                text(f"F{number}", "number")
                text(fact.text, "", "h3")
            if fact.edge.valid_to:
                text("ended", "chip old")
        if fact.edge.provenance is not None:
            chunk = fact.edge.provenance.chunk
            link(f"stated in {one_line(chunk)}", chunk_address(frame, chunk), "small")
        elif fact.edge.evidence:
            text(fact.edge.evidence[:CHARACTERS_SHOWN], "muted small")
    return card


def path_card(frame: Frame, number: int, path: Path, judge: Judge | None = None) -> Element:
    """Draw a path as a line of names and relations; a relation opens the passage that states it."""
    with box("card", "article", id=f"path-{number}") as card:
        with box("line spread"):
            with box("line"):
                text(f"P{number}", "number")
                _node(frame, path.start)
                for step in path.steps:
                    relation = step.relation.replace("_", " ")
                    arrow = f"{relation} →" if step.forward else f"← {relation}"
                    if step.chunk:
                        statement = one_line(step.snippet) or f"stated in {one_line(step.chunk)}"
                        link(
                            arrow, chunk_address(frame, step.chunk), "muted small", title=statement
                        )
                    else:
                        text(arrow, "muted small")
                    _node(frame, step.target)
            if judge is not None:
                _thumbs(f"path:{number}", f"path {number}", judge)
        if path.rationale and len(path.steps) > 1:
            text(path.rationale, "muted small")
    return card


def theme_card(frame: Frame, number: int, theme: Theme) -> Element:
    """Draw a theme: its label, its summary, and the passages in its middle."""
    with box("card", "article", id=f"theme-{number}") as card:
        with box("keep"):
            text(f"T{number}", "number")
            name = one_line(theme.cluster.label) or theme.cluster.id
            link(name, frame.address("/map", cluster=theme.cluster.id))
            text(counted(theme.cluster.size, "passage"), "muted small")
        stored("", theme.cluster.summary[:CHARACTERS_SHOWN], "text")
        with box("line small"):
            for chunk in theme.cites:
                link(one_line(chunk), chunk_address(frame, chunk))
    return card


def source_address(
    frame: Frame, topic: str, version: int | None, chunk: int | None = None, sentence: str = ""
) -> str:
    """Return the address of a version of a topic, with a passage or a sentence marked."""
    marked = {"chunk": chunk, "said": sentence[:SAID_CHARACTERS]}
    return frame.address("/source", topic=topic, version=version, **marked)


def chunk_address(frame: Frame, chunk: str) -> str:
    """Return the address of a passage by its id, such as `docs/guide.md@3#0`."""
    topic, _, place = chunk.rpartition("@")
    version, _, ordinal = place.partition("#")
    return frame.address("/source", topic=topic, version=version, chunk=ordinal)


def node_address(frame: Frame, node: Node) -> str:
    """Return the page of a node."""
    if node.kind == "chunk":
        return chunk_address(frame, node.name)
    page = "/topic" if node.kind == "topic" else "/about"
    return frame.address(page, name=node.name)


def _node(frame: Frame, node: Node) -> None:
    link(one_line(node.name), node_address(frame, node))


def _thumbs(target: str, name: str, judge: Judge) -> None:
    async def say(good: bool) -> None:
        await judge(target, good)

    with box("keep"):
        with button("", lambda: say(True), "quiet", **{"aria-label": f"{name} was useful"}):
            ui.icon("o_thumb_up")
        with button("", lambda: say(False), "quiet", **{"aria-label": f"{name} was not useful"}):
            ui.icon("o_thumb_down")
