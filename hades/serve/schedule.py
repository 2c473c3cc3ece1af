"""Schedule: upkeep that a server does by itself, each task at its own interval.

One task runs at a time, even if several servers have the same memory. A task runs for every space
when the server starts and again after each interval. A failure is logged, and the task runs again
as planned.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hades.errors import HadesError
from hades.memory import Memory
from hades.serve.executor import Executor
from hades.store.records import Progress

HOUR_S = 3_600
TASKS: dict[str, Callable[[Memory, Progress], Any]] = {
    "organise": lambda memory, report: memory.organise(if_due=True, on_progress=report),
    "bridges": lambda memory, report: memory.refresh_bridges(on_progress=report),
    "consolidate": lambda memory, report: memory.consolidate(on_progress=report),
    "archive": lambda memory, report: memory.archive(on_progress=report),
}
"""What each task does for one space, in the order in which they run if several are due."""
_log = logging.getLogger("hades.serve")


@dataclass(slots=True)
class ScheduledTask:
    """A task of a schedule, and how its runs ended."""

    name: str
    every_s: float
    due_at: float = 0.0
    """When it runs next, by the monotonic clock."""
    runs: Counter[str] = field(default_factory=Counter)
    """The number of runs that are `done` and that `failed`."""
    ended_at: float = 0.0
    """When the last run ended, in seconds since 1970; 0 before the first."""
    seconds: float = 0.0
    """How long the last run took."""


class Schedule:
    """The tasks of one server; without an interval a task never runs."""

    def __init__(self, executor: Executor, hours: Mapping[str, float | None]) -> None:
        self._executor = executor
        self._left = threading.Event()
        self.tasks = [
            ScheduledTask(name, every * HOUR_S)
            for name in TASKS
            if not executor.read_only and (every := hours.get(name))
        ]

    def run(self) -> None:
        """Run each task when it is due, until the server leaves."""
        while self.tasks and not self._left.is_set():
            task = min(self.tasks, key=lambda task: task.due_at)
            if not self._left.wait(max(0.0, task.due_at - time.monotonic())):
                self._run(task)

    def leave(self) -> None:
        """Let `run` return after the task that is running."""
        self._left.set()

    def _run(self, task: ScheduledTask) -> None:
        begun = time.monotonic()
        outcome = "done"
        try:
            self._executor.for_every_space(TASKS[task.name])
        except HadesError as error:
            outcome = "failed"
            _log.warning("the scheduled task %s failed: %s", task.name, error)
        ended = time.monotonic()
        task.runs[outcome] += 1
        task.seconds = ended - begun
        task.ended_at = time.time()
        task.due_at = ended + task.every_s
        _log.info("the scheduled task %s is %s after %.1f s", task.name, outcome, task.seconds)
