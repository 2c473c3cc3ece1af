"""The pages for whoever watches: alive, ready, metrics."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from hades.serve.telemetry import health
from hades.serve.telemetry.health import Readiness, health_routes
from hades.serve.telemetry.metrics import Metrics
from tests.callers import caller

ALL, SOME = caller("key:a", "reader"), caller("key:b", "admin", "x")


def pages(metrics: Metrics, readiness: Readiness | None = None) -> Starlette:
    readiness = Readiness(storage=lambda: None) if readiness is None else readiness
    return Starlette(routes=health_routes(metrics, readiness))


def ask(app: Any, path: str, method: str = "GET", caller: Any = None) -> httpx.Response:
    async def called(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "hades.caller": caller}, receive, send)

    async def asking() -> httpx.Response:
        transport = httpx.ASGITransport(called)
        async with httpx.AsyncClient(transport=transport, base_url="http://hades") as client:
            return await client.request(method, path)

    return asyncio.run(asking())


def test_it_is_alive_before_it_is_ready() -> None:
    readiness = Readiness(storage=lambda: None)
    app = pages(Metrics(), readiness)
    assert ask(app, "/healthz").json() == {"status": "alive"}
    loading = ask(app, "/readyz")
    assert loading.status_code == 503
    assert loading.json()["problems"] == {"warm": "still loading"}
    readiness.warm = True
    assert ask(app, "/readyz").json()["status"] == "ready"
    readiness.leaving = True
    assert ask(app, "/readyz").json()["problems"] == {"server": "shutting down"}


def test_a_storage_that_fails_is_not_ready() -> None:
    def broken() -> None:
        raise OSError("/secret/place: input/output error")

    app = pages(Metrics(), Readiness(storage=broken, warm=True))
    answer = ask(app, "/readyz")
    assert answer.status_code == 503
    assert answer.json()["problems"] == {"storage": "cannot be read"}
    assert "secret" not in answer.text


def test_a_storage_that_hangs_takes_one_thread_however_often_it_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "STORAGE_TIMEOUT_S", 0.01)
    goes_on, begun = threading.Event(), []

    def hanging() -> None:
        begun.append(1)
        goes_on.wait()

    async def asking() -> list[dict[str, str]]:
        readiness = Readiness(storage=hanging, warm=True)
        found = [await readiness.problems() for _ in range(5)]
        goes_on.set()
        monkeypatch.setattr(health, "STORAGE_TIMEOUT_S", 10)
        return [*found, await readiness.problems()]

    found = asyncio.run(asking())
    assert all("no answer" in one["storage"] for one in found[:-1])
    assert found[-1] == {}
    assert len(begun) == 1


def test_metrics_are_what_the_registry_has() -> None:
    metrics = Metrics()
    metrics.observe_call("recall", "RO", 200, 0.01)
    answer = ask(pages(metrics), "/metrics", caller=ALL)
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert 'hades_calls_total{call="recall",mode="RO",status="200"} 1.0' in answer.text


def test_nothing_is_posted_to_them() -> None:
    app = pages(Metrics())
    assert ask(app, "/metrics", "POST").status_code == 405


def test_metrics_name_spaces_so_not_everybody_sees_them() -> None:
    for who, status in ((ALL, 200), (SOME, 403), (None, 403)):
        assert ask(pages(Metrics()), "/metrics", caller=who).status_code == status, who
