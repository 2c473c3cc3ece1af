"""The public names of HADES; `import hades` loads this module when one of them is first used."""

import importlib
from typing import TYPE_CHECKING, Any

from hades.domain.answer import Answer as Answer
from hades.domain.answer import Citation as Citation
from hades.domain.answer import Conveyance as Conveyance
from hades.domain.answer import Diagnostic as Diagnostic
from hades.domain.answer import Fact as Fact
from hades.domain.answer import FoundPaths as FoundPaths
from hades.domain.answer import Interval as Interval
from hades.domain.answer import Neighbour as Neighbour
from hades.domain.answer import Passage as Passage
from hades.domain.answer import Path as Path
from hades.domain.answer import Recall as Recall
from hades.domain.answer import Sentence as Sentence
from hades.domain.answer import StageReport as StageReport
from hades.domain.answer import Step as Step
from hades.domain.answer import Subgraph as Subgraph
from hades.domain.answer import SubgraphEdge as SubgraphEdge
from hades.domain.answer import SubgraphNode as SubgraphNode
from hades.domain.answer import Usage as Usage
from hades.domain.answer import WorkingItem as WorkingItem
from hades.domain.answer import WorkingMemory as WorkingMemory
from hades.domain.brief import Brief as Brief
from hades.domain.brief import BriefLine as BriefLine
from hades.domain.context import BudgetedContext as BudgetedContext
from hades.domain.context import ContextItem as ContextItem
from hades.domain.context import ContextSection as ContextSection
from hades.domain.context import CoreBlock as CoreBlock
from hades.domain.context import WindowBlock as WindowBlock
from hades.domain.context import WindowEvent as WindowEvent
from hades.domain.extraction import ExtractedFact as ExtractedFact
from hades.domain.extraction import Extraction as Extraction
from hades.domain.feedback import Feedback as Feedback
from hades.domain.feedback import LoggedQuery as LoggedQuery
from hades.domain.feedback import ParameterChange as ParameterChange
from hades.domain.feedback import ShownPath as ShownPath
from hades.domain.feedback import WeightSnapshot as WeightSnapshot
from hades.domain.graph import About as About
from hades.domain.graph import Belief as Belief
from hades.domain.graph import Edge as Edge
from hades.domain.graph import Entity as Entity
from hades.domain.graph import FactChange as FactChange
from hades.domain.graph import Likeness as Likeness
from hades.domain.graph import Mentioned as Mentioned
from hades.domain.graph import Node as Node
from hades.domain.graph import Provenance as Provenance
from hades.domain.graph import Reason as Reason
from hades.domain.graph import Related as Related
from hades.domain.graph import RelationChange as RelationChange
from hades.domain.graph import Resolution as Resolution
from hades.domain.hierarchy import Cluster as Cluster
from hades.domain.hierarchy import ClusterReport as ClusterReport
from hades.domain.hierarchy import Drift as Drift
from hades.domain.hierarchy import Hierarchy as Hierarchy
from hades.domain.hierarchy import HierarchyReport as HierarchyReport
from hades.domain.hierarchy import Member as Member
from hades.domain.hierarchy import Organisation as Organisation
from hades.domain.hierarchy import Theme as Theme
from hades.domain.promotion import Disagreement as Disagreement
from hades.domain.promotion import Promotion as Promotion
from hades.domain.promotion import QualityFinding as QualityFinding
from hades.domain.promotion import QualityReport as QualityReport
from hades.domain.promotion import Side as Side
from hades.domain.promotion import Suggestion as Suggestion
from hades.domain.proposal import Proposal as Proposal
from hades.domain.question import Intent as Intent
from hades.domain.question import Mode as Mode
from hades.domain.question import Question as Question
from hades.domain.question import TimeKind as TimeKind
from hades.domain.question import TimeWords as TimeWords
from hades.domain.question import Wants as Wants
from hades.domain.strength import Strength as Strength
from hades.domain.summaries import Consolidation as Consolidation
from hades.domain.summaries import SummaryMade as SummaryMade
from hades.domain.tiers import Tier as Tier
from hades.domain.times import AsOf as AsOf
from hades.domain.topics import Change as Change
from hades.domain.topics import Chunk as Chunk
from hades.domain.topics import Diff as Diff
from hades.domain.topics import Hit as Hit
from hades.domain.topics import Space as Space
from hades.domain.topics import State as State
from hades.domain.topics import Topic as Topic
from hades.errors import Conflict as Conflict
from hades.errors import Corrupt as Corrupt
from hades.errors import Denied as Denied
from hades.errors import HadesError as HadesError
from hades.errors import InvalidInput as InvalidInput
from hades.errors import NotFound as NotFound
from hades.errors import Refused as Refused
from hades.errors import Unavailable as Unavailable
from hades.memory import Memory as Memory
from hades.memory import View as View
from hades.opening import open as open
from hades.opening import open_library as open_library
from hades.store.copy import copy as copy
from hades.store.records import Problem as Problem

if TYPE_CHECKING:
    from hades.client.client import Client as Client
    from hades.compat.context_window import ContextWindowManager as ContextWindowManager
    from hades.compat.hipporag import HippoRAG as HippoRAG
    from hades.compat.hirag import HiRAG as HiRAG
    from hades.compat.hirag import HiRAGConfig as HiRAGConfig
    from hades.compat.memgpt import MemGPT as MemGPT
    from hades.compat.memory_enhanced import MemoryEnhancedPathRAG as MemoryEnhancedPathRAG
    from hades.compat.pathrag import PathRAG as PathRAG
    from hades.compat.tiered import TieredMemoryManager as TieredMemoryManager
    from hades.context.text.paths import format_path_prompt as format_path_prompt
    from hades.context.window import ContextWindow as ContextWindow
    from hades.domain.weights import PathScoring as PathScoring
    from hades.recall.plan import Plan as Plan

_LATER = {
    "Client": "client.client",
    "ContextWindow": "context.window",
    "ContextWindowManager": "compat.context_window",
    "HiRAG": "compat.hirag",
    "HiRAGConfig": "compat.hirag",
    "HippoRAG": "compat.hipporag",
    "MemGPT": "compat.memgpt",
    "MemoryEnhancedPathRAG": "compat.memory_enhanced",
    "PathRAG": "compat.pathrag",
    "PathScoring": "domain.weights",
    "Plan": "recall.plan",
    "format_path_prompt": "context.text.paths",
    "TieredMemoryManager": "compat.tiered",
}
"""Names that are imported at first use: opening a memory needs none of them, and importing pydantic
takes as long as all the rest."""

_HELPERS = {"Any", "TYPE_CHECKING", "importlib"}
__all__ = sorted(
    {name for name in globals() if not name.startswith("_")} - _HELPERS | _LATER.keys()
)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"hades.{_LATER[name]}"), name)
    raise AttributeError(f"module 'hades.api' has no attribute {name!r}")
