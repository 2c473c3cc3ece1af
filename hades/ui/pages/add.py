"""Add: write a note, paste a text or drop files; see what happened, and undo it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.events import MultiUploadEventArguments

from hades.domain.plain import counted, one_line
from hades.domain.topics import State, Topic
from hades.errors import Conflict, InvalidInput
from hades.serve.auth.browsers import Addition
from hades.serve.auth.caller import Role
from hades.serve.sent_files import BYTES_AT_MOST, FILES_AT_MOST, TOO_MUCH, SentFile
from hades.ui.controls import (
    FORM_BYTES_AT_MOST,
    TOO_LARGE,
    area,
    box,
    button,
    empty,
    error,
    field,
    forget_area,
    form,
    link,
    select,
    text,
)
from hades.ui.frame import Frame, page
from hades.ui.pages.topics import literal

LOOK_EVERY_S = 0.3
SHOWN_AT_MOST = 50
FACTS_CHANGE_FROM = 1.0
"""Facts that a note changes are proposed, not changed at once, so that undo takes back all."""
_KINDS = {"note": "If new: a note", "document": "If new: a text"}


@page("/add", "Add", role=Role.WRITER)
async def add(frame: Frame) -> None:
    """Draw the form for a text, the place for files, and what was added in this session."""
    text("Add to the memory", "", "h1")
    if not frame.may_write:
        empty("You are looking at the past, which cannot be changed.", then="Press Now above.")
        return
    additions: Element
    with box("two"):
        with box("stack"):
            text("Write or paste", "", "h2")
            text("Later notes add to what a topic says; a later text replaces it.", "muted small")
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
                max_total_size=BYTES_AT_MOST,
                max_files=FILES_AT_MOST,
                on_multi_upload=lambda event: _send(frame, event, additions),
                on_rejected=lambda: _say(additions, TOO_MUCH),
            )
            sent.classes("files").props("flat bordered").add_slot("header", _HEADER)
        with box("stack"):
            text("Added in this session", "", "h2")
            text("Each addition is listed here, and can be undone.", "muted", "p")
            with box("stack", **{"aria-live": "polite"}) as additions:
                for addition in frame.visitor.session.additions:
                    if addition.space == frame.space:
                        _card(frame, addition)


_HEADER = f"""<div class="line spread" style="padding: 8px 12px">
    Drop files here, at most {BYTES_AT_MOST // 10**6} MB
    <button type="button" class="act" @click="props.pickFiles">Choose files</button>
    <span hidden><q-uploader-add-trigger></q-uploader-add-trigger></span></div>"""


def _say(additions: Element, sentence: str) -> None:
    with additions:
        error(sentence)


async def _write(frame: Frame, given: Mapping[str, Any], additions: Element) -> None:
    with additions, frame.errors():
        addition = await write_note(frame, given)
        forget_area("content")
        if addition is None:
            text("The topic says this already: nothing was added.", "note", "p")
        else:
            _card(frame, addition)


async def write_note(frame: Frame, given: Mapping[str, Any]) -> Addition | None:
    """Write the text of a form, and return it as an addition; None if it says nothing new."""
    content = str(given.get("content", ""))
    sent = given.get(TOO_LARGE)
    size = sent if isinstance(sent, int) else len(content.encode("utf-8", "replace"))
    if size > FORM_BYTES_AT_MOST:
        megabytes = f"This text has {size / 10**6:.1f} MB, too much to paste"
        raise InvalidInput(f"{megabytes}: save it as a file and drop it.")
    topic = str(given.get("topic", "")).strip()
    known: list[Topic] = await frame.call_now("topics", glob=literal(topic), limit=1)
    tags = [tag.strip() for tag in str(given.get("tags", "")).split(",") if tag.strip()]
    state: State = await frame.call_now(
        "remember",
        topic=topic,
        content=content,
        kind=None if known else given.get("kind") or None,
        tags=tags or None,
        valid_from=str(given.get("valid_from", "")).strip() or None,
        apply_from=FACTS_CHANGE_FROM,
    )
    if known and state.version <= known[0].versions:
        return None
    written = {state.topic: state.version}
    addition = Addition(frame.space, f"Remembered as version {state.version}.", written)
    frame.visitor.session.additions.append(addition)
    return addition


async def _send(frame: Frame, event: MultiUploadEventArguments, additions: Element) -> None:
    with additions, frame.errors():
        _card(frame, await send_files(frame, event.files))


async def send_files(frame: Frame, files: Sequence[SentFile]) -> Addition:
    """Start a job that reads files, and return it as an addition."""
    job = await frame.visitor.add_files(frame.space, files)
    names = ", ".join(one_line(file.name) for file in files)
    addition = Addition(frame.space, names[:300], {}, job)
    frame.visitor.session.additions.append(addition)
    return addition


def _card(frame: Frame, addition: Addition) -> None:
    """Draw an addition; while its job runs, update its progress now and then."""
    job = addition.job
    with box("card", "article") as card:
        text(addition.title, "", "p")
        if job is None or job.ended:
            _outcome(frame, addition)
            return
        with box("muted small") as progress:
            text("Waiting …")

    def look() -> None:
        if job.ended:
            timer.cancel()
            progress.delete()
            with card, frame.errors():
                _outcome(frame, addition)
        elif job.progress is not None:
            of = f" of {job.progress.total:,}" if job.progress.total else ""
            progress.clear()
            with progress:
                text(f"{job.progress.what}: {job.progress.done:,}{of} …")

    with card:
        timer = ui.timer(LOOK_EVERY_S, look)


def _outcome(frame: Frame, addition: Addition) -> None:
    """Draw what failed, the topics that were written, and a button that undoes it."""
    job = addition.job
    if job is not None and job.problem is not None:
        error(job.problem.detail)
    if job is not None and job.status == "cancelled":
        text("Cancelled: what was read before stays.", "note", "p")
    if job is not None and job.result is not None:
        counts = [f"{job.result[name]:,} {name}" for name in ("added", "changed", "unchanged")]
        text(f"{', '.join(counts)}.", "", "p")
        _skipped(job.result["skipped"])
        addition.written = job.result["written"]
        if not addition.written and job.result["unchanged"]:
            text("A forgotten topic stays so until its file changes.", "muted small", "p")
    with box("line"):
        for topic in list(addition.written)[:SHOWN_AT_MOST]:
            link(one_line(topic), frame.address("/topic", name=topic))
    place = box("line")

    async def undo() -> None:
        place.clear()
        with place, frame.errors():
            await undo_addition(frame, addition)
            text(f"Undone: {counted(addition.undone, 'topic')}.", "chip old")

    with place:
        if addition.undone:
            text(f"Undone: {counted(addition.undone, 'topic')}.", "chip old")
        elif addition.written:
            button("Undo", undo, "small")


def _skipped(skipped: Sequence[tuple[str, str]]) -> None:
    if not skipped:
        return
    with box("error", "ul", role="alert"):
        for place, why in skipped[:SHOWN_AT_MOST]:
            text(f"{one_line(place)}: {why}"[:500], "", "li")
        if len(skipped) > SHOWN_AT_MOST:
            text(f"… and {len(skipped) - SHOWN_AT_MOST:,} more.", "", "li")


async def undo_addition(frame: Frame, addition: Addition) -> None:
    """Take back each version that an addition wrote, unless it was changed since."""
    changed: Conflict | None = None
    for topic, version in list(addition.written.items()):
        try:
            await frame.call_now("withdraw", topic=topic, version=version)
            addition.undone += 1
        except Conflict as conflict:
            changed = conflict
        del addition.written[topic]
    if changed is not None:
        raise changed
