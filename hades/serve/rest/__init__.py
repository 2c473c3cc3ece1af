"""REST: one router for each noun. A handler names a method of `Memory` and nothing else;
what all of them share (who asks, which space, as of when, idempotency) is in `calls`.
"""

from hades.serve.rest import addresses

__all__ = ["addresses"]
"""First, since the routers name its kinds of path parts."""
