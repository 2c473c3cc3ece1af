"""Operations: what a memory can do, one module for each noun.

An operation is a function whose first argument is the `Inside` of a view or memory. Its decorator
declares how it is called from outside; REST route, client method and command are made from that
(see `declare.py`). `hades/memory.py` lists all operations in two classes.
"""

from hades.operations import (
    briefs,
    context,
    core,
    distil,
    edges,
    entities,
    extraction,
    feedback,
    graph,
    hierarchy,
    idempotency,
    maintenance,
    models,
    promotion,
    proposals,
    questions,
    sources,
    states,
    summaries,
    tiers,
    working_memory,
)
from hades.operations.declare import OPERATIONS

__all__ = [
    "briefs",
    "context",
    "core",
    "distil",
    "edges",
    "entities",
    "extraction",
    "feedback",
    "graph",
    "hierarchy",
    "idempotency",
    "maintenance",
    "models",
    "promotion",
    "proposals",
    "questions",
    "sources",
    "states",
    "summaries",
    "tiers",
    "working_memory",
]

# In the order of the modules, whichever of them imports another.
for _name in sorted(OPERATIONS, key=lambda name: OPERATIONS[name].function.__module__):
    OPERATIONS[_name] = OPERATIONS.pop(_name)
