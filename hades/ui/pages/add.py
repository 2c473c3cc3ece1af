"""Add: write a note, paste a text or drop files; see what happened, and undo it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.events import MultiUploadEventArguments

from hades.domain.plain import counted, one_line
from hades.domain.topics import State
from hades.errors import Conflict, InvalidInput, NotFound
from hades.serve.auth.caller import Role
from hades.serve.jobs import Job
from hades.ui.controls import (
    TOO_LARGE,
    area,
    box,
    button,
    empty,
    error,
    field,
    form,
    link,
    select,
    text,
)
from hades.ui.frame import Frame, page

FILE_BYTES_AT_MOST = 30_000_000
FILES_AT_MOST = 50
LOOK_EVERY_S = 0.3
SHOWN_AT_MOST = 50
_KINDS = {
    "note": "A note: adds to what the topic says",
    "document": "A text: replaces what the topic says",
}


@page("/add", "Add", role=Role.WRITER)
async def add(frame: Frame) -> None:
    """Draw the form for a text, the place for files, and what was added since."""
    text("Add to the memory", "", "h1")
    if not frame.may_write:
        empty("You are looking at the past, which cannot be changed.", then="Press Now above.")
        return
    additions: Element
    with box("two"):
        with box("stack"):
            text("Write or paste", "", "h2")
            with form(lambda given: _write(frame, given, additions), "card stack"):
                with box("line"):
                    field("topic", "Topic, such as design/approach_x", "", "grow", required=True)
                    select("kind", "Kind", _KINDS, "note")
                area("content", "The text", required=True)
                with box("line"):
                    field("tags", "Tags, with commas between", "", "grow")
                    field("valid_from", "True since, such as 2024-02-01 (now)", "", "grow")
                    text("Remember", "act main", "button", type="submit")
            text("Files", "", "h2")
            sent = ui.upload(
                multiple=True,
                auto_upload=True,
                label=f"Drop files here, or press + (at most {FILE_BYTES_AT_MOST // 10**6} MB)",
                max_total_size=FILE_BYTES_AT_MOST,
                max_files=FILES_AT_MOST,
                on_multi_upload=lambda event: _send(frame, event, additions),
                on_rejected=lambda: _say(additions, _TOO_MUCH),
            )
            sent.classes("files").props("flat bordered")
        with box("stack"):
            text("Added just now", "", "h2")
            with box("stack", **{"aria-live": "polite"}) as additions:
                text("What you add is listed here, and can be undone.", "muted", "p")


_TOO_MUCH = (
    f"At most {FILES_AT_MOST} files and {FILE_BYTES_AT_MOST // 10**6} MB can be dropped at once: "
    "add them in parts, or run `hades ingest` on the server."
)


def _say(additions: Element, sentence: str) -> None:
    with additions:
        error(sentence)


async def _write(frame: Frame, given: Mapping[str, Any], additions: Element) -> None:
    with additions, frame.errors():
        if TOO_LARGE in given:
            size = int(given[TOO_LARGE]) / 10**6
            raise InvalidInput(
                f"This text has {size:.1f} MB, too much to paste: save it as a file and drop it."
            )
        topic = str(given.get("topic", "")).strip()
        before = await _latest(frame, topic) if topic else None
        tags = [tag.strip() for tag in str(given.get("tags", "")).split(",") if tag.strip()]
        state: State = await frame.call_now(
            "remember",
            topic=topic,
            content=given.get("content", ""),
            kind=given.get("kind") or None,
            tags=tags or None,
            valid_from=str(given.get("valid_from", "")).strip() or None,
        )
        if before is not None and state.version == before.version:
            text(f"{one_line(topic)} says this already: nothing was added.", "note", "p")
            return
        with box("card", "article"):
            text(f"Remembered as version {state.version}.", "", "p")
            _outcome(frame, {state.topic: state.version})


async def _send(frame: Frame, event: MultiUploadEventArguments, additions: Element) -> None:
    with additions, frame.errors():
        names = ", ".join(one_line(file.name) for file in event.files)
        job = await frame.visitor.add_files(frame.space, event.files)
        with box("card", "article") as card:
            text(names[:300], "", "p")
            progress = box("muted small")
        while not job.ended:
            await asyncio.sleep(LOOK_EVERY_S)
            if job.progress is not None:
                of = f" of {job.progress.total:,}" if job.progress.total else ""
                progress.clear()
                with progress:
                    text(f"{job.progress.what}: {job.progress.done:,}{of} …")
        progress.delete()
        with card:
            _ended(frame, job)


def _ended(frame: Frame, job: Job) -> None:
    if job.problem is not None:
        error(job.problem.detail)
    if job.result is None:
        return
    counts = [f"{job.result[name]:,} {name}" for name in ("added", "changed", "unchanged")]
    text(f"{', '.join(counts)}.", "", "p")
    skipped = job.result["skipped"]
    if skipped:
        with box("error", "ul", role="alert"):
            for place, why in skipped[:SHOWN_AT_MOST]:
                text(f"{one_line(place)}: {why}"[:500], "", "li")
            if len(skipped) > SHOWN_AT_MOST:
                text(f"… and {len(skipped) - SHOWN_AT_MOST:,} more.", "", "li")
    if job.result["written"]:
        _outcome(frame, job.result["written"])
    elif job.result["unchanged"]:
        text("A forgotten topic stays so until its file changes.", "muted small", "p")


def _outcome(frame: Frame, written: dict[str, int]) -> None:
    """List the topics that were written, with a button that undoes it."""
    with box("line"):
        for topic in list(written)[:SHOWN_AT_MOST]:
            link(one_line(topic), frame.address("/topic", name=topic))
    place = box("line")

    async def undo() -> None:
        place.clear()
        with place, frame.errors():
            for topic, version in written.items():
                await _undo(frame, topic, version)
            text(f"Undone: {counted(len(written), 'topic')}.", "chip old")

    with place:
        button("Undo", undo, "small")


async def _undo(frame: Frame, topic: str, version: int) -> None:
    """Forget a version, or write again what held before it; the trace keeps both."""
    states: list[State] = await frame.call_now("history", topic=topic)
    if states[-1].version != version:
        raise Conflict(f"{one_line(topic)} was changed since: look at its trace.")
    before = next((state for state in states if state.version == version - 1), None)
    if before is None or before.forgotten:
        await frame.call_now("forget", topic=topic)
    else:
        await frame.call_now(
            "remember",
            topic=topic,
            content=before.content,
            tags=list(before.tags),
            expect_version=version,
        )


async def _latest(frame: Frame, topic: str) -> State | None:
    try:
        state: State = await frame.call_now("get", topic=topic)
    except NotFound:
        return None
    return state
