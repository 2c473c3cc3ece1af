"""Distilling: short statements that conversations left behind."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from hades.domain.plain import counted
from hades.domain.usage import Usage

KINDS = ("decision", "preference", "constraint", "fact", "correction", "outcome", "plan")
"""The kinds of what is worth keeping, in the order of the keeper's outputs."""
BINDING = ("decision", "constraint", "preference")
"""Kinds that later work must respect."""
SAID = "said"
"""The metadata key of a distilled state: who said it, in which turn, and a digest of the words."""


@dataclass(frozen=True, slots=True)
class Distilled:
    """A statement worth keeping, and what became of it."""

    kind: str
    text: str
    by: str
    """The speaker."""
    at: datetime
    source: str
    """The conversation."""
    turn: int
    """The number of its turn in the conversation, from 0."""
    probability: float
    """How likely it is worth keeping."""
    state: str = ""
    """The state that it was stored as, such as `decisions/deploy_staging@2`; "" if none."""
    replaces: str = ""
    """The state that it made outdated."""
    replaced: str = ""
    """The sentence of that state that is outdated, if somebody wrote the note."""
    outcome: str = "kept"
    """`kept`; `known`: it was distilled before; or why it was refused."""


@dataclass(frozen=True, slots=True)
class Distillation:
    """The result of one run over conversations."""

    conversations: int
    turns: int
    statements: tuple[Distilled, ...] = ()
    """New statements, in the order in which they were said."""
    known: int = 0
    """How many statements had been distilled before."""
    usage: Usage | None = None
    """The use of a language model, if one was asked."""
    dry_run: bool = False

    @property
    def kept(self) -> tuple[Distilled, ...]:
        """The statements that were stored."""
        return tuple(one for one in self.statements if one.outcome == "kept")

    def __str__(self) -> str:
        counts = Counter(one.kind for one in self.kept)
        kinds = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind])
        kept, turns = counted(len(self.kept), "statement"), counted(self.turns, "turn")
        return f"{kept} of {turns}: {kinds}".removesuffix(": ")


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A statement of a session, with its source."""

    kind: str
    text: str
    state: str
    """The state that keeps it."""
    turn: int
    holds: bool
    """Whether no later statement made it outdated."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What one conversation was about, and what it left behind."""

    conversation: str
    at: datetime
    turns: int
    goal: str
    """The first request."""
    decided: tuple[SessionLine, ...] = ()
    """Decisions, rules and preferences."""
    done: tuple[SessionLine, ...] = ()
    """Outcomes, facts that were told or corrected, and plans that no longer hold."""
    open: tuple[SessionLine, ...] = ()
    """Plans that still hold."""
    files: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """Commands that failed."""
