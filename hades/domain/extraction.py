"""What an extraction found in texts, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hades.domain.answer import Usage

FACTS_LISTED = 1_000
PATTERNS = "patterns"
"""What read a fact that no model did."""


EXTRACTED_FROM, APPROVED_BY = "extracted_from", "approved_by"
"""Keys in the metadata of an edge: the state it was extracted from, and who approved it."""


def extraction_metadata(by: str, source: str, start: int, end: int) -> dict[str, object]:
    """What an edge says of the text it was read in; a purge of that erases the edge by it."""
    return {"extracted_by": by, EXTRACTED_FROM: source, "span": [start, end]}


@dataclass(frozen=True, slots=True)
class ExtractedFact:
    """A fact that a state tells, with its time, its place and what became of it."""

    subject: str
    relation: str
    object: str
    exclusive: bool
    negated: bool
    """It says that this does not hold, or no longer."""
    confidence: float
    valid_from: datetime
    valid_to: datetime | None
    source: str
    """The state it stands in: `people/maya@2`, characters `start` to `end`."""
    start: int
    end: int
    evidence: str
    by: str
    """`patterns`, or the model that read it."""
    outcome: str = ""
    """applied, proposed, ended, known, nothing to end, unsure or refused."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What `extract` did, or would do in a dry run."""

    states: int
    """How many were read."""
    facts: tuple[ExtractedFact, ...] = ()
    """The first thousand."""
    outcomes: Mapping[str, int] = field(default_factory=dict)
    """How many facts were applied, proposed …"""
    failed: int = 0
    """Facts that could not be stored or, of a model, that failed the checks."""
    failures: tuple[str, ...] = ()
    """Why, the first thousand."""
    usage: Usage | None = None
    """What a model took; in a dry run what it would take at most."""
    dry_run: bool = False
