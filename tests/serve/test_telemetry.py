"""Telemetry: metrics that Prometheus reads, pages that say whether it is well, and latencies."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import recall as made_recall
from making import remember_story
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

import hades
from hades.serve.app import build
from hades.serve.executor import Executor
from hades.serve.telemetry import Telemetry, health
from hades.serve.telemetry.health import Readiness, health_routes
from hades.serve.telemetry.latencies import MINUTES_KEPT, Latencies
from hades.serve.telemetry.metrics import (
    CALLS_SHOWN,
    SPACES_SHOWN,
    ExecutorMetrics,
    MemoryMetrics,
    Metrics,
)
from tests.callers import caller
from tests.conftest import HeldClock


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


def samples(metrics: Metrics) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Everything a scrape shows, parsed as Prometheus would."""
    text = metrics.render().decode()
    return {
        (one.name, frozenset(one.labels.items())): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def value(metrics: Metrics, name: str, **labels: str) -> float:
    return samples(metrics)[name, frozenset(labels.items())]


def test_an_answer_is_counted_stage_by_stage() -> None:
    metrics = Metrics()
    metrics.observe_recall(made_recall("Why?"), "default")
    assert value(metrics, "hades_recalls_total", space="default", intent="why", mode="execution")
    assert value(metrics, "hades_recall_seconds_sum", space="default") == 0.008
    assert value(metrics, "hades_stage_seconds_sum", stage="paths") == 0.006
    assert value(metrics, "hades_stage_reads_total", stage="seeds") == 12
    assert value(metrics, "hades_stage_capped_total", stage="paths") == 1
    assert value(metrics, "hades_stage_coverage_sum", stage="paths") == 0.75
    assert ("hades_stage_dedupe_rate_count", frozenset({("stage", "seeds")})) in samples(metrics)
    assert value(metrics, "hades_reasons_total", stage="pack", reason="evicted") == 1
    assert value(metrics, "hades_recall_documents_sum") == 12
    assert value(metrics, "hades_recall_tokens_sum") == 7
    assert value(metrics, "hades_conveyance_part_sum", part="evidence") == 0.32
    assert value(metrics, "hades_conveyance_sum") == 21.9


def test_a_real_answer_fills_every_family_of_recall(path: Path) -> None:
    metrics = Metrics()
    with hades.open(path) as memory:
        remember_story(memory)
        metrics.observe_recall(memory.recall("Why was approach X rejected?"), "default")
    stages = {dict(labels).get("stage") for name, labels in samples(metrics) if "stage_s" in name}
    assert {"open", "seeds", "walk", "rank", "paths", "pack"} <= stages


def test_calls_are_counted_by_name_mode_and_status() -> None:
    metrics = Metrics()
    metrics.observe_call("recall", "RO", 200, 0.02)
    metrics.observe_call("recall", "RO", 503, 0.001)
    assert value(metrics, "hades_calls_total", call="recall", mode="RO", status="503") == 1
    assert value(metrics, "hades_call_seconds_count", call="recall", mode="RO") == 2


@settings(max_examples=3)
@given(st.lists(st.tuples(st.text(), st.text(), st.text(), st.integers()), max_size=400))
def test_labels_stay_few_whatever_callers_send(
    told: list[tuple[str, str, str, int]],
) -> None:
    metrics = Metrics()
    answer = made_recall("Why?")
    for space, call, mode, status in [*told, *((f"s{n}", f"c{n}", "RO", n) for n in range(300))]:
        metrics.observe_recall(answer, space)
        metrics.observe_call(call, mode, status, 0.001)
    seen = samples(metrics)
    spaces = {dict(labels)["space"] for name, labels in seen if name == "hades_recalls_total"}
    calls = {dict(labels)["call"] for name, labels in seen if name == "hades_calls_total"}
    assert len(spaces) <= SPACES_SHOWN + 1
    assert len(calls) <= CALLS_SHOWN + 1
    assert "other" in spaces & calls
    assert sum(v for (name, _), v in seen.items() if name == "hades_recalls_total") == (
        len(told) + 300
    )


def test_two_servers_in_one_process_do_not_mix() -> None:
    one, two = Metrics(), Metrics()
    one.observe_call("recall", "RO", 200, 0.02)
    assert value(one, "hades_calls_total", call="recall", mode="RO", status="200") == 1
    assert not [name for name, _ in samples(two) if name == "hades_calls_total"]


def test_how_busy_the_executor_is_is_asked_at_each_look(path: Path) -> None:
    metrics, executor = Metrics(), Executor.open(path)
    metrics.registry.register(ExecutorMetrics(executor.pools, lambda: {"running": 1, "done": 4}))
    assert value(metrics, "hades_pool_waiting", pool="read") == 0
    assert value(metrics, "hades_pool_running", pool="write") == 0
    assert value(metrics, "hades_refused_total", pool="work") == 0
    assert value(metrics, "hades_jobs", status="done") == 4
    executor.pools["read"].refused = 7
    assert value(metrics, "hades_refused_total", pool="read") == 7
    executor.close()


def test_sizes_are_counted_seldom_and_only_after_a_write(
    memory: hades.Memory, clock: HeldClock
) -> None:
    now = [0.0]
    clock.set("2024-06-01")
    metrics = Metrics()
    metrics.registry.register(
        MemoryMetrics(memory, metrics.shown_space, every_s=30, clock=lambda: now[0])
    )

    def topics() -> float:
        return value(metrics, "hades_memory_topics", space="default")

    remember_story(memory)
    assert topics() == 4
    memory.remember("dinner", "Bread.")
    assert topics() == 4, "thirty seconds have not passed"
    assert value(metrics, "hades_memory_change") == memory.change, "this one is never old"
    now[0] = 31.0
    assert topics() == 5
    assert value(metrics, "hades_memory_file_bytes") > 4096
    assert value(metrics, "hades_memory_pending", space="default") > 0


def test_spaces_beyond_the_first_share_a_label(memory: hades.Memory) -> None:
    for number in range(SPACES_SHOWN + 5):
        memory.create_space(f"s{number}")
        memory.in_space(f"s{number}").remember("a", "x")
    metrics = Metrics()
    metrics.registry.register(MemoryMetrics(memory, metrics.shown_space))
    shown = [dict(labels)["space"] for name, labels in samples(metrics) if name.endswith("_topics")]
    assert len(shown) == SPACES_SHOWN + 1
    assert value(metrics, "hades_memory_topics", space="other") == 6


def test_cache_uses_are_those_of_the_engine(memory: hades.Memory) -> None:
    metrics = Metrics()
    metrics.registry.register(MemoryMetrics(memory))
    assert not [name for name, _ in samples(metrics) if name == "hades_cache_uses_total"]
    remember_story(memory)
    for why in ("Why", "Why really", "Why then", "Why"):
        memory.recall(f"{why} was approach X rejected?")
    assert value(metrics, "hades_cache_uses_total", cache="graph", outcome="made") == 1
    assert value(metrics, "hades_cache_uses_total", cache="graph", outcome="kept") == 2
    assert value(metrics, "hades_cache_uses_total", cache="texts", outcome="kept") > 0
    assert value(metrics, "hades_cache_uses_total", cache="answers", outcome="kept") == 1
    assert value(metrics, "hades_tier_items", tier="answers") == 3
    assert 0 < value(metrics, "hades_tier_bytes", tier="answers") < 2**20
    assert value(metrics, "hades_tier_bound_bytes", tier="answers") == 16 * 2**20


def test_a_memory_that_is_gone_takes_only_its_own_numbers_away(path: Path) -> None:
    memory = hades.open(path)
    metrics = Metrics()
    metrics.registry.register(MemoryMetrics(memory))
    memory.close()
    names = {name for name, _ in samples(metrics)}
    assert "hades_info" in names
    assert "hades_memory_change" not in names
    assert "process_resident_memory_bytes" in names
