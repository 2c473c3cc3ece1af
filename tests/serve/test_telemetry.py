"""Telemetry of the whole app: a question asked over HTTP is counted and can be looked at."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from making import remember_story

import hades
from hades.serve.app import build
from hades.serve.executor import Executor
from hades.serve.telemetry import Telemetry
from hades.serve.telemetry.latencies import MINUTES_KEPT, Latencies
from tests.callers import caller


@dataclass
class Asked:
    """The parts of a recall that latencies are made of."""

    ms: float
    telemetry: tuple[()] = ()


ANN = caller("key:ann", "writer")


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
    shown = telemetry.metrics.measured()
    assert shown.latencies.by_stage(3600)["question"].count == 1
    assert shown.latencies.over_time("walk", 3600)[0].count == 1


def test_latencies_are_kept_by_minute_and_old_minutes_leave() -> None:
    now = 0.0
    latencies = Latencies(lambda: now)
    for minute in range(MINUTES_KEPT + 5):
        now = minute * 60.0
        for ms in (2.0, 2.0, 2.0, 200.0):
            latencies.add(Asked(ms))  # type: ignore[arg-type]
    assert len(latencies.over_time("question", now + 60)) == MINUTES_KEPT
    last_hour = latencies.over_time("question", 3600)
    assert [last_hour[0].at.timestamp(), last_hour[-1].at.timestamp()] == [now - 3600, now]
    (latency,) = latencies.by_stage(3600).values()
    assert latency.count == 4 * 61
    assert 0.001 < latency.p50_s <= 0.0025
    assert 0.1 < latency.p95_s <= 0.25
