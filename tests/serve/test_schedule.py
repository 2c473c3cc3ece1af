"""Upkeep that a server does by itself, one task at a time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from prometheus_client import generate_latest

import hades
from hades.errors import HadesError
from hades.serve import schedule
from hades.serve.executor import Executor
from hades.serve.schedule import Schedule
from hades.serve.telemetry.metrics import Metrics, ScheduleMetrics
from hades.store.records import Progress

HOURS_MEANT = {"organise": 1.0, "bridges": 1.0, "consolidate": None, "archive": 1.0}


def run_once(scheduled: Schedule) -> None:
    """Run all tasks that are due, and leave before the next ones are."""
    running = threading.Thread(target=scheduled.run)
    running.start()
    while running.is_alive() and not all(task.runs for task in scheduled.tasks):
        running.join(0.01)
    scheduled.leave()
    running.join()


def test_each_task_with_an_interval_runs_in_every_space(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("boats/1", "The ferry sails to the island.")
        memory.create_space("other")
        memory.in_space("other").remember("bread/1", "Bread needs a starter.")
    executor = Executor.open(path)
    scheduled, metrics = Schedule(executor, HOURS_MEANT), Metrics()
    metrics.registry.register(ScheduleMetrics(scheduled.tasks))
    run_once(scheduled)
    executor.close()
    assert [task.name for task in scheduled.tasks] == ["organise", "bridges", "archive"]
    assert [dict(task.runs) for task in scheduled.tasks] == [{"done": 1}] * 3
    with hades.open(path) as memory:
        for space in ("default", "other"):
            assert memory.in_space(space).hierarchy().current is not None
    shown = metrics.measured().schedule
    assert (shown["bridges"]["done"], shown["bridges"]["failed"]) == (1, 0)
    assert shown["archive"]["ended_at"] > 0
    said = generate_latest(metrics.registry).decode()
    assert 'hades_schedule_runs_total{outcome="done",task="organise"} 1.0' in said


def test_a_failure_is_counted_and_other_spaces_and_tasks_go_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hades.open(path) as memory:
        memory.create_space("other")
    met: list[str] = []

    def fail_in_default(memory: hades.Memory, _report: Progress) -> None:
        met.append(memory.space)
        if memory.space == "default":
            raise HadesError("This space cannot be organised.")

    monkeypatch.setitem(schedule.TASKS, "organise", fail_in_default)
    executor = Executor.open(path)
    scheduled = Schedule(executor, HOURS_MEANT)
    run_once(scheduled)
    executor.close()
    assert sorted(met) == ["default", "other"]
    assert [dict(task.runs) for task in scheduled.tasks] == [
        {"failed": 1},
        {"done": 1},
        {"done": 1},
    ]


def test_without_an_interval_nothing_runs(path: Path) -> None:
    executor = Executor.open(path)
    scheduled = Schedule(executor, {})
    scheduled.run()
    assert scheduled.tasks == []
    executor.close()
