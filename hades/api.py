"""The public names of HADES; `import hades` fetches them from here when first used."""

import importlib
from typing import TYPE_CHECKING, Any

from hades.domain.answer import (
    Answer,
    Citation,
    Conveyance,
    Diagnostic,
    Fact,
    Intent,
    Interval,
    Mode,
    Neighbour,
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
    Usage,
    Wants,
    WorkingItem,
    WorkingMemory,
)
from hades.domain.context import (
    BudgetedContext,
    ContextItem,
    ContextSection,
    CoreBlock,
    WindowBlock,
    WindowEvent,
)
from hades.domain.extraction import ExtractedFact, Extraction
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
from hades.domain.promotion import (
    Disagreement,
    Promotion,
    QualityFinding,
    QualityReport,
    Side,
    Suggestion,
)
from hades.domain.proposal import Proposal
from hades.domain.strength import Strength
from hades.domain.summaries import Consolidation, SummaryMade
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
    Refused,
    Unavailable,
)
from hades.memory import Memory, View
from hades.opening import open
from hades.store.copy import copy
from hades.store.records import Problem

if TYPE_CHECKING:
    from hades.client.client import Client
    from hades.context.window import ContextWindow
    from hades.domain.weights import PathScoring
    from hades.lifecycle.focus import Focus
    from hades.operations.memgpt import MemGPT
    from hades.operations.pathrag import PathRAG
    from hades.recall.plan import Plan

__all__ = [
    "Answer",
    "AsOf",
    "Belief",
    "BudgetedContext",
    "Change",
    "Chunk",
    "Citation",
    "Client",
    "Conflict",
    "Consolidation",
    "ContextItem",
    "ContextSection",
    "ContextWindow",
    "Conveyance",
    "CoreBlock",
    "Corrupt",
    "Denied",
    "Diagnostic",
    "Diff",
    "Disagreement",
    "Edge",
    "Entity",
    "ExtractedFact",
    "Extraction",
    "Fact",
    "FactChange",
    "Focus",
    "HadesError",
    "Hit",
    "Intent",
    "Interval",
    "InvalidInput",
    "Likeness",
    "MemGPT",
    "Memory",
    "Mentioned",
    "Mode",
    "Neighbour",
    "Node",
    "NotFound",
    "Passage",
    "Path",
    "PathRAG",
    "PathScoring",
    "Plan",
    "Problem",
    "Promotion",
    "Proposal",
    "Provenance",
    "QualityFinding",
    "QualityReport",
    "Reason",
    "Recall",
    "Refused",
    "Related",
    "RelationChange",
    "Resolution",
    "Sentence",
    "Side",
    "Space",
    "StageReport",
    "State",
    "Step",
    "Strength",
    "Subgraph",
    "SubgraphEdge",
    "SubgraphNode",
    "Suggestion",
    "SummaryMade",
    "Tier",
    "TimeKind",
    "TimeWords",
    "Topic",
    "Unavailable",
    "Usage",
    "View",
    "Wants",
    "WindowBlock",
    "WindowEvent",
    "WorkingItem",
    "WorkingMemory",
    "copy",
    "open",
]


_LATER = {"Client": "client.client", "Plan": "recall.plan", "Focus": "lifecycle.focus"}
_LATER |= {"ContextWindow": "context.window", "MemGPT": "operations.memgpt"}
_LATER |= {"PathRAG": "operations.pathrag", "PathScoring": "domain.weights"}
"""Opening a memory needs none of these, and pydantic takes as long to import as all the rest."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"hades.{_LATER[name]}"), name)
    raise AttributeError(f"module 'hades.api' has no attribute {name!r}")
