"""Results of `promote`, `suggest` and `quality`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hades.domain.answer import Usage
from hades.domain.graph import Edge
from hades.domain.proposal import Proposal
from hades.domain.topics import State

SURER = 0.2
LATER = timedelta(days=1)
"""How much surer, or how much later, a source must be to win a disagreement. Not measured."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a disagreement: a sentence of a state, or an edge in words."""

    text: str
    source: str
    """The citation: `plan@2`, or `edge 7`."""
    confidence: float
    since: datetime

    def __str__(self) -> str:
        quoted = f"“{self.text}” " if self.text else ""
        return f"{quoted}[{self.source}, {self.since:%Y-%m-%d}, confidence {self.confidence:g}]"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two sources that contradict each other, and the rule that decides between them."""

    sides: tuple[Side, Side]

    @property
    def taken(self) -> tuple[int | None, str]:
        """The index of the side that wins, or None if it needs review, and the rule in words."""
        one, other = self.sides
        if abs(one.confidence - other.confidence) >= SURER:
            return int(other.confidence > one.confidence), "the surer one"
        if abs(one.since - other.since) >= LATER:
            return int(other.since > one.since), "the later one"
        return None, "waits for review"

    def __str__(self) -> str:
        side, rule = self.taken
        took = "" if side is None else f", {self.sides[side].source}"
        return f"{self.sides[0]} against {self.sides[1]}: {rule}{took}"


@dataclass(frozen=True, slots=True)
class Promotion:
    """The result of `promote`, or what a dry run would write."""

    state: State
    """The new state; without news, the current one."""
    before: State
    changed: bool
    by: str
    """`extractive` (sentences of the sources) or `model` (sentences of a model, each checked)."""
    sources: tuple[str, ...]
    kept: tuple[Edge, ...] = ()
    closed: tuple[Edge, ...] = ()
    opened: tuple[Edge, ...] = ()
    proposed: tuple[Proposal, ...] = ()
    conflicts: tuple[Disagreement, ...] = ()
    dropped: int = 0
    """Sentences of the model that their sources do not support."""
    why: str = ""
    """Why the text is extractive though a model was asked."""
    usage: Usage | None = None
    """The usage of the model; in a dry run the most it would use."""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Two related topics that no edge joins, with the evidence."""

    topic: str
    other: str
    score: float
    evidence: tuple[str, ...]
    command: str
    """The command that would join them."""


@dataclass(frozen=True, slots=True)
class QualityFinding:
    """One kind of problem in a space."""

    what: str
    count: int
    examples: tuple[str, ...]
    advice: str
    """A command that helps."""


@dataclass(frozen=True, slots=True)
class QualityReport:
    """The problems of a space, by kind; a kind without a finding has count 0."""

    space: str
    topics: int
    compared: int
    """How many topics, the latest ones, were compared with each other."""
    unindexed: int
    """States not indexed yet: findings about their topics may be wrong."""
    findings: tuple[QualityFinding, ...]
    disagreements: tuple[Disagreement, ...] = ()
    """The first contradictions, with both sides."""
