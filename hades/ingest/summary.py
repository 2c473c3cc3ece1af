"""What an ingestion did."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Summary:
    """What an ingestion did: documents by what became of them, and seconds by phase."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    renamed: int = 0
    removed: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """Where, and why."""
    seconds: dict[str, float] = field(default_factory=dict)
    """By phase."""
