"""The app: every surface of the server over one desk, as one ASGI application."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Route

import hades
from hades.serve import problems
from hades.serve.audit import Audit
from hades.serve.desk import Desk
from hades.serve.health import PATHS, Pages, Readiness, readiness_of
from hades.serve.jobs import Jobs
from hades.serve.keys import Keys
from hades.serve.rest import ROUTERS, openapi
from hades.serve.rest.addresses import Undecoded
from hades.serve.telemetry import Telemetry
from hades.serve.uploads import Uploads

GZIP_BYTES_AT_LEAST = 2_000
GZIP_LEVEL = 1
"""Of the nine, the one that costs least: JSON shrinks to a fifth with it already."""


def build(
    desk: Desk,
    *,
    telemetry: Telemetry | None = None,
    readiness: Readiness | None = None,
    keys: Keys | None = None,
    audit: Audit | None = None,
) -> FastAPI:
    """The whole application; who asks is for the gate around it to say.

    `readiness` is for the server to mark when it is warm; without one it is taken for warm.
    `keys` and `audit` are what the admin socket shows of them.
    """
    telemetry = Telemetry() if telemetry is None else telemetry
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
    )
    app.state.desk = desk
    app.state.jobs = Jobs(desk)
    app.state.uploads = Uploads(desk.uploads)
    app.state.keys = keys
    app.state.audit = audit
    telemetry.watch(desk, app.state.jobs.counted)
    watched = Pages(telemetry.metrics, readiness or readiness_of(desk, warm=True))
    for path in PATHS:
        app.router.routes.append(Route(path, watched, include_in_schema=False))
    problems.install(app)
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    app.add_middleware(GZipMiddleware, minimum_size=GZIP_BYTES_AT_LEAST, compresslevel=GZIP_LEVEL)
    app.add_middleware(Undecoded)
    openapi.describe(app)
    return app
