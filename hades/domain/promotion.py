"""Promotion, suggestions and the quality of a space: what they give back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hades.domain.answer import Usage
from hades.domain.graph import Edge
from hades.domain.proposal import Proposal
from hades.domain.topics import State

SURER = 0.2
LATER = timedelta(days=1)
"""By so much one source must be surer, or later, than another to be taken: judgements."""


@dataclass(frozen=True, slots=True)
class Side:
    """What a source says: a sentence of a state, or an edge; one side of a disagreement."""

    text: str
    source: str
    """How to cite it: `plan@2`, or `edge 7`."""
    confidence: float
    since: datetime

    def __str__(self) -> str:
        said = f"“{self.text}” " if self.text else ""
        return f"{said}[{self.source}, {self.since:%Y-%m-%d}, confidence {self.confidence:g}]"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two sources that say different things of one thing, and which of them is taken."""

    sides: tuple[Side, Side]

    @property
    def taken(self) -> tuple[int | None, str]:
        """The side that is taken and by which rule; None: somebody has to look at it."""
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
    """What `promote` wrote, or would write in a dry run."""

    state: State
    """The new state; where there was no news, the one there is."""
    before: State
    changed: bool
    by: str
    """`extractive`: sentences of its sources; `model`: sentences of a model, each checked."""
    sources: tuple[str, ...]
    kept: tuple[Edge, ...] = ()
    closed: tuple[Edge, ...] = ()
    opened: tuple[Edge, ...] = ()
    proposed: tuple[Proposal, ...] = ()
    """What waits for review."""
    conflicts: tuple[Disagreement, ...] = ()
    dropped: int = 0
    """Sentences of the model that their sources do not support."""
    why: str = ""
    """Why it is extractive though a model was asked."""
    usage: Usage | None = None
    """What the model took; in a dry run what it would take at most."""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Two topics that no edge joins and that have to do with each other, and why one thinks so."""

    topic: str
    other: str
    score: float
    evidence: tuple[str, ...]
    command: str
    """What would join them."""


@dataclass(frozen=True, slots=True)
class QualityFinding:
    """One kind of thing that could be better in a space."""

    what: str
    count: int
    examples: tuple[str, ...]
    advice: str
    """What to do about it: a command."""


@dataclass(frozen=True, slots=True)
class QualityReport:
    """What could be better in a space, by kind; kinds without a finding are there with 0."""

    space: str
    topics: int
    compared: int
    """Topics that were compared with each other: the latest so many."""
    unindexed: int
    """States that could not be indexed now: what is said of their topics may be wrong."""
    findings: tuple[QualityFinding, ...]
