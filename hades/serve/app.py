"""The app: every surface of the server over one desk, as one ASGI application."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware

import hades
from hades.serve import problems
from hades.serve.desk import Desk
from hades.serve.rest import asking, edges, entities, graph, openapi, spaces, states
from hades.serve.rest.addresses import Undecoded

ROUTERS = (spaces, states, edges, entities, asking, graph)
GZIP_BYTES_AT_LEAST = 2_000
GZIP_LEVEL = 1
"""Of the nine, the one that costs least: JSON shrinks to a fifth with it already."""


def build(desk: Desk) -> FastAPI:
    """The whole application; who asks is for the gate around it to say."""
    app = FastAPI(
        title="HADES",
        version=hades.__version__,
        summary="Long-term memory and knowledge-graph retrieval.",
        description=openapi.DESCRIPTION,
        openapi_tags=openapi.TAGS,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=openapi.ANY,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.desk = desk
    problems.install(app)
    for room in ROUTERS:
        app.include_router(room.router)
    app.add_middleware(GZipMiddleware, minimum_size=GZIP_BYTES_AT_LEAST, compresslevel=GZIP_LEVEL)
    app.add_middleware(Undecoded)
    openapi.describe(app)
    return app
