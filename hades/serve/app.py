"""The app: every surface of the server over one desk, as one ASGI application."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Route

import hades
from hades.serve import graphql as queries
from hades.serve import problems
from hades.serve.auth.audit import Audit
from hades.serve.auth.keys import Keys
from hades.serve.executor.executor import Executor
from hades.serve.jobs import Jobs
from hades.serve.mcp import http as agents
from hades.serve.rest import openapi, routers
from hades.serve.rest.addresses import Undecoded
from hades.serve.telemetry.health import Readiness, health_routes, readiness_of
from hades.serve.telemetry.telemetry import Telemetry
from hades.serve.uploads import Uploads


def build(
    desk: Executor,
    *,
    telemetry: Telemetry | None = None,
    readiness: Readiness | None = None,
    keys: Keys | None = None,
    audit: Audit | None = None,
    graphql: bool = True,
    mcp: bool = True,
) -> FastAPI:
    """The whole application; who asks is for the gate around it to say.

    `readiness` is for the server to mark when it is warm; without one it is taken for warm.
    `keys` and `audit` are what the admin socket shows of them; `mcp` is for agents, at /mcp.
    """
    telemetry = Telemetry() if telemetry is None else telemetry
    for_agents = agents.mounted(desk) if mcp else None
    app = FastAPI(
        title="HADES",
        version=hades.__version__,
        summary="Long-term memory and knowledge-graph retrieval.",
        description=openapi.DESCRIPTION,
        openapi_tags=openapi.TAGS,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
        lifespan=None if for_agents is None else lambda _app: for_agents.run(),
    )
    if for_agents is not None:
        app.router.routes.append(Route("/mcp", for_agents, include_in_schema=False))
    app.state.executor = desk
    app.state.jobs = Jobs(desk)
    app.state.uploads = Uploads(desk.uploads)
    app.state.keys = keys
    app.state.audit = audit
    telemetry.watch(desk, app.state.jobs.counted)
    ready = readiness or readiness_of(desk, warm=True)
    app.router.routes.extend(health_routes(telemetry.metrics, ready))
    if graphql:
        asked = queries.mounted(desk)
        app.router.routes.append(
            Route("/graphql", asked, methods=["POST"], include_in_schema=False)
        )
    problems.install(app)
    for router in routers():
        app.router.routes.extend(router.routes)
    app.add_middleware(GZipMiddleware, minimum_size=1_000, compresslevel=5)
    app.add_middleware(Undecoded)
    openapi.describe(app)
    return app
