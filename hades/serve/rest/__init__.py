"""REST: one router for each noun. A handler names a method of `Memory` and nothing else;
what all of them share (who asks, which space, as of when, idempotency) is in `calls`.
"""

# The addresses first: the routers name the kinds of path parts that are made there.
from hades.serve.rest import addresses  # isort: skip
from hades.serve.rest import (
    admin,
    asking,
    edges,
    entities,
    exports,
    graph,
    jobs,
    keys,
    proposals,
    spaces,
    states,
)

__all__ = ["ROUTERS", "addresses"]

_NOUNS = (states, asking, edges, entities, spaces, graph, exports, proposals, jobs)
ROUTERS = tuple(noun.router for noun in (*_NOUNS, admin, keys))
