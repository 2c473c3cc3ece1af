"""REST: the operations of `Memory` as routes. Most routes are made from the declarations of
operations (`operations.py`); the other modules have those that need their own code.
"""

from fastapi import APIRouter

from hades.operations.declare import OPERATIONS
from hades.serve.rest import admin, batch, exports, jobs, spaces, states
from hades.serve.rest.operations import operation_router


def routers() -> list[APIRouter]:
    """Return all routers."""
    own = (states, spaces, batch, exports, jobs, admin)
    return [*(module.router for module in own), operation_router(tuple(OPERATIONS))]
