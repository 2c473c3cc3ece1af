"""What tests are about: a story to remember, and answers made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import hades
from hades.models.encoder import count_tokens
from hades.recall.question.reading import read_question

LIKELY = hades.Interval(0.8, 0.6, 0.9)
SPRING = datetime(2024, 3, 1, tzinfo=UTC)


def spring() -> int:
    """A clock that stands still on the first of March 2024."""
    return int(SPRING.timestamp()) * 1_000_000


T1, T2 = "2024-01-10", "2024-02-20"

UNHURRIED = {
    "retriever": {"timeout_ms": 60_000},
    "graph": {"timeout_ms": 60_000},
    "reranker": {"timeout_ms": 60_000},
    "budget": {"latency_ms": 60_000},
}
"""A plan whose limits a machine busy with other tests does not reach."""


def with_more(plan: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """A plan with more keys; parts that both have are joined."""
    joined = {
        key: with_more(plan.get(key, {}), part)
        for key, part in more.items()
        if part.__class__ is dict
    }
    return plan | more | joined


def remember_story(memory: hades.Memory) -> None:
    """Approach X is rejected because of Bug Y; a refactoring fixes it, and X is viable."""
    memory.remember(
        "design/approach_x",
        "Considered approach X but rejected due to Bug Y.",
        tags=["decision"],
        valid_from=T1,
    )
    memory.remember("bugs/bug_y", "Bug Y causes data corruption in approach X.", valid_from=T1)
    memory.relate(
        "design/approach_x",
        "rejected_because",
        "bugs/bug_y",
        evidence="Approach X rejected because it triggers Bug Y",
        valid_from=T1,
    )
    memory.remember("lunch", "The soup was good, said the cook.", valid_from=T1)
    memory.remember("refactoring/q1", "Refactored the data layer, Bug Y is gone.", valid_from=T2)
    memory.remember("bugs/bug_y", "Bug Y fixed: the data layer was refactored.", valid_from=T2)
    memory.change_fact(
        "design/approach_x",
        "rejected_because",
        to="refactoring/q1",
        content="Approach X is viable after the fix of Bug Y.",
        evidence="Approach X now viable due to refactoring",
        at=T2,
    )


def passage(
    text: str, topic: str = "notes/a", *, heading: str = "", line: int = 1
) -> hades.Passage:
    return hades.Passage(
        chunk=hades.Chunk(topic, 2, 0, text, 0, len(text), heading, count_tokens([text])[0]),
        line=line,
        end_line=line + text.count("\n"),
        valid_from=SPRING,
        recorded_at=SPRING,
        score=0.9,
        parts={"meaning": 0.7, "words": 0.2},
        retrievers=("meaning", "graph"),
        belief=LIKELY,
        entities=("Bug Y",),
    )


def path(
    *names: str, reliability: float = 0.5, snippet: str = "", weight: float = 1.0
) -> hades.Path:
    steps = tuple(
        hades.Step("leads_to", hades.Node("entity", name), weight, snippet=snippet)
        for name in names[1:]
    )
    return hades.Path(hades.Node("topic", names[0]), steps, reliability, LIKELY)


def recall(
    question: str, passages: Sequence[hades.Passage] = (), paths: Sequence[hades.Path] = ()
) -> hades.Recall:
    return hades.Recall(
        asked=read_question(question, 0),
        space="default",
        passages=tuple(passages),
        paths=tuple(paths),
        context=f"Question: {question}",
        tokens=7,
        citations=(),
        plan={"facts": 5},
        reasons=(hades.Diagnostic(hades.Reason.EVICTED, "pack", "2 passages, 90 tokens"),),
        telemetry=(
            hades.StageReport("seeds", 2.0, reads=12, found=12, added=12, coverage=0.5),
            hades.StageReport(
                "paths", 6.0, found=9, added=4, cut=5, coverage=0.75, capped=True, begun_ms=2.0
            ),
        ),
        ms=8.0,
        belief=LIKELY,
        conveyance=hades.Conveyance(21.9, 0.32, 0.7),
    )
