"""The hierarchy of a space: clusters of chunks (level 1) and clusters of clusters (level 2).

`organise` makes it. A chunk belongs to one cluster of level 1 at a time, and each membership is a
row with the time from which and until which it was believed, so the rows are their own journal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from hades.domain.times import from_micros
from hades.domain.usage import Usage
from hades.errors import InvalidInput

LOW = 1
HIGH = 2
"""The levels: clusters of chunks, and clusters of such clusters."""
FAN_OUT = 16
"""The most clusters of level 1 that one cluster of level 2 has."""
JOINED_AT_MOST = 0.2
"""Organise again when more than this share of the chunks came or went since."""
NEARNESS_LOST_AT_MOST = 0.1
"""Organise again when chunks that joined are this much farther (in cosine) from their centroids
than the chunks that the clusters were made of."""
JOINED_AT_LEAST = 10
"""With fewer joined chunks than this, their mean nearness is not compared."""
MEMBER_OF = "member_of"
SUBTOPIC_OF = "subtopic_of"
SIBLING = "sibling"
"""Relations of the hierarchy: chunk to cluster, cluster to parent, cluster to cluster. They are
derived from the clusters and memberships when read."""
_PREFIX = "c_"


def cluster_name(number: int) -> str:
    """Return the name of a cluster, such as `c_42`."""
    return f"{_PREFIX}{number}"


def cluster_number(name: str) -> int | None:
    """Return the number in the name of a cluster; None if it is not the name of a cluster."""
    digits = name.removeprefix(_PREFIX)
    is_name = name.startswith(_PREFIX) and digits.isascii() and digits.isdigit()
    return int(digits) if is_name and len(digits) <= 18 else None


def are_distant(group: int | None, other: int | None) -> bool:
    """Return whether two chunks are in distant communities: their clusters of level 2 differ.

    A relation between them is a bridge (`layer_bridge`). A chunk without a cluster (None) has no
    distant ones.
    """
    return group is not None and other is not None and group != other


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of chunks with similar meaning, or of such groups."""

    id: str
    """Such as `c_42`; never used again for another cluster."""
    level: int
    label: str
    """A phrase that names it, or two; empty after one of its texts was purged."""
    summary: str
    """Sentences about it, each with a citation; empty after one of its texts was purged."""
    size: int
    """The number of its chunks; at level 2, of the chunks of its children."""
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A chunk of a cluster."""

    cite: str
    nearness: float
    """The cosine of its vector and the centroid."""
    since: datetime
    previous: str | None = None
    """The cluster that it belonged to before."""
    until: datetime | None = None
    """When it left the cluster; None while it is a member."""


@dataclass(frozen=True, slots=True)
class Drift:
    """How far a space has moved from its hierarchy."""

    joined: int
    """Chunks that joined since the hierarchy was made."""
    gone: int
    """Members whose text no longer holds."""
    nearness: float
    """The mean cosine of the chunks that joined and their centroids; 0 if none joined."""
    due: str
    """Why organising again is proposed; empty if it is not."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A hierarchy and how it was made."""

    id: int
    made_at: datetime
    until: datetime | None
    """When another one replaced it; None for the current one."""
    encoder: str
    seed: int
    chunks: int
    """The chunks that it was made of."""
    clusters: int
    """Its clusters of level 1."""
    groups: int
    """Its clusters of level 2."""
    nearness: float
    """The mean cosine of these chunks and their centroids."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of the algorithm and of the libraries."""
    revision: int = 0
    """The change number that it was made at."""
    skipped: int = 0
    """Chunks whose vector could not be used."""
    by: str = "extractive"
    """How the summaries were written: `extractive`, or the name of the model."""
    restored_from: int | None = None
    drift: Drift | None = None


_NOT_DETAILS = {"id", "made_at", "until", "encoder", "drift"}
_DETAILS = {item.name for item in fields(Hierarchy)} - _NOT_DETAILS


def read_details(text: str) -> dict[str, Any]:
    """Return the details of a hierarchy; raise InvalidInput if they are not ours."""
    details = json.loads(text)
    if not isinstance(details, dict) or not details.keys() <= _DETAILS:
        raise InvalidInput("The details of a hierarchy cannot be read.")
    Hierarchy(0, from_micros(0), None, "", **details)
    return details


@dataclass(frozen=True, slots=True)
class HierarchyReport:
    """The current hierarchy with its clusters, and the ones before it."""

    current: Hierarchy | None
    clusters: tuple[Cluster, ...] = ()
    """Level 2 first, each level by size."""
    history: tuple[Hierarchy, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """One cluster with its surroundings."""

    cluster: Cluster
    children: tuple[Cluster, ...] = ()
    siblings: tuple[Cluster, ...] = ()
    """The nearest clusters with the same parent, nearest first."""
    members: tuple[Member, ...] = ()
    """Its chunks, the most central first."""


@dataclass(frozen=True, slots=True)
class Organisation:
    """The result of `organise`."""

    hierarchy: Hierarchy | None
    """The hierarchy that holds now, or would hold after a dry run."""
    made: bool
    why: str = ""
    """Why it was made, or why not."""
    seconds: float = 0.0
    peak_mb: int = 0
    """The peak memory of this process since it started, in MB."""
    dry_run: bool = False
    usage: Usage | None = None
    """The usage of the model, if one wrote the summaries."""


@dataclass(frozen=True, slots=True)
class Theme:
    """A cluster in an answer, with its share of the passages or votes, and passages to cite."""

    cluster: Cluster
    score: float
    cites: tuple[str, ...] = ()
