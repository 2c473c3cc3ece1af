"""Results of the agents, and the transcript of their steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hades.domain.answer import Answer
from hades.domain.graph import Edge


@dataclass(frozen=True, slots=True)
class TranscriptStep:
    """One step of an agent: its work and its cost."""

    step: str
    """The node of the graph: plan, recall, judge, drill or answer of a query agent; plan, step,
    validate or join of a planning agent; decide or apply of a memory agent."""
    detail: str
    ms: float = 0.0
    reads: int = 0
    """Documents that a recall looked at."""
    tokens: int = 0
    """Tokens of the context that the step packed, or that a model read and wrote."""
    by: str = "rules"
    """`rules`, or the model that decided."""

    def __str__(self) -> str:
        cost = f"{self.ms:.0f} ms, {self.reads} reads, {self.tokens} tokens"
        return f"{self.step}: {self.detail} ({self.by}; {cost})"


@dataclass(frozen=True, slots=True)
class AgentEdge:
    """A fact about the subject of an answer, as in TracingRAG."""

    source: str
    type: str
    target: str
    active: bool
    valid_from: datetime
    valid_until: datetime | None = None
    superseded_by: int | None = None
    id: int = 0

    @classmethod
    def of(cls, edge: Edge, *, active: bool) -> AgentEdge:
        """Return an edge in this form."""
        return cls(
            edge.source.name,
            edge.relation,
            edge.target.name,
            active,
            valid_from=edge.valid_from,
            valid_until=edge.valid_to,
            superseded_by=edge.superseded_by,
            id=edge.id,
        )


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """The answer of a query agent: the result that TracingRAG defines, with its evidence."""

    question: str
    current_answer: str
    reasoning: str
    """The facts about the cited topics that hold, in words."""
    historical_context: str
    """Earlier versions of the cited topics and facts that ended, in words."""
    edges: tuple[AgentEdge, ...]
    obsolete_edges: tuple[AgentEdge, ...]
    needs_drill_down: bool
    """Whether the answer rests on summaries, or something asked for was not found."""
    drill_down_target: str
    """The original behind the best summary line, or the name to ask for; "" without one."""
    answer: Answer
    """The sentences with their sources, and the recall of all passes together."""
    transcript: tuple[TranscriptStep, ...] = ()

    def __str__(self) -> str:
        return self.current_answer

    @property
    def passes(self) -> int:
        """The number of recalls."""
        return sum(step.step in ("recall", "drill") for step in self.transcript)


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step of a planning agent, with its answer and whether that answers it."""

    question: str
    why: str
    status: str
    """`answered`, `partly` or `nothing found`."""
    said: str
    missing: tuple[str, ...] = ()
    """Words of the step that its best source does not contain."""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The answer of a planning agent, step by step."""

    question: str
    text: str
    steps: tuple[PlannedStep, ...]
    transcript: tuple[TranscriptStep, ...] = ()

    def __str__(self) -> str:
        return self.text

    @property
    def is_complete(self) -> bool:
        """Whether every step was answered."""
        return all(step.status == "answered" for step in self.steps)


@dataclass(frozen=True, slots=True)
class MemoryAction:
    """The action that a memory agent suggests for one part of a text, or has carried out."""

    action: str
    """`write`, `change`, `relate`, `promote` or `leave`."""
    topic: str
    text: str
    why: str
    fields: Mapping[str, Any]
    """The arguments of the operation."""
    confidence: float = 1.0
    outcome: str = ""
    """After applying: `done`, `left`, `waits for review: …`, `refused: …`; "" before."""

    def __str__(self) -> str:
        head = f"{self.action} {self.topic}".strip()
        outcome = f" ({self.outcome})" if self.outcome else ""
        return f"{head}: {self.text} — {self.why}{outcome}"


@dataclass(frozen=True, slots=True)
class MemoryDecision:
    """The actions of a memory agent for one text; `applied` says whether they were carried out."""

    actions: tuple[MemoryAction, ...]
    applied: bool
    transcript: tuple[TranscriptStep, ...] = ()
