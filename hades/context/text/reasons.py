"""Reasons in plain words: what was trimmed, stopped or done another way, as far as it matters."""

from __future__ import annotations

from collections.abc import Iterable

from hades.context.text.layout import TextLine
from hades.domain.answer import Note
from hades.domain.graph import Reason

_PLAIN = {
    Reason.TIMEOUT: "stopped {detail}",
    Reason.BUDGET_EXHAUSTED: "limited by the budget: {detail}",
    Reason.EVICTED: "left out for want of room: {detail}",
    Reason.CLAMPED: "outside the allowed range: {detail}",
    Reason.NO_EMBEDDINGS: "{detail}, and are found by words and names only",
    Reason.ENCODER_FAILED: "found by words and names only, the encoder failed: {detail}",
    Reason.NOT_INDEXED: "not everything is indexed yet: {detail}",
    Reason.NOTHING_KNOWN: "{detail}",
    Reason.NOTHING_NOTED: "{detail}",
    Reason.CUT_QUESTION: "the question was shortened: {detail}",
    Reason.NO_HIERARCHY: "{detail}",
    Reason.ARCHIVE_LOST: "without what lies in the archive: {detail}",
}
"""The reasons that affect an answer. All others are details for `--explain`."""


def reason_lines(notes: Iterable[Note], *, explain: bool = False) -> list[TextLine]:
    """Say what affects an answer, each thing once; with `explain` every note as recorded."""
    told = [str(note) if explain else _plain(note) for note in notes]
    return [TextLine(line, style="warning") for line in dict.fromkeys(told) if line]


def _plain(note: Note) -> str:
    return _PLAIN.get(note.reason, "").format(detail=note.detail).removesuffix(": ")
