"""Metrics: what Prometheus reads from a server."""

from __future__ import annotations

from pathlib import Path

from conftest import HeldClock
from hypothesis import given, settings
from hypothesis import strategies as st
from making import recall as made_recall
from making import remember_story
from prometheus_client.parser import text_string_to_metric_families

import hades
from hades.serve.executor import Executor
from hades.serve.telemetry.metrics import (
    CALLS_SHOWN,
    SPACES_SHOWN,
    ExecutorMetrics,
    MemoryMetrics,
    Metrics,
)


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
