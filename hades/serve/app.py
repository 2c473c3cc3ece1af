"""The app: REST, GraphQL, MCP and health pages over one executor, as one ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI
from starlette.routing import Route

import hades
from hades.serve import problems
from hades.serve.auth.audit import Audit
from hades.serve.executor import Executor
from hades.serve.graphql.app import GraphQLApp
from hades.serve.jobs import Jobs
from hades.serve.mcp.http import McpApp
from hades.serve.rest import openapi, routers
from hades.serve.rest.routes import UndecodedPath
from hades.serve.telemetry import Telemetry
from hades.serve.telemetry.health import Readiness, health_routes, readiness_of
from hades.serve.uploads import Uploads


def build(
    executor: Executor,
    *,
    telemetry: Telemetry | None = None,
    readiness: Readiness | None = None,
    audit: Audit | None = None,
    jobs: Jobs | None = None,
    uploads: Uploads | None = None,
    pages: FastAPI | None = None,
) -> FastAPI:
    """Build the whole application. The middleware around it authenticates callers.

    The server sets `readiness.warm` when it is warm; without `readiness` the app counts as warm.
    `audit` is the log that the admin socket shows. `jobs` and `uploads` are given if others use
    them too. `pages` is the explorer, which starts and stops with the app; the middleware sends
    requests to it.
    """
    telemetry = telemetry or Telemetry()
    readiness = readiness or readiness_of(executor, warm=True)
    agents = McpApp(executor)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as running:
            await running.enter_async_context(agents.sessions.run())
            if pages is not None:
                await running.enter_async_context(pages.router.lifespan_context(pages))
            yield

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
        lifespan=lifespan,
    )
    app.state.executor = executor
    app.state.jobs = jobs or Jobs(executor)
    app.state.uploads = uploads or Uploads(executor.uploads)
    app.state.audit = audit
    telemetry.watch(executor, app.state.jobs.counted)
    app.router.routes += [
        *health_routes(telemetry.metrics, readiness),
        Route("/mcp", agents, include_in_schema=False),
        Route("/graphql", GraphQLApp(executor), methods=["POST"], include_in_schema=False),
    ]
    problems.install(app)
    for router in routers():
        app.router.routes.extend(router.routes)
    app.add_middleware(UndecodedPath)
    openapi.describe(app)
    return app
