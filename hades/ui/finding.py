"""How an answer was found: the stages over time, the work of each, and reasons in words."""

from __future__ import annotations

from hades.domain.answer import Diagnostic, Recall, StageReport
from hades.domain.graph import Reason
from hades.domain.plain import counted
from hades.ui.controls import box, text

_REASONS = {
    Reason.CAP_EXCEEDED: "A limit of the plan was reached",
    Reason.COVERAGE_REACHED: "Stopped early: all words of the question were covered",
    Reason.TIMEOUT: "Stopped at its time limit",
    Reason.BUDGET_EXHAUSTED: "Limited by the budget",
    Reason.CLAMPED: "A value was outside the allowed range",
    Reason.IGNORED: "A part of the plan was ignored",
    Reason.RAISED: "A limit was raised for this question",
    Reason.NO_EMBEDDINGS: "Some passages have no vector yet, and are found by words and names",
    Reason.EMPTY_GRAPH: "There is no graph to follow yet",
    Reason.EVICTED: "Left out for lack of space",
    Reason.FALLBACK: "Done in a simpler way",
    Reason.SWITCHED_OFF: "Switched off by the plan",
    Reason.NOTHING_NAMED: "The question names nothing that the memory knows",
    Reason.NOTHING_FOUND: "Nothing was found here",
    Reason.NOTHING_KNOWN: "Nothing was remembered at that time",
    Reason.NOTHING_NOTED: "Nothing is noted about this",
    Reason.NOT_CONNECTED: "The names are not connected",
    Reason.NOT_INDEXED: "Not everything is indexed yet",
    Reason.ENCODER_FAILED: "Found by words and names only: the encoder failed",
    Reason.CUT_QUESTION: "The question was shortened",
    Reason.FOLLOW_UP: "Read with the questions and answers before it",
    Reason.NO_HIERARCHY: "There are no clusters yet: `hades organise` makes them",
    Reason.ARCHIVE_LOST: "Without what lies in the archive",
    Reason.VOLUME_MISSING: "Without a volume of the library",
}


def how_found(recall: Recall) -> None:
    """Draw how an answer was found."""
    with box("stack", "section", **{"aria-label": "How it was found"}):
        with box("tight small"):
            text(str(recall.asked))
            if recall.time is not None:
                text(f"Time: {recall.time}.")
            allowed = recall.plan.get("budget", {}).get("tokens")
            room = f" of {allowed:,}" if allowed else ""
            text(
                f"{recall.ms:.0f} ms, {recall.tokens:,}{room} tokens, "
                f"{counted(sum(stage.reads for stage in recall.telemetry), 'document')} read."
            )
            for number, passage in enumerate(recall.passages, 1):
                text(
                    f"[{number}] belief {passage.belief.mean:.0%}, "
                    f"found by {', '.join(passage.retrievers)}.",
                    "muted",
                )
        _waterfall(recall)
        lines = list(dict.fromkeys(map(_reason, recall.reasons)))
        if lines:
            with box("tight"):
                text("Limits and notes", "", "h2")
                for line in lines:
                    text(line, "small", "p")


def _waterfall(recall: Recall) -> None:
    whole = max((stage.begun_ms + stage.ms for stage in recall.telemetry), default=0.0) or 1e-9
    with box("fall", role="list", **{"aria-label": "Stages"}):
        for stage in sorted(recall.telemetry, key=lambda stage: stage.begun_ms):
            text(stage.stage.replace("_", " "), role="listitem")
            with box("track"):
                left = min(100 * stage.begun_ms / whole, 98.5)
                box("span").style(f"left: {left:.2f}%; width: {100 * stage.ms / whole:.2f}%")
            text(f"{stage.ms:.1f} ms", "muted")
            text(_did(stage), "did")


def _did(stage: StageReport) -> str:
    counts = {"found": stage.found, "new": stage.added, "cut": stage.cut, "read": stage.reads}
    parts = [f"{count:,} {word}" for word, count in counts.items() if count]
    parts += [f"covers {stage.coverage:.0%} of the question"] if stage.coverage else []
    parts += ["reached its limit"] if stage.capped else []
    parts += ["stopped early"] if stage.early_stop else []
    return ", ".join(parts)


def _reason(note: Diagnostic) -> str:
    words = _REASONS.get(note.reason, note.reason.value)
    return f"{note.stage}: {words}" + (f" ({note.detail})." if note.detail else ".")
