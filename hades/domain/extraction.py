"""Extraction: the facts found in texts, and the outcome of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hades.domain.answer import Usage

FACTS_LISTED = 1_000
PATTERNS = "patterns"
"""The reader of facts that were found without a model."""


EXTRACTED_FROM = "extracted_from"
APPROVED_BY = "approved_by"
"""Keys in the metadata of an edge: the state it was extracted from, and who approved it."""


def extraction_metadata(by: str, source: str, start: int, end: int) -> dict[str, object]:
    """Return metadata that links an edge to its source text, so that a purge finds the edge."""
    return {"extracted_by": by, EXTRACTED_FROM: source, "span": [start, end]}


@dataclass(frozen=True, slots=True)
class ExtractedFact:
    """A fact found in a state, with its time, its place and its outcome."""

    subject: str
    relation: str
    object: str
    exclusive: bool
    negated: bool
    """Whether the text says that the fact does not hold, or no longer holds."""
    confidence: float
    valid_from: datetime
    valid_to: datetime | None
    source: str
    """The state that states it: `people/maya@2`, characters `start` to `end`."""
    start: int
    end: int
    evidence: str
    by: str
    """`patterns`, or the model that read it."""
    outcome: str = ""
    """applied, proposed, ended, known, nothing to end, unsure or refused."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """The result of `extract`, or what a dry run would do."""

    states: int
    """How many states were read."""
    facts: tuple[ExtractedFact, ...] = ()
    """At most FACTS_LISTED."""
    outcomes: Mapping[str, int] = field(default_factory=dict)
    """How many facts were applied, proposed …"""
    failed: int = 0
    """Facts that could not be stored, and facts of a model that failed the checks."""
    failures: tuple[str, ...] = ()
    """The reasons, at most FACTS_LISTED."""
    usage: Usage | None = None
    """The usage of a model; in a dry run the most it would use."""
    dry_run: bool = False
