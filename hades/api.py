"""The public names of HADES; `import hades` fetches them from here when first used."""

import importlib
from typing import TYPE_CHECKING, Any

from hades.domain.answer import (
    Answer,
    Citation,
    Conveyance,
    Fact,
    Intent,
    Interval,
    Mode,
    Neighbour,
    Note,
    Passage,
    Path,
    Recall,
    Sentence,
    StageReport,
    Step,
    Subgraph,
    SubgraphEdge,
    SubgraphNode,
    TimeKind,
    TimeWords,
    Wants,
    WorkingItem,
    WorkingSet,
)
from hades.domain.graph import (
    Belief,
    Edge,
    Entity,
    FactChange,
    Likeness,
    Mentioned,
    Node,
    Provenance,
    Reason,
    Related,
    RelationChange,
    Resolution,
)
from hades.domain.proposal import Proposal
from hades.domain.tiers import Tier
from hades.domain.times import AsOf
from hades.domain.topics import Change, Chunk, Diff, Hit, Space, State, Topic
from hades.errors import (
    Conflict,
    Corrupt,
    Denied,
    HadesError,
    InvalidInput,
    NotFound,
    Unavailable,
)
from hades.memory import Memory, View, open
from hades.store.copy import copy
from hades.store.records import Problem

if TYPE_CHECKING:
    from hades.client.client import Client
    from hades.domain.weights import PathScoring
    from hades.operations.pathrag import PathRAG
    from hades.recall.plan import Plan

__all__ = [
    "Answer",
    "AsOf",
    "Belief",
    "Change",
    "Chunk",
    "Citation",
    "Client",
    "Conflict",
    "Conveyance",
    "Corrupt",
    "Denied",
    "Diff",
    "Edge",
    "Entity",
    "Fact",
    "FactChange",
    "HadesError",
    "Hit",
    "Intent",
    "Interval",
    "InvalidInput",
    "Likeness",
    "Memory",
    "Mentioned",
    "Mode",
    "Neighbour",
    "Node",
    "NotFound",
    "Note",
    "Passage",
    "Path",
    "PathRAG",
    "PathScoring",
    "Plan",
    "Problem",
    "Proposal",
    "Provenance",
    "Reason",
    "Recall",
    "Related",
    "RelationChange",
    "Resolution",
    "Sentence",
    "Space",
    "StageReport",
    "State",
    "Step",
    "Subgraph",
    "SubgraphEdge",
    "SubgraphNode",
    "Tier",
    "TimeKind",
    "TimeWords",
    "Topic",
    "Unavailable",
    "View",
    "Wants",
    "WorkingItem",
    "WorkingSet",
    "copy",
    "open",
]


_LATER = {"Client": "client.client", "Plan": "recall.plan"}
_LATER |= {"PathRAG": "operations.pathrag", "PathScoring": "domain.weights"}
"""Opening a memory needs none of these, and pydantic takes as long to import as all the rest."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"hades.{_LATER[name]}"), name)
    raise AttributeError(f"module 'hades.api' has no attribute {name!r}")
