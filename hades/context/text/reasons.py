"""Reasons in plain words: what was trimmed, stopped or done another way, as far as it matters."""

from __future__ import annotations

from collections.abc import Iterable

from hades.context.text.layout import TextLine
from hades.domain.answer import Diagnostic
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


def reason_lines(diagnostics: Iterable[Diagnostic], *, explain: bool = False) -> list[TextLine]:
    """Say what affects an answer, each thing once; with `explain` every one as recorded."""
    told = [str(one) if explain else _plain(one) for one in diagnostics]
    return [TextLine(line, style="warning") for line in dict.fromkeys(told) if line]


def _plain(diagnostic: Diagnostic) -> str:
    return _PLAIN.get(diagnostic.reason, "").format(detail=diagnostic.detail).removesuffix(": ")
