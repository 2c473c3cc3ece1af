"""Sessions: the list of conversations, and the page of one of them."""

from __future__ import annotations

from hades.context.text.layout import read_cite
from hades.context.text.sessions import PARTS
from hades.domain.distilled import SessionLine, SessionSummary
from hades.domain.plain import counted, one_line
from hades.domain.statement import day, moment_words
from hades.operations.parameters import PAGE_AT_MOST
from hades.ui.cards import source_address
from hades.ui.controls import box, button, empty, field, form, link, text
from hades.ui.frame import Frame, page
from hades.ui.pages.source import read_number

PAGE = 50
CHARACTERS_SHOWN = 400
"""A longer goal or line is cut; the page of its state has all of it."""
_FILTERS = ("search", "since", "until")


@page("/sessions", "Sessions")
async def sessions(frame: Frame) -> None:
    """Draw the list of conversations that match words and a time, the latest first."""
    wanted = {name: frame.query.get(name, "") for name in _FILTERS}
    shown = read_number(frame.query, "shown") or PAGE
    text("Sessions", "", "h1")
    with form(lambda given: frame.show(**{name: given.get(name) for name in _FILTERS})):
        label = "Words of the name or the goal"
        field("search", label, wanted["search"], "grow", type="search")
        for name, title in (("since", "Since"), ("until", "Before")):
            example = f"{title}, as 2026-03"
            bound = field(name, title, wanted[name], placeholder=example)
            bound.style("flex: 1 1 9em; max-width: 12em")
        text("Search", "act main", "button", type="submit")
    with box("stack").style("margin-top: 16px"):
        await _list(frame, wanted, shown)


async def _list(frame: Frame, wanted: dict[str, str], shown: int) -> None:
    words = wanted["search"].casefold().split()
    listed: list[SessionSummary] = await frame.call(
        "sessions",
        since=wanted["since"].strip() or None,
        until=wanted["until"].strip() or None,
        limit=PAGE_AT_MOST if words else min(shown + 1, PAGE_AT_MOST),
    )
    matching = [session for session in listed if _matches(session, words)]
    if words and len(listed) == PAGE_AT_MOST:
        text(f"Only the latest {PAGE_AT_MOST:,} sessions of this time were searched.", "muted", "p")
    if not matching:
        if any(wanted.values()):
            everything = frame.address("/sessions")
            empty("No session matches.", then="Show all sessions", href=everything)
        else:
            empty(
                "There are no sessions at this time.",
                then="hades distil @FILE stores a conversation and its decisions, facts and plans.",
            )
        return
    for session in matching[:shown]:
        _card(frame, session)
    if len(matching) > shown:
        more = {**wanted, "shown": shown + PAGE}
        with box("line"):
            button("Show more", lambda: frame.show(**more), "main")


def _matches(session: SessionSummary, words: list[str]) -> bool:
    """Return whether all words, in lower case, are in the name or the goal of a session."""
    shown = f"{session.conversation} {session.goal}".casefold()
    return all(word in shown for word in words)


def _card(frame: Frame, session: SessionSummary) -> None:
    with box("card", "article"):
        place = frame.address("/session", name=session.conversation)
        link(_cut(session.goal or session.conversation), place)
        with box("line"):
            text(f"{day(session.at)}, {one_line(session.conversation)}", "muted small")
            for part in PARTS:
                if lines := getattr(session, part):
                    text(f"{len(lines)} {part}", "chip")


@page("/session", "Session", in_navigation=False)
async def session(frame: Frame) -> None:
    """Draw one conversation: its goal, and each line of its summary."""
    name = frame.query.get("name", "")
    summary: SessionSummary = await frame.call("session", conversation=name)
    with box("line spread"):
        text(_cut(summary.goal or summary.conversation), "", "h1")
        link("The conversation", frame.address("/topic", name=summary.conversation))
    turns = counted(summary.turns, "turn")
    about = f"{moment_words(summary.at)}, {turns}, {one_line(summary.conversation)}"
    text(about, "muted small", "p")
    with box("stack"):
        for part in PARTS:
            if lines := getattr(summary, part):
                text(part, "", "h2")
                if part in ("files", "failed"):
                    with box("card"):
                        for line in lines:
                            text(_cut(line), "source", "div")
                    continue
                for line in lines:
                    _line(frame, line)
        if not any(getattr(summary, part) for part in PARTS):
            empty("No statements of this conversation are stored.", then="Show all sessions",
                  href=frame.address("/sessions"))  # fmt: skip


def _line(frame: Frame, line: SessionLine) -> None:
    """Draw a statement with its kind, its state and its turn."""
    with box("card", "article"):
        text(_cut(line.text), "text", "div")
        with box("line"):
            text(line.kind, "chip")
            topic, version, _ = read_cite(line.state)
            link(one_line(line.state), source_address(frame, topic, version), "small")
            text(f"turn {line.turn}", "muted small")
            if not line.holds:
                text("replaced", "chip old")


def _cut(words: str) -> str:
    words = one_line(" ".join(words.split()))
    return words[:CHARACTERS_SHOWN] + ("…" if len(words) > CHARACTERS_SHOWN else "")
