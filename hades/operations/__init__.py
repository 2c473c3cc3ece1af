"""Operations: what a memory can do, one module for each noun.

An operation is a function whose first argument is a `View` or a `Memory`. Its decorator declares
how it is called from outside; REST route, client method and command are made from that (see
`declare.py`). `hades/memory.py` lists all operations in two classes.
"""

from hades.operations import (
    briefs,
    context,
    distil,
    edges,
    entities,
    extraction,
    feedback,
    graph,
    hierarchy,
    maintenance,
    models,
    promotion,
    proposals,
    questions,
    sources,
    states,
    summaries,
    tiers,
)

__all__ = [
    "briefs",
    "context",
    "distil",
    "edges",
    "entities",
    "extraction",
    "feedback",
    "graph",
    "hierarchy",
    "maintenance",
    "models",
    "promotion",
    "proposals",
    "questions",
    "sources",
    "states",
    "summaries",
    "tiers",
]
