"""HADES: long-term memory and knowledge-graph retrieval for AI agents and RAG.

>>> import hades
>>> m = hades.open("notes.hades")                                    # doctest: +SKIP
>>> m.remember("design/approach_x", "Rejected: it triggers Bug Y")   # doctest: +SKIP
>>> m.at("2024-03").get("design/approach_x")                         # doctest: +SKIP
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hades.api import *

__version__ = "1.0.0"


def __getattr__(name: str) -> Any:
    """Return a public name from `hades.api`, which is loaded now: `import hades` alone is fast."""
    if name == "__all__" or not name.startswith("_"):
        api = importlib.import_module("hades.api")
        if name == "__all__" or name in api.__all__:
            return getattr(api, name)
    raise AttributeError(f"module 'hades' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*importlib.import_module("hades.api").__all__, "__version__"]
