"""The public names of HADES; `import hades` fetches them from here when first used."""

from hades.domain.graph import (
    Belief,
    Edge,
    Entity,
    FactChange,
    Likeness,
    Mentioned,
    Node,
    Provenance,
    Related,
    Resolution,
    Turn,
)
from hades.domain.times import AsOf
from hades.domain.trace import Change, Chunk, Diff, Hit, Space, State, Topic
from hades.errors import (
    Conflict,
    Corrupt,
    Denied,
    HadesError,
    InvalidInput,
    NotFound,
    Unavailable,
)
from hades.memory import Memory, open
from hades.store.port import Problem
from hades.view import View

__all__ = [
    "AsOf",
    "Belief",
    "Change",
    "Chunk",
    "Conflict",
    "Corrupt",
    "Denied",
    "Diff",
    "Edge",
    "Entity",
    "FactChange",
    "HadesError",
    "Hit",
    "InvalidInput",
    "Likeness",
    "Memory",
    "Mentioned",
    "Node",
    "NotFound",
    "Problem",
    "Provenance",
    "Related",
    "Resolution",
    "Space",
    "State",
    "Topic",
    "Turn",
    "Unavailable",
    "View",
    "open",
]
