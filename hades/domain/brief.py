"""A brief: current decisions, open threads and recent changes of a space or a topic."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class BriefLine:
    """One line of a brief."""

    cite: str
    """A state, such as `infra/queue@2`, or `edge 4`."""
    at: datetime
    """The start of its validity; for a fact that ended, the end."""
    text: str


@dataclass(frozen=True, slots=True)
class Brief:
    """Decisions, open threads, changes and ended facts, each with the latest lines first."""

    space: str
    topic: str | None
    """The topic that it is about, with all topics below it; None: the whole space."""
    decisions: tuple[BriefLine, ...]
    open_threads: tuple[BriefLine, ...]
    changes: tuple[BriefLine, ...]
    """States that were written and facts that began lately, without those of other parts."""
    ended: tuple[BriefLine, ...]
    """Facts that ended lately."""
    budget: int
    left_out: int = 0
    """The number of lines that did not fit into the budget."""
    text: str = ""
    """The text for a model, of `tokens` tokens."""
    tokens: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether no part has a line."""
        return not (self.decisions or self.open_threads or self.changes or self.ended)
