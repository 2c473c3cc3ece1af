"""Answers made by hand, for tests of what is done with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from hades.domain.answer import (
    Conveyance,
    Intent,
    Interval,
    Mode,
    Note,
    Passage,
    Path,
    Recall,
    StageReport,
    Step,
)
from hades.domain.graph import Node, Reason
from hades.domain.trace import Chunk

LIKELY = Interval(0.8, 0.6, 0.9)
SPRING = datetime(2024, 3, 1, tzinfo=UTC)


def passage(text: str, topic: str = "notes/a", *, heading: str = "", line: int = 1) -> Passage:
    return Passage(
        chunk=Chunk(topic, 2, 0, text, 0, len(text), heading),
        line=line,
        end_line=line + text.count("\n"),
        valid_from=SPRING,
        recorded_at=SPRING,
        score=0.9,
        parts={"meaning": 0.7, "words": 0.2},
        doors=("meaning", "graph"),
        belief=LIKELY,
    )


def path(*names: str, reliability: float = 0.5, snippet: str = "", weight: float = 1.0) -> Path:
    steps = tuple(
        Step("leads_to", Node("entity", name), weight, snippet=snippet) for name in names[1:]
    )
    return Path(Node("topic", names[0]), steps, reliability, LIKELY)


def recall(question: str, passages: Sequence[Passage] = (), paths: Sequence[Path] = ()) -> Recall:
    return Recall(
        question=question,
        intent=Intent.LOOKUP,
        evidence="no rule applies",
        mode=Mode.EXECUTION,
        space="default",
        passages=tuple(passages),
        paths=tuple(paths),
        context=f"Question: {question}",
        tokens=7,
        citations=(),
        plan={"q": 2},
        reasons=(Note(Reason.EVICTED, "pack", "2 passages, 90 tokens"),),
        telemetry=(
            StageReport("seeds", 2.0, reads=12, found=12, added=12, coverage=0.5),
            StageReport("paths", 6.0, found=9, added=4, cut=5, coverage=0.75, capped=True),
        ),
        ms=8.0,
        belief=LIKELY,
        conveyance=Conveyance(0.8, 0.5, 0.8, 0.008, 0.7, 21.9),
    )
