"""A server on a real port for GraphQL: uvicorn in a thread, and who is asking by a header."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from hades.serve.app import build
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor

CALLERS = {
    "ann": Caller("key:ann", Role.READER),
    "eve": Caller("key:eve", Role.READER, frozenset({"work"})),
}


def with_callers(app: ASGIApp) -> ASGIApp:
    """The app, with the caller that the header `who` names; without one, nobody."""

    async def called(scope: Scope, receive: Receive, send: Send) -> None:
        who = dict(scope.get("headers", ())).get(b"who", b"").decode()
        if who in CALLERS:
            scope["hades.caller"] = CALLERS[who]
        await app(scope, receive, send)

    return called


@contextmanager
def served(path: Path) -> Iterator[httpx.Client]:
    """A client of a server over the memory at a path, which stops at the end."""
    executor = Executor.open(path)
    app = with_callers(build(executor))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        address = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=address, headers={"who": "ann"}, timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
        executor.close()


def ask(client: httpx.Client, query: str, **variables: Any) -> dict[str, Any]:
    """The data of an answer without errors."""
    answer = client.post("/graphql", json={"query": query, "variables": variables})
    told: dict[str, Any] = answer.json()
    assert answer.status_code == 200, told
    assert "errors" not in told, told
    data: dict[str, Any] = told["data"]
    return data


def refused(client: httpx.Client, query: str, **variables: Any) -> str:
    """The first sentence with which a query is refused before it is executed."""
    answer = client.post("/graphql", json={"query": query, "variables": variables})
    error = answer.json()["errors"][0]
    assert (answer.status_code, error["extensions"]["code"]) == (400, "InvalidInput"), error
    assert "data" not in answer.json()
    return str(error["message"])


def failed(client: httpx.Client, query: str, **variables: Any) -> str:
    """The sentence of the one field that failed, in a query that was executed."""
    answer = client.post("/graphql", json={"query": query, "variables": variables})
    (error,) = answer.json()["errors"]
    assert error["path"], error
    return str(error["message"])
