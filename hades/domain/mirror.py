"""The result of mirroring notes as files."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class MirrorSummary:
    """The changes that a pass of a mirror made, or with `dry_run` would make."""

    written: list[str] = field(default_factory=list)
    """Files written because their topics are new or changed in memory."""
    read: list[str] = field(default_factory=list)
    """Topics that got a new version from a file."""
    removed: list[str] = field(default_factory=list)
    """Files removed because their topics were forgotten."""
    forgotten: list[str] = field(default_factory=list)
    """Topics forgotten because their files were deleted."""
    deleted: list[str] = field(default_factory=list)
    """Files that somebody deleted; their topics are kept."""
    forget_blocked_by: str = ""
    """A skipped file that may be the new name of a deleted file, whose note was therefore kept."""
    unchanged: int = 0
    conflicts: list[tuple[str, str]] = field(default_factory=list)
    """Files with conflicts that somebody must resolve, and how."""
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """Files that were left as they are, and the reason."""
