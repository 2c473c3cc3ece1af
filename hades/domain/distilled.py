"""Results of distilling: statements of conversations, and summaries of sessions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from hades.domain.plain import counted
from hades.domain.usage import Usage

KINDS = ("decision", "preference", "constraint", "fact", "correction", "outcome", "plan")
"""The kinds of statements, in the order of the keeper's outputs."""
BINDING = ("decision", "constraint", "preference")
"""Kinds that later work must respect."""
SAID = "said"
"""The metadata key of a distilled state. Its value has the speaker, the turn and a digest."""


@dataclass(frozen=True, slots=True)
class Distilled:
    """A statement worth keeping, and whether it was stored."""

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
    """The keeper's probability that the statement is worth keeping."""
    state: str = ""
    """The state that it was stored as, such as `decisions/deploy_staging@2`; "" if none."""
    replaces: str = ""
    """The state that this statement made outdated; "" if none."""
    replaced: str = ""
    """The outdated sentence of that state; "" if that state is a statement too."""
    outcome: str = "kept"
    """`kept`, or why the write gate refuses it."""


@dataclass(frozen=True, slots=True)
class Distillation:
    """The result of one run of `distil`."""

    conversations: int
    turns: int
    statements: tuple[Distilled, ...] = ()
    """New statements, in the order in which they were said."""
    known: int = 0
    """How many statements were distilled before or refused by the write gate."""
    usage: Usage | None = None
    """The use of a language model, if one was asked."""
    dry_run: bool = False

    def __str__(self) -> str:
        counts = Counter(one.kind for one in self.statements)
        kinds = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind])
        kept = counted(len(self.statements), "statement")
        turns = counted(self.turns, "turn")
        return f"{kept} of {turns}: {kinds}".removesuffix(": ")


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A statement of a session, with its source."""

    kind: str
    text: str
    state: str
    """The state that stores it, such as `decisions/deploy_staging@2`."""
    turn: int
    holds: bool
    """Whether this state is still the latest version of its topic."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """The goal of one conversation, and the statements distilled from it."""

    conversation: str
    at: datetime
    turns: int
    goal: str
    """The first message of a user that is not small talk."""
    decided: tuple[SessionLine, ...] = ()
    """Decisions, rules and preferences."""
    done: tuple[SessionLine, ...] = ()
    """Outcomes, facts, corrections, and plans that no longer hold."""
    open: tuple[SessionLine, ...] = ()
    """Plans that still hold."""
    files: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """Commands that failed."""
