"""The plain text of sessions and of distilled statements."""

from __future__ import annotations

from collections.abc import Sequence

from hades.context.text.layout import (
    PlainText,
    TextLine,
    flat,
    quoted,
    shown_cite,
    shown_name,
    writes,
)
from hades.domain.distilled import Distillation, SessionLine, SessionSummary
from hades.domain.plain import counted
from hades.domain.quoting import unlabelled

PARTS = ("decided", "done", "open", "files", "failed")
"""The parts of a session, in the order in which they are shown."""


@writes(SessionSummary)
def session_lines(session: SessionSummary) -> PlainText:
    """Show a session: its date, name and goal, then each part with its lines and citations."""
    yield _head(session, counted(session.turns, "turn"))
    for part in PARTS:
        lines = getattr(session, part)
        if lines:
            yield TextLine(f"{part.capitalize()}:")
        for line in lines:
            yield _kept(line) if isinstance(line, SessionLine) else TextLine(f" {flat(line)}")


@writes(list[SessionSummary])
def session_list_lines(sessions: Sequence[SessionSummary]) -> PlainText:
    """List sessions, one on each line: date, name, goal, and the number of lines of each part."""
    for session in sessions:
        counts = [
            f"{len(getattr(session, part))} {part}" for part in PARTS if getattr(session, part)
        ]
        yield _head(session, ", ".join(counts))
    if not sessions:
        yield TextLine("no sessions")


def _head(session: SessionSummary, details: str) -> TextLine:
    head = f"{session.at:%Y-%m-%d} {shown_name(session.conversation)}"
    goal = quoted(session.goal) if session.goal else ""
    return TextLine(head, tuple(filter(None, (goal, details))), "head")


def _kept(line: SessionLine) -> TextLine:
    cite = f"[{shown_cite(line.state)}, turn {line.turn}]"
    return TextLine(f" {unlabelled(flat(line.text))} {cite}", () if line.holds else ("replaced",))


@writes(Distillation)
def distillation_lines(done: Distillation) -> PlainText:
    """List the new statements, one on each line, then count them."""
    for statement in done.statements:
        details = [shown_cite(statement.state)] if statement.state else []
        if statement.replaces:
            details.append(f"replaces {shown_cite(statement.replaces)}")
        yield TextLine(f"{statement.kind}: {unlabelled(flat(statement.text))}", tuple(details))
    details = [f"{done.known:,} known before"] if done.known else []
    if done.usage is not None:
        details.append(flat(str(done.usage)))
    yield TextLine(str(done), tuple(details), "quiet")
    if done.dry_run:
        yield TextLine("nothing was stored: this was a dry run", style="quiet")
