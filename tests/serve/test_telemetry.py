"""Telemetry of the whole app: a question asked over HTTP is counted and can be looked at."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
from making import remember_story

import hades
from hades.serve.app import build
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor
from hades.serve.telemetry import Telemetry

ANN = Caller("key:ann", Role.WRITER)


def test_a_question_is_counted_and_the_pages_answer(path: Path) -> None:
    with hades.open(path) as memory:
        remember_story(memory)
    executor, telemetry = Executor.open(path), Telemetry()
    app = telemetry.around(build(executor, telemetry=telemetry))

    async def called(scope: Any, receive: Any, send: Any) -> None:
        scope["hades.caller"] = ANN
        await app(scope, receive, send)

    async def asking() -> list[httpx.Response]:
        transport = httpx.ASGITransport(called)
        async with httpx.AsyncClient(transport=transport, base_url="http://hades") as client:
            question = {"question": "Why was approach X rejected?"}
            first = await client.post("/v1/spaces/default/recall", json=question)
            return [first, *[await client.get(p) for p in ("/healthz", "/readyz", "/metrics")]]

    answer, alive, ready, metrics = asyncio.run(asking())
    executor.close()
    assert answer.status_code == alive.status_code == ready.status_code == 200, answer.text
    assert 'hades_stage_seconds_count{stage="walk"} 1.0' in metrics.text
    assert 'hades_memory_topics{space="default"} 4.0' in metrics.text
    assert 'hades_pool_waiting{pool="write"} 0.0' in metrics.text
    assert 'hades_cache_uses_total{cache="graph",outcome="made"} 1.0' in metrics.text
