"""Source: one version of a topic, with the cited passage marked, and what holds now."""

from __future__ import annotations

from hades.domain.plain import one_line
from hades.domain.statement import moment_words
from hades.domain.topics import Chunk, State
from hades.errors import InvalidInput
from hades.language.sentences import place_said
from hades.ui.cards import source_address
from hades.ui.controls import box, link, text
from hades.ui.frame import Frame, page, result_or

CHARACTERS_SHOWN = 30_000
"""A longer text is cut to the part around the passage."""


@page("/source", "Source", in_navigation=False)
async def source(frame: Frame) -> None:
    """Draw the version that the address names, or the one that holds at the chosen time."""
    topic = frame.query.get("topic", "")
    version, ordinal = (read_number(frame.query, name) for name in ("version", "chunk"))
    state: State = await frame.call_now("get", topic=topic, version=version) if version else (
        await frame.call("get", topic=topic))  # fmt: skip
    chunks = [] if ordinal is None else (
        await frame.call_now("chunks", topic=topic, version=state.version))  # fmt: skip
    sentence = frame.query.get("said", "")
    marked = next(
        (_marked(state.content, chunk, sentence) for chunk in chunks if chunk.ordinal == ordinal),
        None,
    )
    current: State | None = await result_or(frame.call_now("get", topic=topic), None)
    text(one_line(topic), "", "h1")
    with box("line small muted"):
        until = f" until {moment_words(state.valid_to)}" if state.valid_to else ", and still holds"
        text(f"Version {state.version}, from {moment_words(state.valid_from)}{until}.")
        text(f"Recorded {moment_words(state.recorded_at)}.")
        link("All versions", frame.address("/topic", name=topic))
    _then_and_now(frame, state, current, ordinal)
    with box("card").style("margin-top: 12px"):
        is_file = "." in topic.rpartition("/")[2]
        _content(state.content, marked, "source" if is_file else "source prose")


def _marked(content: str, chunk: Chunk, sentence: str) -> tuple[int, int]:
    """Return the characters that are marked: the sentence that answers, else the passage."""
    start, end = place_said(content[chunk.start : chunk.end], sentence)
    return chunk.start + start, chunk.start + end if end else chunk.end


def read_number(query: dict[str, str], name: str) -> int | None:
    """Return a number of the address; None if it is not given."""
    given = query.get(name, "")
    if given and not (given.isascii() and given.isdecimal() and len(given) <= 18):
        raise InvalidInput(f"The {name} in the address is not a number.")
    return int(given) if given else None


def _then_and_now(frame: Frame, state: State, current: State | None, ordinal: int | None) -> None:
    if current is None:
        text("This topic is forgotten now; its history stays.", "note", "p")
    elif current.version != state.version:
        with box("note line"):
            text(f"You see version {state.version}; version {current.version} holds now.")
            link("See it", source_address(frame, state.topic, current.version))
            link(
                "What changed",
                frame.address(
                    "/topic", name=state.topic, before=state.version, after=current.version
                ),
            )


def _content(content: str, marked: tuple[int, int] | None, classes: str) -> None:
    """Draw a text, or the part of a long one around the marked characters."""
    start, end = marked or (0, 0)
    first = max(0, min(start - CHARACTERS_SHOWN // 3, len(content) - CHARACTERS_SHOWN))
    last = first + CHARACTERS_SHOWN
    if first:
        text(f"{first:,} characters before this are not shown.", "muted small", "p")
    with text(content[first:start] if marked else content[first:last], classes, "pre"):
        if marked:
            passage = text(content[start:end], "", "mark", id="passage")
            passage.run_method("scrollIntoView", {"block": "center"})
            text(content[end : max(end, last)])
    if last < len(content):
        text(f"{len(content) - last:,} characters after this are not shown.", "muted small", "p")
    if not content:
        text("This state has no text.", "muted")
