"""Home: what the memory holds now, what it can be asked, and what waits for a decision."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hades.domain.brief import Brief, BriefLine
from hades.domain.plain import counted, one_line
from hades.domain.statement import day
from hades.errors import Unavailable
from hades.serve.auth.caller import Role
from hades.ui.cards import source_address
from hades.ui.controls import box, link, text
from hades.ui.frame import Frame, found, no_notes

LINES_SHOWN = 6
WAITING_COUNTED = 100
TITLES = {
    "decisions": "Decisions",
    "open_threads": "Still open",
    "changes": "What changed lately",
    "ended": "No longer true",
}


async def home(frame: Frame) -> None:
    """Draw the brief and what waits, then the questions, which take longer to find."""
    brief: Brief = await frame.call("brief")
    if brief.is_empty and not await frame.call("topics", limit=1):
        no_notes(frame)
        return
    frame.draw_in(box("asks"), partial(_questions, frame))
    if frame.visitor.may(Role.WRITER, frame.space):
        waiting = await frame.call_now("proposals", limit=WAITING_COUNTED)
        if waiting:
            more = "At least " * (len(waiting) == WAITING_COUNTED)
            with box("note"):
                text(f"{more}{counted(len(waiting), 'proposed change')} to decide on: ")
                link("Review", frame.address("/review"))
    with box("home"):
        for name, title in TITLES.items():
            _lines(frame, title, getattr(brief, name))


async def _questions(frame: Frame) -> None:
    """Draw questions that this memory answers."""
    questions: list[str] = await found(frame.call("sample_questions"), [], but=Unavailable)
    for question in questions:
        link(question, frame.address("/", q=question), "chip ask")


def _lines(frame: Frame, title: str, lines: Sequence[BriefLine]) -> None:
    if not lines:
        return
    with box("card", "section", **{"aria-label": title}):
        text(title, "", "h2")
        for line in lines[:LINES_SHOWN]:
            with box("told"):
                topic, _, version = line.cite.rpartition("@")
                text(line.text, "", "p")
                with box("line small"):
                    text(day(line.at), "muted")
                    if topic:
                        link(one_line(topic), source_address(frame, topic, int(version)))
        if len(lines) > LINES_SHOWN:
            text(f"{len(lines) - LINES_SHOWN} more: hades brief", "muted small")
