"""REST: the operations of `Memory` as routes. Most are made from their declarations
(`operations.py`); the other modules are what needs code of its own.
"""

from fastapi import APIRouter

from hades.serve.rest import admin, batch, exports, jobs, spaces, states
from hades.serve.rest.operations import operation_router

__all__ = ["routers"]

_OWN = (states, spaces, batch, exports, jobs, admin)


def routers() -> list[APIRouter]:
    """Every router there is."""
    return [*(module.router for module in _OWN), operation_router()]
