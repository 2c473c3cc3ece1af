"""The summary of an ingestion."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Summary:
    """Numbers of documents by outcome, and seconds by phase."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    renamed: int = 0
    removed: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """The location of each skipped source (file and line), and the reason."""
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, other: Summary) -> None:
        """Add the summary of another part of the same source."""
        self.added += other.added
        self.changed += other.changed
        self.unchanged += other.unchanged
        self.renamed += other.renamed
        self.removed += other.removed
        self.skipped += [one for one in other.skipped if one not in self.skipped]
        for phase, seconds in other.seconds.items():
            self.seconds[phase] = max(seconds, self.seconds.get(phase, 0.0))
