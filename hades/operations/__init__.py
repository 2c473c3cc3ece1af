"""Operations: what a memory can do, one module a noun.

Each is a function whose first argument is a `View` or a `Memory`. Its decorator `operation`
declares once how it is called from outside; the REST route, the client's method and the
command are made from that declaration and the signature (`declare.py`). `hades/memory.py`
lists all of them in two classes.
"""

from hades.operations import (
    context,
    edges,
    entities,
    extraction,
    graph,
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
    "context",
    "edges",
    "entities",
    "extraction",
    "graph",
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
